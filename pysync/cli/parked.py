"""`pysync parked list|show|retry|skip`: events that a target refused, and what becomes of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import count
from pysync.cli.arguments import number
from pysync.cli.arguments import table as parsed_table
from pysync.cli.family import Family
from pysync.cli.output import AsJson, ConfigFile, TargetName, ask_about, moment, print_json, print_table, say
from pysync.model.names import TableName

Position = Annotated[
    int,
    typer.Argument(metavar="POSITION", parser=number(1), help="Position of the event, from `pysync parked list`."),
]
OfTable = Annotated[
    TableName | None,
    typer.Option(
        "--table",
        metavar="DB.TABLE",
        parser=parsed_table,
        help="Only events of this table, with the name that `list` shows.",
    ),
]

_GIVE_UP = """\
{what} will be skipped for good: the target never gets these changes, and differs from the source from then on.
The events that wait behind them are tried immediately. Continue?"""


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = Family(
        help="Show, retry or skip the events that a target refused.",
    )
    group.command("list")(list_parked)
    group.command()(show)
    group.command()(retry)
    group.command()(skip)
    app.add_typer(group, name="parked")


def list_parked(config: ConfigFile, target: TargetName, as_json: AsJson = False) -> None:
    """List the tables with parked events: their number, and the kind and reason of the first one.

    Kinds: rejected (by the target), bug (an unexpected error), waits (behind a parked event of another table).
    """
    answer = ask_about(config, target, "parked list")
    if as_json:
        print_json(answer)
        return
    columns = ("table", "events", "first", "kind", "attempts", "last attempt", "reason")
    print_table(f"parked events of {target}", columns, [_row(table) for table in answer["tables"]])


def show(config: ConfigFile, target: TargetName, position: Position, as_json: AsJson = False) -> None:
    """Show one parked event with the full reason. With --json the output also has its bytes (base64)."""
    answer = ask_about(config, target, "parked show", position=position)
    if as_json:
        print_json(answer)
        return
    event = answer["event"] or {"kind": "unreadable"}
    rows = [
        ("event", event["kind"]),
        ("id", event.get("id")),
        ("source time", event.get("time") and moment(event["time"])),
        ("tables", ", ".join(answer["tables"])),
        ("kind of refusal", answer["kind"]),
        ("reason", answer["reason"]),
        ("attempts", answer["attempts"]),
        ("since", moment(answer["first_at"])),
        ("last attempt", moment(answer["last_at"])),
    ]
    print_table(f"parked event {position} of {target}", ("", ""), rows)


def retry(config: ConfigFile, target: TargetName, table: OfTable = None, as_json: AsJson = False) -> None:
    """Retry parked events now, in order, and wait for the result. Exit code 1 if an event is still parked.

    With --table the events that belong together are retried together: a rename has two tables. If the target does not
    answer within some seconds, the command ends with 1 and the sidecar continues. The sidecar also retries parked
    events itself, at the latest after parked_retry_seconds.
    """
    _print_released(ask_about(config, target, "parked retry", table=str(table) if table else None), target, as_json)


def skip(
    config: ConfigFile,
    target: TargetName,
    position: Annotated[
        int | None, typer.Argument(metavar="POSITION", parser=number(1), help="Position of the event to skip.")
    ] = None,
    *,
    table: OfTable = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Skip one parked event, or all parked events of a table, for good: the target never gets these changes.

    The events behind them are tried immediately; exit code 1 if one of those is still parked. Use this if the target
    is already correct, or is to differ from the source.
    """
    if (position is None) == (table is None):
        raise UsageError("cannot tell what to skip", "give either a POSITION or --table DB.TABLE")
    what = f"Event {position}" if table is None else f"All parked events of {table}"
    if not yes and not typer.confirm(_GIVE_UP.format(what=what), err=True):
        raise typer.Exit(1)
    _print_released(
        ask_about(config, target, "parked skip", position=position, table=str(table) if table else None),
        target,
        as_json,
    )


def _print_released(answer: dict[str, Any], target: str, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        if not answer["finished"] or answer["left"]:
            raise typer.Exit(1)
        return
    if not (answer["skipped"] or answer["tried"]) and answer["finished"]:
        say(f"target {target} has no parked events")
    if answer["skipped"]:
        say(f"skipped: {count(answer['skipped'], 'event')}")
    if not answer["finished"]:
        why = answer["reason"] or f"target {target} is not ready"
        raise PysyncError(f"not tried yet: {why}", "the sidecar tries the events as soon as it can: pysync status")
    if answer["tried"]:
        say(f"applied: {answer['tried'] - answer['left']:,} of {count(answer['tried'], 'event')}")
    if answer["left"]:
        raise PysyncError(f"still parked: {count(answer['left'], 'event')}: {_line(answer['reason'])}")


def _row(table: dict[str, Any]) -> tuple[Any, ...]:
    return (
        table["table"] or "(unknown)",
        table["events"],
        table["position"],
        table["kind"],
        table["attempts"],
        moment(table["last_at"]),
        _line(table["reason"]),
    )


def _line(reason: str | None) -> str:
    """The telling line of a reason: the last one, of a traceback."""
    return (reason or "").strip().splitlines()[-1] if (reason or "").strip() else ""
