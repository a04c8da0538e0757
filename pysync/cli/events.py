"""`pysync events`: what is in the queue, event by event."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.cli.output import AsJson, ConfigFile, moment, print_json, print_table, progress, say
from pysync.control.client import ask
from pysync.model.names import TableName
from pysync.sections import load_outline


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(events)


def events(
    config: ConfigFile,
    since: Annotated[
        int | None, typer.Option(min=1, metavar="POSITION", help="Begin there, not with the newest ones.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show so many at most.")] = 100,
    table: Annotated[
        str | None, typer.Option(metavar="DB.TABLE", help="Only what concerns this table of the source, oldest first.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the events in the queue, in order: when each came, its kind, its objects, and which targets it waits for.

    What every target has is there only as long as [queue] retain says. Names and numbers only: what an event carries
    is never shown. Positions are those of `status`, `plan` and `parked`. The JSON is described in docs/status.md.
    """
    name = None if table is None else str(TableName.parse(table))
    answer = _gathered(load_outline(config).directory, since, limit, name)
    if as_json:
        print_json(answer)
        return
    columns = ("position", "came", "kind", "objects", "bytes", "waits for")
    print_table(_title(answer), columns, map(_row, answer["events"]))
    if answer["next"] is not None:
        say(f"more: --since {answer['next']}")


def _gathered(directory: Path, since: int | None, limit: int, table: str | None) -> dict[str, Any]:
    """One answer out of as many as it takes: the sidecar looks at a part of the queue at a time."""
    with progress("reading the queue") as tell:
        found = list[dict[str, Any]]()
        for answer in _answers(directory, since, limit, table):
            found += answer["events"]
            limit -= len(answer["events"])
            tell(f"at {answer['next']} of {answer['last']}, {len(found)} found")
    return {**answer, "events": found}


def _answers(directory: Path, since: int | None, limit: int, table: str | None) -> Iterator[dict[str, Any]]:
    while True:
        answer = ask(directory, "events", since=since, limit=limit, table=table)
        yield answer
        limit, since = limit - len(answer["events"]), answer["next"]
        if limit == 0 or since is None:
            return


def _title(answer: dict[str, Any]) -> str:
    kept = f"events {answer['first']} to {answer['last']} are kept"
    return kept if answer["first"] <= answer["last"] else "no events are kept"


def _row(event: dict[str, Any]) -> tuple[Any, ...]:
    return (
        event["position"],
        moment(event["at"]),
        event["kind"] or "unreadable",
        ", ".join(event["objects"]),
        event["bytes"],
        ", ".join(event["waits_for"]),
    )
