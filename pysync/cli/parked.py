"""`pysync parked list|show|retry|skip`: events that a target refused, and what happens to them."""

from __future__ import annotations

import shlex
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.health import decide
from pysync.base.text import ago, count, duration, local_time
from pysync.cli.arguments import number
from pysync.cli.family import Family
from pysync.cli.output import AsJson, ConfigFile, TargetName, ask_about, echo, print_json, print_table

Position = Annotated[
    int,
    typer.Argument(metavar="POSITION", parser=number(1), help="Position of the event, from `pysync parked list`."),
]
OfTable = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="PATTERN",
        help="Only events of this table, with the name that `list` shows, or of all that fit (`sales.*`).",
    ),
]
OfReason = Annotated[
    str | None,
    typer.Option("--reason", metavar="TEXT", help="Only events that were refused for this reason, or a part of it."),
]
_WIDTH = 79
_MOST_NAMED = 5
"""Tables of one reason that are named."""

Json = dict[str, Any]

_GIVE_UP = """\
{what} will be skipped for good: the target never gets these changes, and differs from the source from then on.
The events that wait behind them are tried immediately. Continue?"""


_TAKE_OVER = """\
These tables at {target} become the source's, whoever made them: {what}.
What they are now is overwritten. Continue?"""


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = Family(
        help="Show, retry, skip or adopt what a target refused.",
    )
    group.command("list")(list_parked)
    group.command()(show)
    group.command()(retry)
    group.command()(skip)
    group.command()(adopt)
    app.add_typer(group, name="parked")


def list_parked(
    config: ConfigFile,
    target: TargetName,
    table: OfTable = None,
    reason: OfReason = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Name all tables, not only some of each reason.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what is parked by reason: tables, events, ages, and what helps. Names within a reason are left out.

    Kinds: rejected (by the target), bug (an unexpected error), waits (behind a parked event of another table).
    """
    answer = ask_about(config, target, "parked list", table=table, reason=reason)
    if as_json:
        print_json(answer)
        return
    for line in _list_lines(answer, every=every, is_part=bool(table or reason)):
        echo(line)


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
        ("source time", event.get("time") and local_time(event["time"])),
        ("tables", ", ".join(answer["tables"])),
        ("kind of refusal", answer["kind"]),
        ("reason", answer["reason"]),
        ("attempts", answer["attempts"]),
        ("since", local_time(answer["first_at"])),
        ("last attempt", local_time(answer["last_at"])),
    ]
    print_table(f"parked event {position} of {target}", ("", ""), rows)


def retry(
    config: ConfigFile, target: TargetName, table: OfTable = None, reason: OfReason = None, as_json: AsJson = False
) -> None:
    """Retry parked events now, in order, and wait for the result. Exit code 1 if an event is still parked.

    With --table or --reason the events that belong together are retried together: a rename has two tables. If the
    target does not answer within some seconds, the command ends with 1 and the sidecar continues. The sidecar also
    retries parked events itself, at the latest after parked_retry_seconds.
    """
    _print_released(ask_about(config, target, "parked retry", table=table, reason=reason), target, as_json)


def skip(
    config: ConfigFile,
    target: TargetName,
    position: Annotated[
        int | None, typer.Argument(metavar="POSITION", parser=number(1), help="Position of the event to skip.")
    ] = None,
    *,
    table: OfTable = None,
    reason: OfReason = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Skip one parked event, or those of tables or of a reason, for good: the target never gets these changes.

    The events behind them are tried immediately; exit code 1 if one of those is still parked. Use this if the target
    is already correct, or is to differ from the source. See first which ones: `pysync parked list`, with the same
    options.
    """
    if (position is None) == (table is None and reason is None):
        raise UsageError("cannot tell what to skip", "give either a POSITION, or --table PATTERN or --reason TEXT")
    if not yes:
        what = f"Event {position}" if position is not None else _counted(config, target, table, reason)
        if not typer.confirm(_GIVE_UP.format(what=what), err=True):
            raise typer.Exit(1)
    _print_released(
        ask_about(config, target, "parked skip", position=position, table=table, reason=reason), target, as_json
    )


def adopt(
    config: ConfigFile,
    target: TargetName,
    *,
    table: OfTable = None,
    reason: OfReason = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make tables of the target that are in the way of parked events the source's, whoever created them.

    Each gets the definition and partitions that the source has, and pysync's mark: it follows the source from then on.
    So does on_conflict = "adopt" with all tables. A table with other partition keys, or of another type, is not taken
    over. See first which ones: `pysync parked list`, with the same options. Exit code 1 if an event is still parked.
    """
    if not yes:
        tables = ask_about(config, target, "parked list", table=table, reason=reason)["tables"]
        named = _named([it for it in tables if it["adoptable"]])
        if not typer.confirm(_TAKE_OVER.format(target=target, what=named), err=True):
            raise typer.Exit(1)
    answer = ask_about(config, target, "parked adopt", table=table, reason=reason)
    if not as_json:
        _print_adopted(answer, target)
    if as_json or answer["tried"] or not answer["finished"]:
        _print_released(answer, target, as_json)
    if answer["refused"] or answer["more"]:
        raise typer.Exit(1)


def _print_adopted(answer: Json, target: str) -> None:
    echo(f"adopted: {count(answer['adopted'], 'table')}")
    for name, why in answer["refused"].items():
        echo(f"not adopted: {name}: {why}")
    if answer["more"]:
        echo(f"{count(answer['more'], 'more table')}; again: pysync parked adopt {target}")


def _counted(config: Path, target: str, table: str | None, reason: str | None) -> str:
    """How many events of which tables would be skipped."""
    tables = ask_about(config, target, "parked list", table=table, reason=reason)["tables"]
    return f"{_numbers(tables)} ({_named(tables)})"


def _named(tables: Sequence[Json]) -> str:
    """The names of the first few."""
    named = ", ".join(it["table"] for it in tables[:_MOST_NAMED]) or "none"
    more = f" and {len(tables) - _MOST_NAMED:,} more" if len(tables) > _MOST_NAMED else ""
    return named + more


def _numbers(tables: Sequence[Json]) -> str:
    return f"{count(sum(it['events'] for it in tables), 'event')} of {count(len(tables), 'table')}"


def _print_released(answer: dict[str, Any], target: str, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        if not answer["finished"] or answer["left"]:
            raise typer.Exit(1)
        return
    if not (answer["skipped"] or answer["tried"]) and answer["finished"]:
        echo(f"target {target} has no parked events")
    if answer["skipped"]:
        echo(f"skipped: {count(answer['skipped'], 'event')}")
    if not answer["finished"]:
        why = answer["reason"] or f"target {target} is not ready"
        raise PysyncError(f"not tried yet: {why}", "the sidecar tries the events as soon as it can: pysync status")
    if answer["tried"]:
        echo(f"applied: {answer['tried'] - answer['left']:,} of {count(answer['tried'], 'event')}")
    if answer["left"]:
        raise PysyncError(f"still parked: {count(answer['left'], 'event')}: {_line(answer['reason'])}")


def _list_lines(answer: Json, *, every: bool, is_part: bool) -> Iterator[str]:
    """A block for each reason. Only a name or a command may be wider than 80 characters."""
    target, tables, groups = answer["target"], answer["tables"], answer["groups"]
    if not tables:
        yield f"target {target} has no parked events{' that fit' if is_part else ''}"
        return
    yield f"target {target}: {_numbers(tables)} parked, {count(len(groups), 'reason')}"
    for group in groups:
        members = [it for it in tables if (it["group"], it["kind"]) == (group["reason"], group["kind"])]
        yield ""
        yield from _group_lines(group, members, every=every)
        yield from (f"  {it}" for it in _remedy(target, group, members, is_all=len(groups) == 1))


def _group_lines(group: Json, tables: Sequence[Json], *, every: bool) -> Iterator[str]:
    reason = _line(tables[0]["reason"]) if len(tables) == 1 else group["reason"]
    yield from textwrap.wrap(f"{group['kind']}: {reason}", _WIDTH, subsequent_indent="  ", break_long_words=False)
    now = time.time()
    tried = f", {count(group['attempts'], 'attempt')}, the last {ago(group['last_at'], now)}"
    yield f"  {_numbers(tables)} for {duration(now - group['first_at'])}{'' if group['kind'] == 'waits' else tried}"
    for it in tables if every else tables[:_MOST_NAMED]:
        several = f" and {count(it['events'] - 1, 'more event')}" if it["events"] > 1 else ""
        yield f"    event {it['position']} of {it['table'] or 'an unknown table'}{several}"
    if len(tables) > _MOST_NAMED and not every:
        yield f"    and {count(len(tables) - _MOST_NAMED, 'more table')} (--all names them)"


def _remedy(target: str, group: Json, tables: Sequence[Json], *, is_all: bool) -> Iterator[str]:
    """What helps, first. The sidecar retries by itself, so a retry comes last, if it can help at all."""
    position, name = tables[0]["position"], tables[0]["table"]
    if group["kind"] == "waits":
        yield f"what it waits for: pysync why {name} --target {target}"
        return
    yield f"details: pysync parked show {target} {position}"
    if group["kind"] == "bug":
        yield "a fault of pysync: journalctl -u pysync"
    if group["kind"] == "held":
        yield decide(target)
        return
    chosen = f" --table {name}" if len(tables) == 1 else f" --reason {_longest_part(group['reason'])}"
    only = "" if is_all else chosen
    if group["adoptable"]:
        yield f"to leave the target's tables as they are: pysync parked skip {target}{chosen}"
        yield f"to overwrite them with the source's: pysync parked adopt {target}{only}"
    else:
        yield f"when the cause is gone: pysync parked retry {target}{only}"


def _longest_part(reason: str) -> str:
    """The longest part of a reason between names, as a word for the shell."""
    return shlex.quote(max(reason.split("…"), key=len).strip(" ,;:'\"")[:_WIDTH])


def _line(reason: str | None) -> str:
    """The last line of a reason, which says the most where it is a traceback."""
    return (reason or "").strip().splitlines()[-1] if (reason or "").strip() else ""
