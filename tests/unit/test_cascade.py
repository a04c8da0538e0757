"""`cascade = false`: the drop of a database waits until the tables in it are gone; however the events are divided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from pysync.model.mark import Writer
from pysync.model.operation import DropDatabase
from pysync.model.wire import encode_event
from pysync.queue import Queued
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import draft
from pysync.replay.window.translate import Translator
from pysync.targets.hms import HmsSettings
from tests.support.drains import FaultyDrain, create, create_database, drop, drop_database
from tests.support.events import settings

Benches = Callable[..., FaultyDrain]
UNCOMMITTED: dict[str, Any] = {"attributes": {"uncommitted": "true"}}


@pytest.mark.parametrize("window", [1, 3, 2000])
def test_a_database_goes_after_the_drops_of_its_tables(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, cascade=False)
    bench.append(create_database(), create("db.a"), create("db.b"), drop("db.a"), drop("db.b"), drop_database())
    bench.start()
    bench.finish()
    assert (bench.parked(), bench.target.database("db")) == ([], None)


@pytest.mark.parametrize("window", [1, 3, 2000])
def test_with_a_table_left_it_is_parked_and_what_follows_waits(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, cascade=False)
    bench.append(create_database(), create("db.a"), create("db.b"), drop("db.a"), drop_database())
    bench.append(create_database(), create("db.b"), create_database("other"))
    bench.start()
    bench.finish()
    kinds = {position: kind for position, _, kind in bench.parked()}
    assert kinds == {5: "rejected", 6: "waits", 7: "waits"}
    assert bench.tables() == ["b"], "the table that was dropped by an event of its own is gone"
    first = bench.queue.target(bench.name).parked.events()[0]
    assert first.reason.startswith("the drop of the database db is not applied: cascade = false, and the target")
    assert first.reason.endswith("1 table there: db.b; drop them at the target, or set cascade = true; then retry")


@pytest.mark.parametrize(("number", "more"), [(5, ""), (6, ", …")])
def test_the_reason_names_five_tables_and_says_if_there_are_more(
    faulty_drains: Benches, number: int, more: str
) -> None:
    bench = faulty_drains(cascade=False)
    bench.append(create_database(), *(create(f"db.t{it}") for it in range(number)), drop_database())
    bench.start()
    bench.finish()
    (parked,) = bench.queue.target(bench.name).parked.events()
    assert f"still has {number} tables there: db.t0, db.t1, db.t2, db.t3, db.t4{more}; drop them" in parked.reason


@pytest.mark.parametrize("window", [1, 2000])
def test_a_cascading_drop_at_the_source_is_one_drop(faulty_drains: Benches, window: int) -> None:
    """The listener tells of the tables before the commit: those events are no drops of their own."""
    bench = faulty_drains(window=window, cascade=False)
    bench.append(create_database(), create("db.a"), drop("db.a", **UNCOMMITTED), drop_database())
    bench.start()
    bench.finish()
    assert [(position, kind) for position, _, kind in bench.parked()] == [(4, "rejected")]
    assert bench.tables() == ["a"]


@pytest.mark.parametrize(("cascade", "operations"), [(True, 1), (False, 3)])
def test_a_draft_shows_what_would_be_done(cascade: bool, operations: int) -> None:
    """With cascade one drop takes all; without, each table has its own operation before it."""
    makers = (create("db.a"), create("db.b"), drop("db.b"), drop_database())
    events = [Queued(at, encode_event(make(at)), 0) for at, make in enumerate(makers, 1)]
    found = draft(events, Translator.of(settings(cascade=cascade)), Writer(1), Blocks())
    assert sum(len(work.operations) for work in found.works) == operations
    assert sorted(position for work in found.works for position in work.positions) == [1, 2, 3, 4]
    assert isinstance(found.works[-1].operations[-1], DropDatabase)


def test_both_ways_needs_cascade() -> None:
    both = {"name": "dr", "kind": "hms", "metastore": "thrift://a:1", "both_ways": True}
    assert HmsSettings(**both).cascade
    with pytest.raises(ValidationError, match="both_ways = true does not work with cascade = false"):
        HmsSettings(**both, cascade=False)
