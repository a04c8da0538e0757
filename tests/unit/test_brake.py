"""The brake: what a target may remove, what is held object by object, and what a person decides of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from pysync.base.errors import PysyncError
from pysync.model.event import Kind
from pysync.model.mark import KEPT_KEY
from pysync.model.names import TableName
from pysync.model.removal import Lost
from pysync.replay.brake import Brake, Ends, Limits
from pysync.replay.progress import State
from pysync.replay.window.scope import scope_of
from pysync.sidecar import held
from tests.support import wait_until
from tests.support.drains import (
    FaultyDrain,
    add_partition,
    create,
    create_database,
    create_partitioned,
    drop,
    drop_database,
    drop_partitions,
    rename,
)
from tests.support.events import event, settings
from tests.support.refreshing import Hms

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
    wait_until(lambda: bench.drain.progress.state is State.PAUSED, what="the pause")
    bench.append(*makers)
    bench.drain.resume()
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


# --- what is held, and what goes on


def test_what_exceeds_a_limit_is_held_and_everything_else_goes_on(faulty_drains):
    """Before: the whole target stood still until somebody decided."""
    bench = filled(faulty_drains, max_drops_per_window=3)
    at_once(bench, create("db.new"), *map(drop, TABLES), create_database("other"), create("other.t"))
    assert held_by(bench) == TABLES
    assert sorted(bench.tables()) == ["new", *names(*TABLES)]
    assert bench.tables("other") == ["t"]
    assert reason_of(bench) == "max_drops_per_window is 3"
    bench.append(create("db.later"))
    bench.finish()
    assert "later" in bench.tables()
    assert {kind for _, _, kind in bench.parked()} == {"held"}


def test_what_is_held_holds_nothing_of_what_comes_later(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    bench.append(create_database("other"), create("other.t"))
    at_once(bench, *map(drop, TABLES))
    at_once(bench, drop("other.t"))
    assert (held_by(bench), bench.tables("other")) == (TABLES, [])


def test_a_hold_says_all_of_its_objects(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    at_once(bench, *map(drop, TABLES))
    listed = held.listed(bench.drain)
    assert [it["object"] for it in listed["objects"]] == TABLES
    status = held.brake_status(bench.drain)
    assert (status["drops"], status["summary"]) == (6, "6 tables of db")
    assert status["objects"] == [f"table {name}" for name in TABLES]
    assert [it.outcome for it in bench.records if it.outcome == "held"] == ["held"] * 6


@pytest.mark.parametrize(
    "limits",
    [{"max_drops_per_window": 5}, {"max_drops": "5 per 1h"}, {"max_drop_share_from": 6}],
    ids=["of a window", "over time", "share"],
)
def test_a_dropped_database_counts_its_tables_and_is_held_before_the_first_is_gone(faulty_drains, limits):
    bench = filled(faulty_drains, **limits)
    for name in TABLES:  # as HMS announces DROP DATABASE … CASCADE
        bench.append(drop(name, int(time.time()), attributes={"uncommitted": "true"}))
        bench.finish()
    bench.append(drop_database())
    bench.finish()
    wait_for_held(bench, "db", *TABLES)
    assert len(bench.tables()) == 6
    assert held.brake_status(bench.drain)["summary"] == "database db with 6 tables"
    decide(bench)
    assert bench.target.database("db") is None
    assert bench.drain.brake.held() == []


def test_functions_count(faulty_drains):
    """Before: they were not counted, so that a database lost all of them unasked."""
    bench = filled(faulty_drains, max_drops_per_window=2)
    for number in range(4):
        bench.append(lambda sequence, n=number: event(Kind.CREATE_FUNCTION, after=[a_function(n)], sequence=sequence))
    bench.finish()
    at_once(
        bench,
        *(
            lambda sequence, n=number: event(Kind.DROP_FUNCTION, before=[a_function(n)], sequence=sequence)
            for number in range(4)
        ),
    )
    assert held_by(bench) == [f"db.f{number}()" for number in range(4)]
    assert len(bench.target.functions("db")) == 4


def a_function(number: int) -> Any:
    return hive.Function(functionName=f"f{number}", dbName="db", className="a.B", resourceUris=[], createTime=1)


def test_tables_that_are_renamed_into_a_database_go_with_it_only_if_a_person_says_so(faulty_drains):
    """Before: the target was asked for the tables of `attic` while they had their old names, so that all were gone."""
    bench = filled(faulty_drains, **HALF)
    at_once(
        bench,
        create_database("attic"),
        *(rename(name, name.replace("db.", "attic.")) for name in TABLES),
        drop_database("attic"),
    )
    # `attic` is young, but its tables are old.
    assert held_by(bench) == ["attic", *(name.replace("db.", "attic.") for name in TABLES)]
    assert bench.tables("attic") == names(*TABLES)
    decide(bench, keep=True)
    assert bench.tables("attic") == names(*TABLES)


def test_partitions_of_one_window_are_held_together(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_partitioned("db.p"), add_partition("db.p", "1", "2", "3", "4"))
    bench.finish()
    at_once(bench, drop_partitions("db.p", "1", "2", "3"))
    assert held_by(bench) == [f"db.p/day={day}" for day in "123"]
    bench.append(add_partition("db.p", "5"))
    bench.finish()
    bench.drain.decide(["db.p/day=1"], keep=True)
    bench.drain.decide(["db.p/day=2", "db.p/day=3"], keep=False)
    wait_until(lambda: bench.parked() == [], what="the drops")
    assert bench.target.partition_names(TableName("db", "p")) == ["day=1", "day=4", "day=5"]


def test_partitions_that_a_table_loses_because_it_is_made_anew_count(faulty_drains):
    """Before: DROP TABLE and CREATE TABLE in one window counted as one drop, whatever was in the table."""
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_partitioned("db.p"), add_partition("db.p", "1", "2", "3"))
    bench.finish()
    at_once(bench, drop("db.p"), create_partitioned("db.p"))
    assert held_by(bench) == ["db.p/*"]
    assert len(bench.target.partition_names(TableName("db", "p"))) == 3
    bench.append(add_partition("db.p", "1", "2"))
    bench.finish()
    decide(bench)
    assert bench.target.partition_names(TableName("db", "p")) == ["day=1", "day=2"]


# --- over time, and of a database


def one_by_one(bench: FaultyDrain, *tables: str, created: int = 0, **fields: Any) -> None:
    """Drop each in a window of its own. `created` is their createTime (s); `fields` are those of the events."""
    for name in tables:
        bench.append(drop(name, created, **fields))
        bench.finish()


def test_drops_one_by_one_are_held_when_they_are_too_many_within_the_time(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3, max_drops="3 per 1h")
    one_by_one(bench, *TABLES)
    assert bench.tables() == ["t3", "t4", "t5"]
    assert held_by(bench) == TABLES[3:]
    assert "drops within 1h, max_drops is 3" in reason_of(bench)
    decide(bench)
    assert bench.tables() == []


def test_a_limit_for_a_window_holds_drops_one_by_one_as_well(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    one_by_one(bench, *TABLES, created=int(time.time()))
    assert bench.tables() == ["t3", "t4", "t5"]


def test_a_restart_forgets_no_drop_counts_none_twice_and_ends_no_hold(faulty_drains):
    """Before: a hold was not stored, and some ended with a restart, without a decision."""
    bench = filled(faulty_drains, max_drops="3 per 1h")
    one_by_one(bench, *TABLES[:3])
    for _ in range(2):
        bench.restart()
        bench.finish()
    assert held_by(bench) == []
    one_by_one(bench, TABLES[3])
    for _ in range(3):
        assert held_by(bench) == [TABLES[3]]
        assert "there are 4 drops" in reason_of(bench)
        bench.restart()
        bench.finish()
    assert bench.tables() == ["t3", "t4", "t5"]


@pytest.mark.parametrize(("age", "left"), [(60, 0), (7200, 3)])
def test_tables_that_live_for_less_than_the_brake_looks_back_are_no_loss(faulty_drains, age: int, left: int):
    """Jobs make and drop them all day, each under a name of its own."""
    bench = filled(faulty_drains, **HALF)
    dropped = int(time.time()) - 5 * 3600
    one_by_one(bench, *TABLES, created=dropped - age, time_ms=dropped * 1000)
    assert (len(bench.tables()), len(held_by(bench))) == (left, left)


def test_a_small_database_has_no_share_to_hold(faulty_drains):
    bench = filled(faulty_drains, max_drop_share=0.5, max_drop_share_from=7)
    one_by_one(bench, *TABLES)
    assert bench.tables() == []


def test_tables_that_a_job_drops_and_makes_meanwhile_do_not_reduce_the_share(faulty_drains):
    bench = filled(faulty_drains, **HALF)
    for number in range(8):
        bench.append(create(f"db.job_{number}"))
        bench.finish()
        now = time.time()
        bench.append(drop(f"db.job_{number}", int(now), time_ms=round(now * 1000)))
        bench.finish()
    one_by_one(bench, *TABLES[:4])
    assert held_by(bench) == [TABLES[3]]


def test_a_limit_for_a_window_is_one_for_an_hour_unless_that_is_set():
    def limit(**values):
        return Limits.of(settings(**values))

    assert (limit().drops, limit().seconds) == (10_000, 3600)
    assert limit(max_drops_per_window=20).drops == 20
    assert limit(max_drops_per_window=20_000).drops == 20_000
    assert limit(max_drops_per_window=0).drops == 0
    assert limit(max_drops_per_window=20_000, max_drops="5 per 2d") == Limits(20_000, 5, 172_800, 0.5, 10)
    assert limit(max_drops="0").drops == 0
    assert limit(mode="shadow") == Limits()


@pytest.mark.parametrize(
    ("makers", "drops"),
    [
        ([create_partitioned("db.p"), drop_partitions("db.p", "1", "2", "3")], 3),
        ([drop_database()], 1),
        ([*(drop(name, attributes={"uncommitted": "true"}) for name in TABLES), drop_database()], 1),
        ([drop("db.t0"), create("db.t0"), drop("db.t1")], 2),
        ([create_partitioned("db.p"), add_partition("db.p", "1"), drop_partitions("db.p", "1")], 1),
    ],
    ids=["partitions", "a database", "a cascade", "anew", "come and gone"],
)
def test_what_the_plan_counts_as_a_drop(faulty_drains, makers, drops):
    bench = filled(faulty_drains)
    bench.drain.pause("to look at the plan")
    bench.append(*makers)
    assert bench.drain.preview().drops == drops


@pytest.mark.parametrize("limit", [0, 6])
def test_no_limit_and_a_limit_that_is_not_exceeded_hold_nothing(faulty_drains, limit):
    bench = filled(faulty_drains, max_drops_per_window=limit)
    at_once(bench, *map(drop, TABLES))
    assert bench.tables() == []


def test_suppressed_drops_do_not_count(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=1, drops="suppress")
    at_once(bench, *map(drop, TABLES))
    assert len(bench.tables()) == len(TABLES)
    assert held_by(bench) == []


# --- a hold ends by itself when its reason ends


def test_a_database_that_is_dropped_and_made_again_is_not_held_for_ever(faulty_drains):
    """Before: 15 tables dropped and made again 4 s later were held until somebody decided, with an untrue text."""
    bench = filled(faulty_drains, **HALF)
    bench.append(drop_database())
    bench.finish()
    wait_for_held(bench, "db", *TABLES)
    bench.append(create_database(), *map(create, TABLES))
    bench.finish()
    wait_until(lambda: (held_by(bench), bench.parked()) == ([], []), what="the end of the hold")
    assert len(bench.tables()) == 6


def test_what_the_source_has_again_is_no_loss_though_its_events_are_not_here_yet(faulty_drains):
    bench = filled(faulty_drains, **HALF)
    source = Hms(*TABLES)
    bench.source = lambda: source
    bench.restart()
    bench.append(drop_database())
    bench.finish()
    assert (held_by(bench), bench.parked()) == ([], [])


def test_a_young_database_is_not_held(faulty_drains):
    """Jobs make a database, fill it and drop it, each time."""
    bench = filled(faulty_drains, **HALF)
    tables = [f"temporary.t{number}" for number in range(12)]
    bench.append(create_database("temporary"), *(create(name, created=int(time.time())) for name in tables))
    bench.finish()
    bench.append(drop_database("temporary", time_ms=round(time.time() * 1000)))
    bench.finish()
    assert bench.target.database("temporary") is None
    assert held_by(bench) == []


def test_new_tables_do_not_wait_for_the_former_ones_of_a_database_made_again(faulty_drains):
    """Before: nothing in the database was applied until somebody had decided about the former tables."""
    bench = filled(faulty_drains, **HALF)
    at_once(bench, drop_database(), create_database(), create("db.new"))
    wait_for_held(bench, *TABLES)
    assert bench.tables() == sorted(names(*TABLES, "db.new"))
    bench.append(create("db.later"))
    bench.finish()
    assert "later" in bench.tables()
    decide(bench)
    assert bench.tables() == ["later", "new"]


def test_the_drop_of_a_database_that_a_person_lets_through_takes_nothing_newer(faulty_drains):
    """Its event comes after those of the database that was made again."""
    bench = filled(faulty_drains, **HALF)
    bench.append(drop_database())
    bench.finish()
    wait_for_held(bench, "db", *TABLES)
    bench.append(create_database(), create("db.new"))
    bench.finish()
    decide(bench, *TABLES)
    assert bench.tables() == ["new"]


def test_what_comes_and_goes_before_it_is_at_the_target_is_not_held(faulty_drains):
    """Before: a hold of it stayed until somebody decided, though there was nothing to remove, and nothing parked."""
    bench = filled(faulty_drains, max_drops_per_window=3)
    at_once(
        bench,
        create_partitioned("db.p"),
        add_partition("db.p", "1"),
        drop_partitions("db.p", "1"),
        *map(drop, TABLES[:4]),
    )
    wait_for_held(bench, *TABLES[:4])


def test_a_hold_of_partitions_ends_when_the_source_adds_them_again(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_partitioned("db.p"), add_partition("db.p", "1", "2", "3"))
    bench.finish()
    at_once(bench, drop_partitions("db.p", "1", "2", "3"))
    assert len(held_by(bench)) == 3
    bench.append(add_partition("db.p", "1", "2", "3"))
    bench.finish()
    wait_until(lambda: (held_by(bench), bench.parked()) == ([], []), what="the end of the hold")
    assert len(bench.target.partition_names(TableName("db", "p"))) == 3


# --- what a person decides


def test_each_database_and_each_object_is_decided_by_itself(faulty_drains):
    """Before: a decision was about everything that was held."""
    bench = filled(faulty_drains, max_drops_per_window=2)
    others = [f"other.t{number}" for number in range(3)]
    bench.append(create_database("other"), *map(create, others))
    bench.finish()
    at_once(bench, *map(drop, [*TABLES, *others]))
    assert held_by(bench) == [*TABLES, *others]
    decide(bench, "other")
    assert (bench.tables("other"), len(bench.tables())) == ([], 6)
    decide(bench, TABLES[0], keep=True)
    decide(bench, *TABLES[1:5])
    assert bench.tables() == ["t0", "t5"]
    # One is within the limits, but the person has not decided about it.
    bench.restart()
    bench.finish()
    assert (bench.tables(), held_by(bench)) == (["t0", "t5"], ["db.t5"])
    assert [it.object for it in bench.drain.brake.kept()] == ["db.t0"]


def test_only_what_was_seen_is_dropped(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=2)
    at_once(bench, *map(drop, TABLES[:3]))
    with pytest.raises(PysyncError, match="holds 3 objects of these now"):
        held.decided(bench.drain, {"names": ["db"], "seen": 2})
    with pytest.raises(PysyncError, match=r"'db\.t9' is not held"):
        held.decided(bench.drain, {"names": ["db.t9"], "keep": True})
    answer = held.decided(bench.drain, {"names": ["db"], "seen": 3})
    assert [it["object"] for it in answer["objects"]] == TABLES[:3]
    wait_until(lambda: bench.tables() == ["t3", "t4", "t5"], what="the drops")


def test_what_a_person_let_through_does_not_count_for_later_drops(faulty_drains):
    bench = filled(faulty_drains, max_drops="3 per 1h")
    at_once(bench, *map(drop, TABLES[:4]))
    assert held_by(bench) == TABLES[:4]
    decide(bench)
    one_by_one(bench, TABLES[4])
    assert (bench.tables(), held_by(bench)) == (["t5"], [])


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


def kept_four(faulty_drains: Callable[..., FaultyDrain]) -> FaultyDrain:
    """A drain whose target has six tables; the source has dropped four of them, and a person has kept these."""
    bench = filled(faulty_drains, **HALF)
    source = Hms(*TABLES[4:])
    bench.source = lambda: source
    bench.restart()
    at_once(bench, *(drop(name, OLD) for name in TABLES[:4]))
    assert held_by(bench) == TABLES[:4]
    decide(bench, keep=True)
    return bench


def test_no_comparison_refresh_or_restart_drops_what_a_person_has_kept(faulty_drains):
    """Before: the next comparison dropped it, up to the limit."""
    bench = kept_four(faulty_drains)
    bench.append(*compared("db", "default", present=TABLES[4:]))
    bench.finish()
    bench.append(refreshed(TABLES[0]), drop(TABLES[1], OLD))
    bench.finish()
    bench.restart()
    bench.append(*compared("db", "default", present=TABLES[4:]))
    bench.finish()
    assert bench.tables() == names(*TABLES)
    assert (held_by(bench), bench.parked()) == ([], [])
    assert "kept" in {it.outcome for it in bench.records}


def test_a_decision_to_keep_that_comes_during_a_retry_is_in_time(faulty_drains):
    """Before: a retry that had asked whether the object is kept, just before the decision, removed it."""
    bench = kept_four(faulty_drains)
    bench.stop()
    kept = Brake(bench.name, Limits(), bench.queue.target(bench.name).removals, cast("Ends", None))
    lost = [Lost(TABLES[0], "table"), Lost(TABLES[4], "table"), Lost("db", "database")]
    assert kept.going(lost, 0) == {TABLES[4]}


def test_what_a_person_has_kept_says_so_itself_so_that_a_restored_queue_learns_of_it(faulty_drains):
    bench = kept_four(faulty_drains)
    assert all(KEPT_KEY in bench.target.table(TableName.parse(it)).parameters for it in TABLES[:4])
    bench.stop()
    bench.queue.target(bench.name).removals.change((), TABLES[:4])  # as in an older copy of the queue's file
    bench.start()
    bench.append(*compared("db", "default", present=TABLES[4:]))
    bench.finish()
    assert bench.tables() == names(*TABLES)
    assert [it.object for it in bench.drain.brake.kept()] == TABLES[:4]


def test_a_kept_table_that_the_source_creates_again_is_its_table_again(faulty_drains):
    bench = kept_four(faulty_drains)
    bench.append(create(TABLES[0]))
    bench.finish()
    assert KEPT_KEY not in bench.target.table(TableName.parse(TABLES[0])).parameters
    assert [it.object for it in bench.drain.brake.kept()] == TABLES[1:4]
    one_by_one(bench, TABLES[0], created=OLD)
    assert held_by(bench) == [TABLES[0]], "with those that were kept a moment ago it is more than half"


def test_a_person_takes_back_that_a_table_is_kept(faulty_drains):
    bench = kept_four(faulty_drains)
    answer = held.released(bench.drain, {"names": [TABLES[0]]})
    assert [it["object"] for it in answer["objects"]] == TABLES[:1]
    assert [it["object"] for it in held.kept(bench.drain)["objects"]] == TABLES[1:4]
    bench.append(refreshed(TABLES[0]))
    bench.finish()
    assert held_by(bench) == [TABLES[0]], "with those that were kept a moment ago it is more than half"
    decide(bench)
    assert bench.tables() == names(*TABLES[1:])
    bench.append(*compared("db", "default", present=TABLES[4:]))
    bench.finish()
    assert (bench.tables(), held_by(bench)) == (names(*TABLES[1:]), [])


def test_a_table_with_a_kept_partition_stays(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_partitioned("db.p"), add_partition("db.p", "1", "2", "3"))
    bench.finish()
    at_once(bench, drop_partitions("db.p", "1", "2", "3"))
    decide(bench, keep=True)
    bench.append(drop("db.p"))
    bench.finish()
    assert len(bench.target.partition_names(TableName("db", "p"))) == 3


def test_what_a_person_keeps_no_longer_is_not_kept_because_it_says_so_itself(faulty_drains):
    """Before: the next comparison took its word for it, so that it was kept for ever."""
    bench = kept_four(faulty_drains)
    held.released(bench.drain, {"names": [TABLES[0]]})
    bench.append(*compared("db", "default", present=TABLES[4:]))
    bench.finish()
    wait_for_held(bench, TABLES[0])
    assert [it.object for it in bench.drain.brake.kept()] == TABLES[1:4]
    decide(bench)
    assert bench.tables() == names(*TABLES[1:])


def test_a_database_with_a_kept_table_stays(faulty_drains):
    bench = kept_four(faulty_drains)
    bench.source = Hms
    bench.restart()
    bench.append(drop_database())
    bench.finish()
    wait_for_held(bench, "db", *TABLES[4:])
    decide(bench)
    assert bench.tables() == names(*TABLES[:4])
    assert bench.target.database("db") is not None


def test_a_comparison_is_one_act(faulty_drains):
    """Before: its refreshes were judged one by one, so it dropped up to the limit, and then held the rest."""
    bench = filled(faulty_drains, max_drops_per_window=5)
    others = [f"other.t{number}" for number in range(3)]
    bench.append(create_database("other"), *map(create, others))
    bench.finish()
    source = Hms(TABLES[0], TABLES[1])
    source.add("other.new")
    bench.source = lambda: source
    bench.restart()
    bench.append(*compared("db", "default", "other", present=[*TABLES[:2], "other.new"]))
    bench.finish()
    wait_for_held(bench, *TABLES[2:], *others)
    assert (len(bench.tables()), len(bench.tables("other"))) == (6, 3)
    bench.append(create("db.goes_on"))
    bench.finish()
    assert "goes_on" in bench.tables()
    decide(bench)
    assert (bench.tables(), bench.tables("other")) == (["goes_on", "t0", "t1"], [])


def test_databases_that_a_comparison_finds_gone_are_held(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    source = Hms()
    bench.source = lambda: source
    bench.restart()
    bench.append(*compared("default"))
    bench.finish()
    wait_for_held(bench, "db", *TABLES)
    bench.append(create_database("other"), create("other.t"))
    bench.finish()
    assert bench.tables("other") == ["t"]
    decide(bench)
    assert bench.target.database("db") is None


@pytest.mark.parametrize("limits", [{"max_drops_per_window": 5}, HALF])
def test_what_leaves_the_scope_is_held_though_the_source_has_it(faulty_drains, limits):
    bench = filled(faulty_drains, out_of_scope="drop", **limits)
    source = Hms(*TABLES)
    bench.source = lambda: source
    bench.stop()
    former = json.dumps([scope_of(bench.settings)])
    bench.configure(exclude=["db"], out_of_scope="drop", **limits)
    bench.start()
    bench.append(lambda sequence: event(Kind.REFRESH, attributes={"former": former}, sequence=sequence))
    bench.finish()
    assert set(held_by(bench)) >= set(TABLES)
    for _ in range(2):
        bench.restart()
        bench.finish()
    assert bench.tables() == names(*TABLES)


def test_a_comparison_counts_each_object_once(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=7, max_drop_share=0)
    source = Hms()
    bench.source = lambda: source
    bench.restart()
    bench.append(*compared("default"))
    bench.finish()
    assert (bench.target.database("db"), held_by(bench)) == (None, [])


def test_what_is_held_is_logged_once(faulty_drains):
    with capture_logs() as logs:
        bench = filled(faulty_drains, max_drops_per_window=3)
        at_once(bench, *map(drop, TABLES))
        bench.restart()
        bench.finish()
    assert [it["count"] for it in logs if it["event"] == "drops_held"] == [6]


# --- whatever comes


_CHANGES = st.lists(
    st.tuples(st.sampled_from(["drop", "drop", "create", "again", "restart"]), st.integers(0, 9)), max_size=12
)


@given(_CHANGES)
@hypothesis_settings(max_examples=20)
def test_no_more_than_the_limit_is_missing_without_a_decision(tmp_path_factory, changes) -> None:
    """Whatever drops, creations and restarts come, at least half of the old tables stay."""
    bench = FaultyDrain(tmp_path_factory.mktemp("queue"), parked_retry_seconds=0, **HALF)
    bench.append(create_database(), *(create(f"db.t{number}") for number in range(10)))
    bench.start()
    bench.finish()
    make_old(bench, "db")
    try:
        for what, number in changes:
            name = f"db.t{number}"
            if what == "restart":
                bench.restart()
            elif what == "again":
                bench.append(drop(name, OLD), create(name))
            else:
                bench.append(create(name) if what == "create" else drop(name, OLD))
        bench.finish()
        assert len(bench.tables()) >= 5
    finally:
        bench.close()
