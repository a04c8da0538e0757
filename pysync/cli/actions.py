"""`pysync actions`: the journal, record by record, also while no sidecar runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.cli.arguments import choice, database_or_table, instant, number
from pysync.cli.asking import by_sidecar_or_here
from pysync.cli.output import (
    AsJson,
    ConfigFile,
    assert_target,
    echo,
    offered_tables,
    one_target,
    outline_of,
    print_json,
)
from pysync.cli.record_lines import lines
from pysync.control.client import NoSidecar, ask
from pysync.journal.record import OUTCOMES

_MOST = 1000
_MOST_FOLLOWED = 1_000_000  # in one second: as many as there are
_FOLLOW_SECONDS = 1.0
_NAMES_ARE = "by its name at the target or at the source"

Ask = Callable[[Mapping[str, Any]], dict[str, Any]]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(actions)


def actions(
    config: ConfigFile,
    *,
    target: Annotated[str | None, one_target("Show only this target.")] = None,
    outcome: Annotated[
        str | None,
        typer.Option(
            metavar="OUTCOME",
            parser=choice(*OUTCOMES),
            help="Show only this outcome, as applied, parked or foreign.",
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="DB",
            parser=database_or_table,
            autocompletion=offered_tables,
            help=f"Show only this database, {_NAMES_ARE}.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="DB.TABLE",
            parser=database_or_table,
            autocompletion=offered_tables,
            help=f"Show only this table, {_NAMES_ARE}.",
        ),
    ] = None,
    since: Annotated[
        float | None,
        typer.Option(metavar="TIME", parser=instant, help="Begin at this time: 2h (ago), 7d, 2026-01-31T12:00."),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", parser=number(1), help="Show at most this number of records, the newest.")
    ] = 100,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new records until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what was done at the targets, and by whom: each operation, parked event and act of a person.

    The records come from the journal ([journal] in pysync.toml), also while no sidecar runs; the newest come last. Of
    an operation they show the outcome, how many events were folded into it, how long it took, and which fields it
    changed.

    With --follow and --json each record is a line of its own. JSON format: docs/status.md.
    """
    outline = outline_of(config)
    assert_target(config, target, outline.targets)
    wanted = {"target": target, "outcome": outcome, "database": database, "table": table, "since": since}
    ask_actions = ask_or_read_journal(outline.directory, "actions")
    answer = _gathered(ask_actions, wanted, limit)
    if as_json and not follow:
        print_json(answer)
        return
    _print(answer, as_json=as_json)
    if follow:
        _follow(ask_actions, wanted, answer["records"][0]["id"] if answer["records"] else 0, as_json=as_json)


def ask_or_read_journal(directory: Path, command: str) -> Ask:
    """What asks the sidecar for `actions` or `why`; where none runs, it reads the journal, and says so once."""
    limits = list[str]()

    def read(request: Mapping[str, Any], no_sidecar: NoSidecar) -> dict[str, Any]:
        answer = _read(directory, request)
        if not limits:
            limits.append(no_sidecar.message)
            echo(f"pysync: {no_sidecar.message}; this is what its journal holds", err=True)
        return answer

    return lambda request: by_sidecar_or_here(
        lambda: ask(directory, command, **request), lambda error: read(request, error)
    )


def _read(directory: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    from pysync.journal import Reader  # noqa: PLC0415 - who asks a sidecar does not need SQLite
    from pysync.journal.file import FILE  # noqa: PLC0415
    from pysync.sidecar.journal_pages import listed  # noqa: PLC0415

    return listed(Reader(directory / FILE), request)


def _gathered(ask_actions: Ask, wanted: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """One answer out of as many as it takes."""
    records, before = list[Any](), None
    while True:
        answer = ask_actions({**wanted, "before": before, "limit": min(limit - len(records), _MOST)})
        records += answer["records"]
        before = answer["next"]
        if before is None or len(records) == limit:
            return {"records": records, "next": before}


def _follow(ask_actions: Ask, wanted: Mapping[str, Any], last: int, *, as_json: bool) -> None:
    try:
        while True:
            time.sleep(_FOLLOW_SECONDS)
            answer = _gathered(ask_actions, {**wanted, "after": last}, _MOST_FOLLOWED)
            _print(answer, as_json=as_json)
            last = answer["records"][0]["id"] if answer["records"] else min(last, _newest(ask_actions))
    except KeyboardInterrupt:
        return


def _newest(ask_actions: Ask) -> int:
    """The id of the newest record; a journal that was begun again begins with 1."""
    records = ask_actions({"limit": 1})["records"]
    return records[0]["id"] if records else 0


def _print(answer: Mapping[str, Any], *, as_json: bool) -> None:
    """The newest last, as in a log."""
    for record in reversed(answer["records"]):
        for line in [json.dumps(record)] if as_json else lines(record):
            echo(line)
    if answer["next"] is not None and not as_json:
        echo(f"there are older records: --limit {2 * len(answer['records'])}", err=True)
