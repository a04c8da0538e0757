"""`pysync why`: what happened to a table, and why a target does not have it; also while no sidecar runs."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base.text import count, local_time
from pysync.cli.arguments import database_or_table, instant
from pysync.cli.asking import by_sidecar_or_here
from pysync.cli.output import AsJson, ConfigFile, ask_about, echo, offered_tables, one_target, print_json
from pysync.cli.record_lines import lines
from pysync.control.client import NoSidecar

_WIDEST = 100

Json = Mapping[str, Any]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(why)


def why(
    config: ConfigFile,
    table: Annotated[
        str,
        typer.Argument(
            metavar="DB.TABLE",
            parser=database_or_table,
            autocompletion=offered_tables,
            help="The table, by its name at the source or at a target.",
        ),
    ],
    *,
    target: Annotated[str | None, one_target("Only this target.")] = None,
    since: Annotated[
        float | None,
        typer.Option(
            metavar="TIME", parser=instant, help="Show records from this time on: 2h (ago), 2026-01-31T12:00."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened to a table at each target: whether it is there, and if not, why, and what to do.

    The first lines are the verdict for each target: the table is there, out of scope (by which rule), parked, waiting
    (for what), paused (by whom), foreign, dropped, or still in the listener's spool. Then follows what is known of it,
    the newest first: events in the queue, and the records of the journal. Renames are followed. If neither has anything
    of it, source and target are asked whether they have it.

    DB and DB.FUNCTION() work as well. Without a sidecar it says what the journal has. JSON format: docs/status.md.
    """
    request = {"table": table, "since": since}
    answer = by_sidecar_or_here(
        lambda: ask_about(config, target, "why", **request),
        lambda error: _read(config, {**request, "target": target}, error),
    )
    if as_json:
        print_json(answer)
        return
    for line in _answer_lines(answer):
        echo(line)


def _read(config: Path, request: Json, no_sidecar: NoSidecar) -> dict[str, Any]:
    from pysync.config import load_config  # noqa: PLC0415 - who asks a sidecar does not need all this
    from pysync.journal import Reader  # noqa: PLC0415
    from pysync.journal.file import FILE  # noqa: PLC0415
    from pysync.replay.window.translate import Translator  # noqa: PLC0415
    from pysync.sidecar.why import why_offline  # noqa: PLC0415

    loaded = load_config(config, live_source=False)
    translators = {it.name: Translator.of(it, loaded.source.replicators) for it in loaded.targets}
    answer = why_offline(Reader(loaded.queue.directory / FILE), translators, request)
    echo(f"pysync: {no_sidecar.message}; this is what its journal holds", err=True)
    return answer


def _answer_lines(answer: Json) -> Iterator[str]:
    former = [name for name in answer["names"] if name != answer["object"]]
    yield answer["object"] + (f" (before: {', '.join(former)})" if former else "")
    for each in answer["targets"]:
        yield from _verdict(each)
    timeline = list(_timeline(answer))
    yield ""
    yield "What is known of it, the newest first:" if timeline else "Neither queue nor journal has anything of it."
    for _, block in sorted(timeline, key=lambda it: -it[0]):
        yield from block
    if not answer["source"]["whole"]:
        yield f"(of the queue only the events from position {answer['source']['looked_from']} on were looked at)"


def _verdict(target: Json) -> Iterator[str]:
    first, *others = target["reasons"]
    name = "" if target["object"] is None else f" ({target['object']})"
    yield from _wrapped(f"{target['target']}{name}: {first['text']}.", "")
    for each in others:
        yield from _wrapped(f"{each['text']}.", "    ")
    for hint in dict.fromkeys(it["hint"] for it in target["reasons"] if it["hint"]):
        yield f"    run: {hint}"
    if verified := target["verify"]:
        drift = {True: "it had drifted", False: "it was the same", None: "there was drift"}[verified["drifted"]]
        yield f"    verified {local_time(verified['at'])}, {count(verified['objects'], 'object')}: {drift}"


def _timeline(answer: Json) -> Iterator[tuple[float, list[str]]]:
    for event in answer["source"]["events"]:
        committed = f", committed {local_time(event['committed_at'])}" if event["committed_at"] else ""
        what = f"event {event['position']}  {event['kind']} {event['object']}{committed}"
        yield event["at"], [f"{local_time(event['at'])}  source  {what}"]
    for target in answer["targets"]:
        for record in target["records"]:
            yield record["at"], list(lines(record))


def _wrapped(text: str, indent: str) -> list[str]:
    width = min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns)
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False)
