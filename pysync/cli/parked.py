"""`pysync parked list|show|retry|skip`: events that a target refused, and what becomes of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pysync.cli.output import AsJson, ConfigFile, TargetName, ask_about, moment, print_json, print_table, say
from pysync.errors import PysyncError, UsageError

Position = Annotated[int, typer.Argument(min=1, help="The event's position, from `pysync parked list`.")]
OfTable = Annotated[
    str | None, typer.Option("--table", metavar="DB.TABLE", help="Only of this table, named as `list` shows it.")
]

_GIVE_UP = """\
{what} will be given up for good: the target will never get these changes, and differs from the source from then on.
What waits behind them is tried at once. Go on?"""


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = typer.Typer(
        help="Look at the events that a target refused, try them again or give them up.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("list")(list_parked)
    group.command()(show)
    group.command()(retry)
    group.command()(skip)
    app.add_typer(group, name="parked")


def list_parked(config: ConfigFile, target: TargetName, as_json: AsJson = False) -> None:
    """Show what is parked, table by table: the first event's kind and reason, and how many there are in all.

    Kinds: rejected by the target, bug (an error that nobody has classified), waits (behind one of another table).
    """
    answer = ask_about(config, target, "parked list")
    if as_json:
        print_json(answer)
        return
    columns = ("table", "events", "first", "kind", "tries", "last try", "reason")
    print_table(f"parked of {target}", columns, [_row(table) for table in answer["tables"]])


def show(config: ConfigFile, target: TargetName, position: Position, as_json: AsJson = False) -> None:
    """Show one parked event and the whole reason; with --json its bytes (base64) too."""
    answer = ask_about(config, target, "parked show", position=position)
    if as_json:
        print_json(answer)
        return
    event = answer["event"] or {"kind": "unreadable"}
    rows = [
        ("event", event["kind"]),
        ("id", event.get("id")),
        ("at the source", event.get("time") and moment(event["time"])),
        ("tables", ", ".join(answer["tables"])),
        ("why", answer["kind"]),
        ("reason", answer["reason"]),
        ("attempts", answer["attempts"]),
        ("since", moment(answer["first_at"])),
        ("last try", moment(answer["last_at"])),
    ]
    print_table(f"event {position}, parked of {target}", ("", ""), rows)


def retry(config: ConfigFile, target: TargetName, table: OfTable = None, as_json: AsJson = False) -> None:
    """Try parked events again now, in their order, and wait for the result; exit code 1 if any is still parked.

    With --table also those that must go with it: a rename concerns two tables. If the target does not answer within
    some seconds this ends with 1 and the sidecar goes on by itself; it also retries every parked_retry_seconds.
    """
    _print_released(ask_about(config, target, "parked retry", table=table), target, as_json)


def skip(
    config: ConfigFile,
    target: TargetName,
    position: Annotated[int | None, typer.Argument(min=1, help="The event to give up.")] = None,
    *,
    table: OfTable = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give up one parked event, or all of a table, for good: the target will never get these changes.

    The events behind are tried at once; exit code 1 if any of them is still parked. Use this when the target was
    brought to the right state by other means, or shall stay different from the source.
    """
    if (position is None) == (table is None):
        raise UsageError("nothing to skip", "name a POSITION or --table DB.TABLE, one of them")
    what = f"Event {position}" if table is None else f"All parked events of {table}"
    if not yes and not typer.confirm(_GIVE_UP.format(what=what)):
        raise typer.Exit(1)
    _print_released(ask_about(config, target, "parked skip", position=position, table=table), target, as_json)


def _print_released(answer: dict[str, Any], target: str, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        if not answer["finished"] or answer["left"]:
            raise typer.Exit(1)
        return
    if answer["skipped"]:
        say(f"given up: {answer['skipped']} events")
    if not answer["finished"]:
        why = answer["reason"] or "the target was not asked"
        raise PysyncError(f"not tried yet: {why}", f"they are tried when it can be; see: pysync status, {target}")
    if answer["tried"]:
        say(f"applied: {answer['tried'] - answer['left']} of {answer['tried']} events")
    if answer["left"]:
        raise PysyncError(f"still parked: {answer['left']} events: {_line(answer['reason'])}")


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
