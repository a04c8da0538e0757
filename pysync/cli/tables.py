"""`pysync tables`: every table of the source with its state at each target."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from pysync.base.errors import UsageError
from pysync.base.text import ago, count, duration
from pysync.cli.arguments import choice, database_or_table, number
from pysync.cli.grid import Cell, Column, Grid, Line, Part, Style, show
from pysync.cli.output import AsJson, ConfigFile, ask_about, offered_tables, one_target, print_json
from pysync.model.names import TABLE_STATES

_STATES = tuple(it.replace("_", "-") for it in TABLE_STATES)
_WIDEST = 50
_STYLES: Mapping[str, Style] = {
    "in_sync": "good",
    "out_of_scope": "faint",
    "behind": "warning",
    **dict.fromkeys(("parked", "held", "foreign", "drifted"), "bad"),
    **dict.fromkeys(("kept", "pinned"), "warning"),
}

Json = Mapping[str, Any]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(tables)


def tables(
    config: ConfigFile,
    *,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="STATE", parser=choice(*_STATES), help=f"Only tables in this state: {', '.join(_STATES)}."
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Only tables of databases with this name at the source (`sales_*`)."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Only tables with this text in their names.")] = None,
    target: Annotated[str | None, one_target("Show only this target.")] = None,
    sort: Annotated[
        str,
        typer.Option(
            metavar="ORDER",
            parser=choice("name", "last-done", "urgency"),
            help="Order: name; last-done: where something was done last comes first, of the tables in the journal; "
            "or urgency: what a person has to look at comes first.",
        ),
    ] = "name",
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DB.TABLE",
            parser=database_or_table,
            autocompletion=offered_tables,
            help="Begin with this name; not with --sort.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", parser=number(1), help="Most tables to list.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List the tables of the source, each with its state at each target, in the order of their names.

    States: in-sync (all that the queue has of it is applied), behind (events of it wait), parked, held (by the brake),
    kept (dropped at the source, and kept by a person), pinned (its database, at a consistent point), foreign (not from
    this source, or nothing that the target can hold), out-of-scope (by a rule), drifted (at the last comparison),
    dropped (at the target), unknown. `pysync why` shows more of one.

    The names come from the source, the states from queue, journal and the last comparison; a target that answers is
    asked whether it has the tables that are in sync. JSON format: docs/status.md.
    """
    if begin is not None and sort != "name":
        raise UsageError("--from and --sort exclude each other", "give one of them")
    request: dict[str, Any] = {"database": database, "part": name, "target": target, "look": True}
    request |= {"state": state and state.replace("-", "_"), "sort": sort.replace("-", "_")}
    answer = dict(_all_pages(config, request, begin, limit))
    if as_json:
        print_json(answer)
        return
    more = f"--from {answer['next']}" if sort == "name" else f"--limit {2 * limit}"
    show(_parts(answer, time.time(), more))


def _all_pages(config: Any, request: Json, begin: str | None, limit: int) -> Json:
    """As many as were asked for, or all that there are: an answer may hold fewer, and go on."""
    first = answer = ask_about(config, command="tables", begin=begin, limit=limit, **request)
    objects, unseen = list(answer["objects"]), set(answer["not_looked_at"])
    while answer["next"] is not None and len(objects) < limit:
        answer = ask_about(config, command="tables", begin=answer["next"], limit=limit - len(objects), **request)
        objects += answer["objects"]
        unseen.update(answer["not_looked_at"])
    last = {"as_of": answer["as_of"], "next": answer["next"], "not_looked_at": sorted(unseen)}
    return {**first, **last, "objects": objects}


def _parts(answer: Json, now: float, more: str) -> Iterator[Part]:
    rows = answer["objects"]
    if not rows:
        yield Line("no table fits")
        return
    names = [it["target"] for it in rows[0]["targets"]]
    columns = [Column("table", widest=_WIDEST), *(Column(it, widest=24) for it in names), Column("last done")]
    yield Grid(columns, [_row(it, now) for it in rows])
    for name in answer["not_looked_at"]:
        yield Line(f"{name} did not say which tables it has now: these are its states by queue and journal", "warning")
    if answer["next"] is not None:
        yield Line(f"{count(len(rows), 'table')}; more: {more}", "faint")


def _row(row: Json, now: float) -> list[Cell]:
    """A table; of a few states also since when, or up to when."""
    done = [it["done_at"] for it in row["targets"] if it["done_at"] is not None]
    last = ago(max(done, default=None), now)
    name = row["object"] + (" (not at the source)" if row["at_source"] is False else "")
    return [Cell(name), *(_cell(it, now) for it in row["targets"]), Cell(last)]


def _cell(target: Json, now: float) -> Cell:
    state = target["state"]
    since = f" {duration(now - target['as_of'])}" if state == "behind" and target["as_of"] else ""
    return Cell(state.replace("_", " ") + since, _STYLES.get(state, ""))
