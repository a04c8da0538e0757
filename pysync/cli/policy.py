"""`pysync policy test`: what the targets would make of names, by the configuration file alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

import typer

from pysync.base.errors import UsageError
from pysync.base.text import quoted
from pysync.cli.arguments import choice, database_or_table, line
from pysync.cli.family import Family
from pysync.cli.output import (
    AsJson,
    ConfigFile,
    assert_target,
    echo,
    offered_tables,
    one_target,
    print_json,
    print_table,
)
from pysync.config import load_config
from pysync.jobs.policy_trial import Definition, tried
from pysync.model.names import partition_values
from pysync.model.table_formats import TableFormat
from pysync.targets.settings import TableType


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = Family(help="Try the policies of the targets: what they take, and what names objects get.")
    group.command("test")(policy_test)
    app.add_typer(group, name="policy")


def _type(value: Any) -> str:
    """A type of tables, in any case."""
    return choice(*get_args(TableType))(str(value).upper())


def _format(value: Any) -> str:
    """A format of tables, in any case."""
    return choice(*get_args(TableFormat))(str(value).lower())


def policy_test(
    config: ConfigFile,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="DB.TABLE",
            parser=database_or_table,
            autocompletion=offered_tables,
            help="Tables, or databases, by their names at the source.",
        ),
    ],
    *,
    location: Annotated[
        str | None,
        typer.Option(metavar="URI", parser=line, help="Location at the source: show where it is at the target, too."),
    ] = None,
    type_: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", parser=_type, help="Type at the source, such as EXTERNAL_TABLE."),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", parser=_format, help="Format at the source, such as parquet."),
    ] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="NAME", parser=line, help="Owner of the table at the source.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", parser=line, help="A parameter at the source. Repeatable."),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(metavar="PARTITION", parser=line, help="A partition, such as day=2026-01-01: test it, too."),
    ] = None,
    target: Annotated[str | None, one_target("Test only this target. Default: all targets.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show for each name which rule decides whether a target takes it, its name at the target, and by which rename.

    Where a rule depends on the definition of a table (include_schemes, include_types, include_formats, include_owners,
    exclude_parameters), give what it depends on: --location, --type, --format, --owner, --parameter. Otherwise the name
    alone decides, and the output says which rules are left open. With --partition the filter on partitions (where)
    decides, too; a table that lacks a key of the filter has all its partitions taken.

    It reads FILE and no server: neither the sidecar nor a metastore has to run, and the tables need not exist. To see
    what a changed file would put, keep and drop: pysync plan --scope. JSON format: docs/scope.md.
    """
    loaded = load_config(config)
    assert_target(config, target, [it.name for it in loaded.targets])
    pairs = [it.partition("=") for it in parameter or []]
    parameters = {key: value for key, _, value in pairs} if parameter else None
    definition = Definition(location, type_, format_, owner, parameters, _values(partition))
    results = tried([it for it in loaded.targets if target in {None, it.name}], names, definition)
    if as_json:
        print_json({"objects": results})
    for item in results if not as_json else ():
        _print_object(item, location)


def _print_object(item: Mapping[str, Any], location: str | None) -> None:
    columns = ("target", "takes it", "rule", "name there", "renamed by", *(["location there"] if location else []))
    print_table(item["object"], columns, [_row(it, location) for it in item["targets"]])
    for it in item["targets"]:
        if it["refused"] and not location:
            echo(f"{it['target']} parks it: {it['refused']}")
        _print_rivals(item["object"], it)


def _values(partition: str | None) -> dict[str, str] | None:
    """The values of a partition by key. Raises UsageError for a text that is not its name."""
    if partition is None:
        return None
    keys = [part.partition("=")[0] for part in partition.split("/")]
    if not all(keys) or not all("=" in part for part in partition.split("/")):
        raise UsageError(
            f"{quoted(partition)} is not the name of a partition", "write KEY=VALUE, or KEY=VALUE/KEY=VALUE"
        )
    return dict(zip(keys, partition_values(partition), strict=True))


def _print_rivals(name: str, result: dict[str, Any]) -> None:
    if not result["rivals"]:
        return
    text = f"{result['target']}: {', '.join(result['rivals'])} would have the name {result['name']}, too."
    if "." in name:
        text += " If the source has more than one of them, only the first that comes gets it, and the others are parked"
    echo(text.rstrip("."))


def _row(result: dict[str, Any], location: str | None) -> list[str | None]:
    taken = "yes" if result["taken"] else "no"
    if result["depends_on"]:
        taken = f"by its name; the definition decides by {', '.join(result['depends_on'])}"
    return [
        result["target"],
        taken,
        result["rule"],
        result["name"],
        result["rename"],
        *([result["refused"] or result["location"]] if location else []),
    ]
