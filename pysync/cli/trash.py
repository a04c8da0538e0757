"""`pysync trash list|restore|empty`: dropped tables that a target keeps for a while."""

from __future__ import annotations

from typing import Annotated

import typer

from pysync.base.text import count, local_time
from pysync.cli.arguments import ago, line
from pysync.cli.arguments import table as parsed_table
from pysync.cli.asking import ask_or_do
from pysync.cli.family import Family
from pysync.cli.output import AsJson, ConfigFile, TargetName, echo, print_json, print_table
from pysync.model.names import TableName


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = Family(help="List, restore or remove dropped tables that a target keeps for a while.")
    group.command("list")(list_trash)
    group.command()(restore)
    group.command()(empty)
    app.add_typer(group, name="trash")


def list_trash(config: ConfigFile, target: TargetName, as_json: AsJson = False) -> None:
    """List the dropped tables that the target keeps (drops = "trash"), the oldest first, and until when."""
    answer = ask_or_do(config, target, "trash list")
    if as_json:
        print_json(answer)
        return
    rows = [(it["name"], it["table"], local_time(it["at"]), local_time(it["expires_at"])) for it in answer["tables"]]
    print_table(f"trash of {target}", ("name", "table", "dropped", "expires"), rows)


def restore(
    config: ConfigFile,
    target: TargetName,
    name: Annotated[
        str, typer.Argument(metavar="TABLE", parser=line, help="Name in the trash, from `pysync trash list`.")
    ],
    *,
    to: Annotated[
        TableName | None,
        typer.Option("--as", metavar="DB.TABLE", parser=parsed_table, help="New name. Default: the one that it had."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Restore a dropped table at the target, with its partitions; the data files were never moved.

    The table is yours then: pysync neither changes nor drops it. If the source creates a table of that name again,
    on_conflict decides what happens to it.
    """
    answer = ask_or_do(config, target, "trash restore", name=name, **{"as": str(to) if to else None})
    if as_json:
        print_json(answer)
    else:
        echo(f"restored: {answer['restored']}")


def empty(
    config: ConfigFile,
    target: TargetName,
    *,
    older_than: Annotated[
        int | None,
        typer.Option(
            "--older-than", metavar="TIME", parser=ago, help="Only tables that were dropped so long ago: 12h, 7d."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove dropped tables of the target for good. Their data files stay."""
    if not yes and not typer.confirm(f"Tables in the trash of {target} will be gone for good. Continue?", err=True):
        raise typer.Exit(1)
    removed, left = 0, 1
    while left:
        answer = ask_or_do(config, target, "trash empty", older_than=older_than)
        removed, left = removed + answer["removed"], answer["left"]
    if as_json:
        print_json({"target": target, "removed": removed})
    else:
        echo(f"removed: {count(removed, 'table')}")
