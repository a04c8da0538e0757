"""`pysync views`: what becomes of the views of the source at targets that translate them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base import logs
from pysync.base.errors import UsageError
from pysync.base.text import count
from pysync.cli.arguments import database_or_table
from pysync.cli.ends import assert_ends_answer
from pysync.cli.output import AsJson, ConfigFile, chosen, echo, offered_tables, one_target, print_json, print_table
from pysync.config import Config, load_config
from pysync.metastore.source import reading
from pysync.targets.settings import TargetSettings
from pysync.verify.findings import Selection

_STYLES = {"translated": "green", "accepted": "yellow", "refused": "bold red", "kept": "dim"}

Json = Mapping[str, Any]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(views)


def views(
    config: ConfigFile,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            parser=database_or_table,
            autocompletion=offered_tables,
            metavar="DB|DB.VIEW",
            help="Show only these views, or those of these databases, by their names at the source.",
        ),
    ] = None,
    *,
    target: Annotated[str | None, one_target("Show only this target. Default: all that translate views.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the views of the source, and what becomes of each at targets that translate views.

    States: translated (it has the rows that it has in Hive), accepted (its rows may differ as views_accept allows),
    refused (Athena cannot read it; the reason and what helps are shown), kept (it is a view of Trino or Athena). A view
    that Athena fails at some values of says so. The last lines say how many more views one setting would bring. Tables
    have the columns that the target gets.

    It reads pysync.toml and the source. Neither a sidecar nor AWS has to answer. JSON format: docs/aws.md.
    """
    loaded = load_config(config)
    logs.configure("error", "console")
    targets = _translating(config, loaded, target)
    from pysync.sidecar.view_trial import try_views  # noqa: PLC0415 - it needs an extra, as these targets do

    assert_ends_answer(loaded, [])
    with reading(loaded.source_access()) as source:
        answer = try_views(source, targets, Selection.parse(names or []))
    if as_json:
        print_json(answer)
        return
    for summary in answer["targets"]:
        _print(summary, [it for it in answer["views"] if it["target"] == summary["target"]])


def _translating(file: Path, loaded: Config, name: str | None) -> list[TargetSettings]:
    """The targets that translate views. Raises UsageError if there is none."""
    translating = [it for it in chosen(file, name, loaded.targets) if it.translates_views]
    if not translating:
        what = f"the target {name}" if name else f"no target in {file}"
        verb = "translates no views" if name else "translates views"
        raise UsageError(f"{what} {verb}", 'targets of kind glue and athena do, unless views = "off"')
    return translating


def _print(summary: Json, rows: list[Json]) -> None:
    name = summary["target"]
    if rows:
        print_table(
            f"views at {name}", ("state", "view", "what differs, or why", "what helps"), map(_row, rows), _STYLES
        )
    states = ", ".join(f"{summary[it]} {it}" for it in _STYLES if summary[it])
    echo(f"{name}: {count(summary['views'], 'view')}{': ' if states else ''}{states}")
    if summary["failing"]:
        echo(f"{name}: at some values Athena fails at {summary['failing']} of them (docs/aws.md)")
    for line in _gains(summary):
        echo(f"{name}: {line}")


def _row(view: Json) -> tuple[str | None, ...]:
    fails = f"Athena fails at values of {', '.join(view['fails_without'])}" if view["fails_without"] else ""
    what = view["reason"] or "; ".join(filter(None, [", ".join(view["differences"]), fails]))
    return view["state"], view["view"], what, view["helps"]


def _gains(summary: Json) -> Iterator[str]:
    """What one setting would bring, the most first."""
    for it in summary["settings"]:
        yield f"{it['setting']} would translate {count(it['views'], 'more view')}"
