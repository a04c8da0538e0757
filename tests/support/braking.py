"""What the tests of the brake share: a drain whose target has a database with six tables, and what is held there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pysync.model.event import Kind
from pysync.replay.progress import DrainState
from tests.support import wait_until
from tests.support.drains import FaultyDrain, create, create_database, drop
from tests.support.events import event

TABLES = [f"db.t{number}" for number in range(6)]
OLD = 100
"""A createTime of long ago."""
HALF = {"max_drop_share": 0.5, "max_drop_share_from": 6}


def filled(faulty_drains: Callable[..., FaultyDrain], **values: Any) -> FaultyDrain:
    """A running drain whose target has a database with six tables, which are old, as is the database."""
    bench = faulty_drains(**{"parked_retry_seconds": 0.05, **values})
    bench.append(create_database(), *map(create, TABLES))
    bench.start()
    bench.finish()
    make_old(bench, "db")
    assert len(bench.tables()) == len(TABLES)
    return bench


def make_old(bench: FaultyDrain, *databases: str) -> None:
    """Let these databases at the target be of a time that the queue does not know."""
    for name in databases:
        there = bench.target.database(name)
        parts = there.parameters["pysync.event"].split(".")
        there.parameters["pysync.event"] = ".".join([*parts[:3], "0", parts[4]])
        bench.target.store.alter_database(there, bench.target.database(name))


def at_once(bench: FaultyDrain, *makers: Any) -> None:
    """Have these events come in one window."""
    assert bench.drain is not None
    bench.drain.pause("so that all comes in one window")
    wait_until(lambda: bench.drain.progress.state is DrainState.PAUSED, what="the pause")
    bench.append(*makers)
    bench.drain.resume()
    bench.finish()


def one_by_one(bench: FaultyDrain, *tables: str, created: int = 0, **fields: Any) -> None:
    """Drop each in a window of its own. `created` is their createTime (s); `fields` are those of the events."""
    for name in tables:
        bench.append(drop(name, created, **fields))
        bench.finish()


def held_by(bench: FaultyDrain) -> list[str]:
    assert bench.drain is not None
    return [it.object for it in bench.drain.brake.held()]


def wait_for_held(bench: FaultyDrain, *names: str) -> None:
    wait_until(lambda: held_by(bench) == sorted(names), what=f"a hold of {sorted(names)}")


def reason_of(bench: FaultyDrain) -> str:
    assert bench.drain is not None
    return bench.drain.brake.held()[0].reason


def decide(bench: FaultyDrain, *names: str, keep: bool = False) -> None:
    """Decide, and wait until nothing of it is parked any more."""
    assert bench.drain is not None
    decided = {it.table for it in bench.drain.decide(names, keep=keep)}
    assert decided

    def is_parked() -> bool:
        keys = {key for _, key, _ in bench.parked()}
        return any(key in keys for it in decided for key in (it, f"{it}.*"))

    wait_until(lambda: not is_parked(), what=f"the end of {sorted(decided)}")


def names(*tables: str) -> list[str]:
    return [it.partition(".")[2] for it in tables]


def compared(*databases: str, present: Sequence[str] = ()) -> Iterator[Any]:
    """The refreshes of a comparison: the list of databases, then each database; `present` are the tables there."""
    attributes = {"present": "\n".join(databases), "whole": "true"}
    yield lambda sequence: event(Kind.REFRESH, attributes=attributes, sequence=sequence)
    for name in databases:
        tables = "\n".join(it.partition(".")[2] for it in present if it.startswith(f"{name}."))
        of_database = {"database": name, "source_database": name, "present": tables, "whole": "true"}
        yield lambda sequence, it=of_database: event(Kind.REFRESH, attributes=it, sequence=sequence)


def refreshed(name: str) -> Any:
    database, _, table = name.partition(".")
    attributes = {"database": database, "table": table, "absent": "true"}
    return lambda sequence: event(Kind.REFRESH, attributes=attributes, sequence=sequence)
