"""`pysync events`: what is in the queue, event by event."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base.text import count, local_time, span
from pysync.cli.arguments import number
from pysync.cli.arguments import table as parsed_table
from pysync.cli.output import AsJson, ConfigFile, echo, offered_tables, outline_of, print_json, print_table, progress
from pysync.control.client import ask
from pysync.model.names import TableName


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(events)


def events(
    config: ConfigFile,
    since: Annotated[
        int | None,
        typer.Option(metavar="POSITION", parser=number(1), help="Begin at this position. Default: the newest events."),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", parser=number(1), help="Show at most this number of events.")
    ] = 100,
    table: Annotated[
        TableName | None,
        typer.Option(
            metavar="DB.TABLE",
            parser=parsed_table,
            autocompletion=offered_tables,
            help="Show only events of this table of the source, the oldest first.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the events in the queue, in order: arrival time, kind, objects, and the targets that still need the event.

    An event that every target has is kept as long as [queue] retain says. The output has names and sizes, never the
    content of an event. Positions are the same as in `status`, `plan` and `parked`. JSON format: docs/status.md.
    """
    answer = _gathered(outline_of(config).directory, since, limit, str(table) if table else None)
    if as_json:
        print_json(answer)
        return
    columns = ("position", "arrived", "kind", "objects", "bytes", "needed by")
    print_table(_title(answer), columns, map(_row, answer["events"]))
    if answer["next"] is not None:
        echo(f"more: --since {answer['next']}")


def _gathered(directory: Path, since: int | None, limit: int, table: str | None) -> dict[str, Any]:
    """One answer out of as many as it takes: the sidecar looks at a part of the queue at a time."""
    with progress("reading the queue") as on_progress:
        events = list[dict[str, Any]]()
        for answer in _answers(directory, since, limit, table):
            events += answer["events"]
            limit -= len(answer["events"])
            on_progress(f"position {answer['next']} of {answer['last']}, {count(len(events), 'event')} found")
    return {**answer, "events": events}


def _answers(directory: Path, since: int | None, limit: int, table: str | None) -> Iterator[dict[str, Any]]:
    while True:
        answer = ask(directory, "events", since=since, limit=limit, table=table)
        yield answer
        limit, since = limit - len(answer["events"]), answer["next"]
        if limit == 0 or since is None:
            return


def _title(answer: dict[str, Any]) -> str:
    first, last = answer["first"], answer["last"]
    return f"the queue holds {span('event', first, last)}" if first <= last else "the queue is empty"


def _row(event: dict[str, Any]) -> tuple[Any, ...]:
    return (
        event["position"],
        local_time(event["at"]),
        event["kind"] or "unreadable",
        ", ".join(event["objects"]),
        event["bytes"],
        ", ".join(event["waits_for"]),
    )
