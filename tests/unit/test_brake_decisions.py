"""What a person decides of drops that are held: to drop, to keep, and to take that back."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from pysync.base.errors import PysyncError
from pysync.model.mark import KEPT_KEY
from pysync.model.names import TableName
from pysync.model.removal import Lost
from pysync.replay.brake import BothEnds, Brake
from pysync.replay.limits import Limits
from pysync.replay.progress import DrainState
from pysync.sidecar import held
from tests.support import wait_until
from tests.support.braking import (
    HALF,
    OLD,
    TABLES,
    at_once,
    compared,
    decide,
    filled,
    held_by,
    names,
    one_by_one,
    refreshed,
    wait_for_held,
)
from tests.support.drains import (
    FaultyDrain,
    add_partition,
    create,
    create_database,
    create_partitioned,
    drop,
    drop_database,
    drop_partitions,
)
from tests.support.refreshing import Hms


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
    kept = Brake(bench.name, Limits(), bench.queue.target(bench.name).removals, cast("BothEnds", None))
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


def test_tables_that_are_released_while_the_drop_of_their_database_waits_are_judged(faulty_drains):
    """Before: their own parameters said that they were kept, so nobody counted them, and the retry dropped all."""
    bench = filled(faulty_drains, **HALF)
    at_once(bench, drop_database())
    assert held_by(bench) == ["db", *TABLES]
    held.decided(bench.drain, {"names": TABLES[:4], "keep": True})
    wait_until(lambda: all(map(says_it_is_kept(bench), TABLES[:4])), what="the four that say that they are kept")
    bench.drain.pause("so that both are decided before the next retry")
    wait_until(lambda: bench.drain.progress.state is DrainState.PAUSED, what="the pause")
    held.decided(bench.drain, {"names": ["db"], "seen": 3})
    held.released(bench.drain, {"names": []})
    bench.drain.resume()
    wait_for_held(bench, *TABLES[:4])
    wait_until(lambda: bench.tables() == names(*TABLES[:4]), what="the drop of the two that were let through")


def says_it_is_kept(bench: FaultyDrain) -> Callable[[str], bool]:
    return lambda name: KEPT_KEY in bench.target.table(TableName.parse(name)).parameters


def test_drops_that_were_suppressed_want_one_decision_once_drops_are_applied(faulty_drains):
    """Before: the same hold came twice, from the event and from the comparison after it, and wanted two decisions."""
    bench = filled(faulty_drains, max_drops_per_window=1, drops="suppress")
    at_once(bench, *map(drop, TABLES[:3]))
    bench.settings = bench.settings.model_copy(update={"drops": "apply"})
    source = Hms(*TABLES[3:])
    bench.source = lambda: source
    bench.restart()
    for _ in range(2):
        bench.append(*compared("db", "default", present=TABLES[3:]))
        bench.finish()
    wait_for_held(bench, *TABLES[:3])
    decide(bench)
    bench.append(*compared("db", "default", present=TABLES[3:]))
    bench.finish()
    assert (bench.tables(), held_by(bench), bench.parked()) == (names(*TABLES[3:]), [], [])
