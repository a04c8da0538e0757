"""Brakes, pauses and the shadow: a target that applies nothing, says why, and goes on when a person says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutTable
from pysync.queue import Queued
from pysync.replay.brake import Brake, Limits
from pysync.replay.window.draft import Draft
from pysync.replay.window.plan import Work
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
)
from tests.support.events import settings

TABLES = [f"db.t{number}" for number in range(6)]
STILL = 0.3


def filled(faulty_drains, **values) -> FaultyDrain:
    """A running drain whose target has a database with six tables."""
    bench = faulty_drains(**values)
    bench.append(create_database(), *map(create, TABLES))
    bench.start()
    bench.finish()
    assert len(bench.tables()) == len(TABLES)
    return bench


def assert_stands_still(bench: FaultyDrain, queued: int) -> None:
    position = bench.position()
    time.sleep(STILL)
    assert (bench.position(), bench.queue.target(bench.name).depth().queued) == (position, queued)


def wait_for_brake(bench: FaultyDrain, drops: int) -> None:
    def held():
        hold = bench.drain.hold()
        return hold is not None and hold.count == drops

    wait_until(held, what=f"a brake at {drops} drops")
    bench.wait_for_state("paused")


# --- the brake


def test_too_many_drops_pause_the_target_and_nothing_of_the_window_is_applied(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    bench.drain.pause("so that all comes in one window")
    bench.append(create("db.new"), *map(drop, TABLES))
    bench.drain.resume()
    wait_for_brake(bench, 6)
    assert_stands_still(bench, queued=7)
    assert sorted(bench.tables()) == [name.partition(".")[2] for name in TABLES], "something of the window was applied"
    reason = bench.drain.paused().reason
    assert "6 tables of db" in reason
    assert "max_drops_per_window is 3" in reason
    assert bench.drain.hold().as_json()["objects"] == [f"table {name}" for name in TABLES]


def test_one_resume_is_enough_for_one_mistake(faulty_drains):
    """What comes while it is held is told of, and goes with it; so does what comes right after in the same database."""
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.drain.pause("one window")
    bench.append(*map(drop, TABLES[:3]))
    bench.drain.resume()
    wait_for_brake(bench, 3)
    bench.append(*map(drop, TABLES[3:5]))  # come while it is held
    wait_for_brake(bench, 5)
    assert bench.drain.preview().drops == 5, "the number that plan shows"
    assert "5 tables of db" in bench.drain.resume().reason
    bench.append(drop(TABLES[5]), create("db.a"), create("db.b"), drop("db.a"), drop("db.b"))
    bench.finish()
    assert bench.tables() == []
    assert bench.drain.paused() is None


def test_after_a_resume_other_databases_are_held_for_themselves(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_database("other"), *(create(f"other.t{number}") for number in range(3)))
    bench.drain.pause("one window")
    bench.append(*map(drop, TABLES))
    bench.drain.resume()
    wait_for_brake(bench, 6)
    bench.drain.resume()
    bench.finish()
    bench.drain.pause("one window")
    bench.append(*(drop(f"other.t{number}") for number in range(3)))
    bench.drain.resume()
    wait_for_brake(bench, 3)


# --- over time, and of a database


def one_by_one(bench: FaultyDrain, *names: str, created: int = 0, **fields: Any) -> None:
    """Drop each in a window of its own, as long as nothing is held.

    `created` is their createTime (s; 0: not known); `fields` are those of the events.
    """
    for name in names:
        if bench.drain.paused() is None:
            bench.append(drop(name, created, **fields))
            wait_until(
                lambda: bench.drain.paused() or bench.queue.target(bench.name).depth().queued == 0, what="one window"
            )


def test_drops_one_by_one_are_held_when_they_are_too_many_within_the_time(faulty_drains):
    """Before: all went through, for each came in a window of its own."""
    bench = filled(faulty_drains, max_drops_per_window=3, max_drops="3 per 1h")
    one_by_one(bench, *TABLES)
    assert bench.tables() == ["t3", "t4", "t5"]
    assert bench.drain.hold().count == 1
    assert "there are 4 drops within 1h, max_drops is 3" in bench.drain.paused().reason
    bench.append(*map(drop, TABLES[4:]))
    wait_for_brake(bench, 3)
    bench.drain.resume()
    bench.finish()
    assert bench.tables() == [], "one resume"


def test_what_was_dropped_before_a_restart_counts_and_nothing_twice(faulty_drains):
    bench = filled(faulty_drains, max_drops="3 per 1h")
    one_by_one(bench, *TABLES[:3])
    for _ in range(3):
        bench.restart()
        bench.finish()
    assert bench.drain.paused() is None
    one_by_one(bench, TABLES[3])
    assert "there are 4 drops" in bench.drain.paused().reason
    bench.restart()
    wait_until(lambda: bench.drain.paused() is not None, what="the brake again")
    assert "there are 4 drops" in bench.drain.paused().reason
    assert bench.tables() == ["t3", "t4", "t5"]


def test_a_small_database_has_no_share_to_hold(faulty_drains):
    bench = filled(faulty_drains, max_drop_share=0.5, max_drop_share_from=7)
    one_by_one(bench, *TABLES)
    assert bench.tables() == []


@pytest.mark.parametrize(("age", "left"), [(60, 0), (7200, 3)])
def test_tables_that_live_for_less_than_the_brake_looks_back_are_no_loss(faulty_drains, age: int, left: int):
    """Jobs make and drop them all day, each under a name of its own. What comes hours later, after an outage, counts
    as it was at the source.
    """
    bench = filled(faulty_drains, max_drop_share=0.5, max_drop_share_from=6)
    dropped = int(time.time()) - 5 * 3600
    one_by_one(bench, *TABLES, created=dropped - age, time_ms=dropped * 1000)
    assert (len(bench.tables()), bench.drain.paused() is not None) == (left, left > 0)


def gone(*names: str) -> list[DropTable]:
    """What a comparison drops that does not find these tables at the source."""
    return [DropTable(table=TableName.parse(name), mark=Mark("east", 1, 9), visited=("east",)) for name in names]


def test_a_comparison_that_would_drop_more_than_a_share_of_a_database_is_held():
    brake = Brake(Limits(share=0.5, share_from=6), tables_of=lambda _: [name.partition(".")[2] for name in TABLES])
    assert brake.allows(gone(*TABLES[:3]), 9)
    assert not brake.allows(gone(*TABLES[:4]), 9)
    assert brake.held is not None
    assert "4 of the 6 tables of db would be gone, max_drop_share is 0.5" in brake.held.reason
    assert brake.release()
    assert brake.allows(gone(*TABLES[:4]), 9)


def test_what_was_dropped_by_an_earlier_comparison_counts_for_the_share():
    brake = Brake(Limits(share=0.5, share_from=6), tables_of=lambda _: ["t2", "t3", "t4", "t5"])
    assert brake.allows(gone(*TABLES[:2]), 9)
    brake.passed(9)
    assert brake.allows(gone(TABLES[2]), 10)
    assert not brake.allows(gone(*TABLES[2:4]), 10)


def window(position: int, *names: str, put: Sequence[str] = (), at_ms: int = 0) -> Draft:
    """A window that ends at this position, came at `at_ms`, drops these tables, and puts others."""
    each = [[it] for it in gone(*names)] + [
        [PutTable(table=it.table, mark=it.mark, visited=it.visited, definition=None)] for it in gone(*put)
    ]
    works = [Work(frozenset(), tuple(it), (position,)) for it in each]
    return Draft([Queued(position, b"", at_ms)], works, {}, (), 0, {})


def test_tables_of_windows_that_are_not_applied_yet_count_for_the_share():
    brake = Brake(Limits(share=0.5, share_from=6), tables_of=lambda _: ())
    assert not brake.holds(window(1, put=TABLES))
    assert not brake.holds(window(2, *TABLES[:3])), "half of them are left"
    assert brake.holds(window(3, TABLES[3]))
    assert "4 of the 6 tables of db would be gone" in brake.held.reason


def test_drops_that_are_held_do_not_count_for_the_share_of_a_comparison():
    names = [f"db.t{number}" for number in range(20)]
    brake = Brake(Limits(share=0.5, share_from=6), tables_of=lambda _: [name.partition(".")[2] for name in names])
    assert brake.holds(window(9, *names[:12]))
    assert brake.allows(gone(*names[12:17]), 5), "5 of the 20 tables"


def test_drops_by_a_comparison_that_is_not_applied_yet_count_for_the_share():
    brake = Brake(Limits(share=0.5, share_from=6), tables_of=lambda _: [name.partition(".")[2] for name in TABLES])
    assert not brake.holds(window(1))
    assert brake.allows(gone(*TABLES[:2]), 1)
    assert brake.holds(window(2, *TABLES[2:4])), "4 of the 6 tables"


def test_drops_of_windows_that_are_not_applied_yet_count_for_the_share():
    brake = Brake(Limits(share=0.5, share_from=6), tables_of=lambda _: [name.partition(".")[2] for name in TABLES])
    assert not brake.holds(window(1, *TABLES[:3]))
    assert brake.holds(window(2, TABLES[3])), "the target has all six of them still"


_WINDOW = st.tuples(st.frozensets(st.sampled_from(TABLES)), st.frozensets(st.sampled_from(TABLES)), st.booleans())


def holds_of(windows: Sequence[tuple[frozenset[str], frozenset[str], bool]], *, lags: bool) -> list[bool]:
    """Which windows are held. Each drops tables and puts others; with `lags` the target has got up to some of them."""
    tables, waiting = set(TABLES[:2]), []
    brake = Brake(Limits(share=0.5, share_from=3), tables_of=lambda _: [it.partition(".")[2] for it in tables])
    holds = []
    for position, (drops, put, catches_up) in enumerate(windows, 1):
        holds.append(brake.holds(window(position, *sorted(drops - put), put=sorted(put))))
        if holds[-1]:
            break
        waiting.append((position, drops - put, put))
        while waiting and (catches_up or not lags):
            done, gone_now, put_now = waiting.pop(0)
            tables = (tables - gone_now) | put_now
            brake.passed(done)
    return holds


@given(st.lists(_WINDOW, max_size=8))
def test_how_far_the_target_has_got_decides_no_share(windows) -> None:
    assert holds_of(windows, lags=True) == holds_of(windows, lags=False)


def test_a_share_that_is_held_is_told_of_when_more_has_come():
    brake = Brake(Limits(share=0.5, share_from=6), tables_of=lambda _: [name.partition(".")[2] for name in TABLES])
    assert brake.holds(window(9, *TABLES[:4]))
    brake.update_hold(window(10, *TABLES[:5]))
    assert brake.held.reason == (
        "held: the drop of 5 tables of db; event 10, of which none is applied; 4 of the 6 tables of db would be gone, "
        "max_drop_share is 0.5"
    )


@pytest.mark.parametrize("asks", ["a window", "a refresh"])
def test_a_resume_does_not_wait_for_a_target_that_hangs(asks):
    listed, answer = threading.Event(), threading.Event()

    def tables_of(_: str) -> list[str]:
        if brake.held is not None:
            listed.set()
            answer.wait(60)
        return [name.partition(".")[2] for name in TABLES]

    def more() -> None:
        _ = brake.holds(window(10, *TABLES)) if asks == "a window" else brake.allows(gone(*TABLES), 10)

    brake = Brake(Limits(share=0.5, share_from=6), tables_of=tables_of)
    assert not brake.allows(gone(*TABLES[:4]), 9)
    hanging, resumed = threading.Thread(target=more), threading.Thread(target=brake.release)
    hanging.start()
    assert listed.wait(60)
    resumed.start()
    resumed.join(5)
    waits = resumed.is_alive()
    answer.set()
    hanging.join()
    assert not waits


def test_tables_that_are_made_anew_are_no_loss(faulty_drains):
    bench = filled(faulty_drains, max_drop_share=0.5, max_drop_share_from=6)
    for name in TABLES:
        bench.append(drop(name))
        bench.finish()
        bench.append(create(name))
        bench.finish()
    assert (len(bench.tables()), bench.drain.paused()) == (6, None)


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
def test_what_counts_as_a_drop(faulty_drains, makers, drops):
    bench = filled(faulty_drains)
    bench.drain.pause("to look at the plan")
    bench.append(*makers)
    assert bench.drain.preview().drops == drops


@pytest.mark.parametrize("limit", [0, 6])
def test_no_limit_and_a_limit_that_is_kept_hold_nothing(faulty_drains, limit):
    bench = filled(faulty_drains, max_drops_per_window=limit)
    bench.append(*map(drop, TABLES))
    bench.finish()
    assert bench.tables() == []


def test_suppressed_drops_do_not_count(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=1, drops="suppress")
    bench.append(*map(drop, TABLES))
    bench.finish()
    assert len(bench.tables()) == len(TABLES)


# --- by hand


def test_a_paused_target_applies_nothing_until_resume_also_after_a_restart(faulty_drains):
    bench = filled(faulty_drains)
    bench.drain.pause("the target is moved")
    bench.append(create("db.new"))
    bench.wait_for_state("paused")
    assert_stands_still(bench, queued=1)
    bench.restart()
    bench.wait_for_state("paused")
    assert bench.drain.paused().reason == "the target is moved"
    assert_stands_still(bench, queued=1)
    assert bench.drain.resume().reason == "the target is moved"
    bench.finish()
    assert "new" in bench.tables()
    bench.restart()
    bench.wait_for_state("running")
    assert bench.drain.paused() is None


def test_resume_of_a_pause_by_hand_does_not_release_the_brake(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=1)
    bench.drain.pause("one window")
    bench.append(*map(drop, TABLES))
    bench.drain.resume()
    wait_for_brake(bench, 6)
    bench.drain.pause("by hand")
    assert bench.drain.resume().reason == "by hand"
    assert_stands_still(bench, queued=6)
    assert bench.drain.hold().count == 6


def test_resume_of_what_runs_says_so_and_changes_nothing(faulty_drains):
    bench = filled(faulty_drains)
    assert bench.drain.resume() is None
    bench.append(create("db.new"))
    bench.finish()


def test_a_pause_ends_the_tries_of_a_target_that_is_away(faulty_drains):
    bench = faulty_drains(faults=[{"kind": "unavailable"}])
    bench.append(create_database())
    bench.start()
    bench.wait_for_state("waiting")
    bench.drain.pause("let it rest")
    bench.wait_for_state("paused")
    assert (bench.position(), bench.parked()) == (0, [])


# --- the shadow


def test_a_shadow_moves_on_and_writes_nothing(faulty_drains, capsys):
    bench = faulty_drains(mode="shadow")
    bench.append(create_database(), create("db.t"), create("db.t"), add_partition("db.t", "1"))
    bench.start()
    bench.finish()
    bench.wait_for_state("shadow")
    assert bench.target.database("db") is None
    assert bench.status()["counts"] == {"shadowed": 3}
    reported = capsys.readouterr().out
    assert "put table db.t (1 column)" in reported
    assert "put 1 partition of db.t" in reported


def test_a_shadow_keeps_what_was_parked_before(faulty_drains):
    bench = faulty_drains(faults=[{"kind": "refuse", "tables": ["db.bad"]}])
    bench.append(create_database(), create("db.bad"))
    bench.start()
    bench.finish()
    bench.configure(mode="shadow")
    bench.restart()
    bench.append(create("db.bad"), create("db.good"))
    bench.finish()
    assert bench.parked() == [(2, "db.bad", "rejected"), (3, "db.bad", "waits")]


# --- a database that is dropped with its tables


def cascade(bench: FaultyDrain) -> None:
    """DROP DATABASE … CASCADE as HMS announces it: each table in a window of its own, then the database."""
    for name in TABLES:
        bench.append(drop(name, int(time.time()), attributes={"uncommitted": "true"}))
        bench.finish()
    bench.append(drop_database())


@pytest.mark.parametrize(
    "limits",
    [
        {"max_drops_per_window": 5},
        {"max_drops": "5 per 1h"},
        {"max_drop_share_from": 6},
    ],
    ids=["of a window", "over time", "share"],
)
def test_a_dropped_database_counts_its_tables_and_is_held_before_the_first_is_gone(faulty_drains, limits):
    """Before: the drop counted as one, and went, however many tables it took along."""
    bench = filled(faulty_drains, **limits)
    cascade(bench)
    wait_for_brake(bench, 7)
    assert len(bench.tables()) == 6
    hold = bench.drain.hold()
    assert hold.summary == "database db with 6 tables"
    assert hold.as_json()["objects"] == ["database db", *(f"table {name}" for name in TABLES)]
    bench.drain.resume()
    bench.finish()
    assert bench.target.database("db") is None


def test_drops_that_are_kept_are_left_out_and_the_rest_goes_on(faulty_drains):
    """Before: the only way out of a hold was to drop everything."""
    bench = filled(faulty_drains, max_drops_per_window=5)
    cascade(bench)
    wait_for_brake(bench, 7)
    bench.append(create_database("other"), create("other.t"))
    assert "6 tables" in bench.drain.resume(keeps=True).reason
    bench.finish()
    assert bench.drain.paused() is None
    assert (len(bench.tables()), bench.tables("other")) == (6, ["t"])
    kept = [(it.operation, it.object) for it in bench.records if it.outcome == "kept"]
    assert kept == [("DropDatabase", "db"), *(("DropTable", name) for name in TABLES)]
    assert [(it.object, it.operation) for it in bench.records if it.outcome == "held"] == [("db", "Hold")]


def test_drops_that_follow_at_once_in_the_same_database_are_kept_too(faulty_drains):
    bench = filled(faulty_drains, max_drops="3 per 1h")
    one_by_one(bench, *TABLES[:4])
    wait_for_brake(bench, 1)
    bench.drain.resume(keeps=True)
    bench.append(*map(drop, TABLES[4:]))
    bench.finish()
    assert bench.tables() == ["t3", "t4", "t5"]


def test_only_what_a_person_has_seen_is_released(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_database("other"), *(create(f"other.t{number}") for number in range(3)))
    bench.finish()
    bench.drain.pause("one window")
    bench.append(*map(drop, TABLES))
    bench.drain.resume()
    wait_for_brake(bench, 6)
    seen = bench.drain.hold().last
    bench.append(*(drop(f"other.t{number}") for number in range(3)))
    wait_for_brake(bench, 9)
    bench.drain.resume(through=seen)
    wait_for_brake(bench, 3)
    assert (bench.tables(), len(bench.tables("other"))) == ([], 3)


def test_what_a_comparison_would_drop_can_be_left_out():
    brake = Brake(Limits(window=2))
    assert not brake.allows(gone(*TABLES[:3]), 9)
    brake.update_hold(window(10, TABLES[5]))
    assert brake.held.as_json()["objects"] == [f"table {name}" for name in TABLES[:3]]
    assert brake.release(keeps=True)
    assert (brake.keeps(9), brake.keeps(10)) == (True, False)


def test_who_has_seen_an_earlier_hold_releases_no_later_one():
    brake = Brake(Limits(window=2))
    assert brake.holds(window(9, *TABLES[:3]))
    assert not brake.release(through=8)
    assert brake.held is not None


def test_a_limit_for_a_window_holds_drops_one_by_one_as_well(faulty_drains):
    """Before: max_drops_per_window = 3 let any number of drops go, if each came in a window of its own."""
    bench = filled(faulty_drains, max_drops_per_window=3)
    one_by_one(bench, *TABLES, created=int(time.time()))
    assert bench.tables() == ["t3", "t4", "t5"]


def test_a_resume_while_the_clock_is_ahead_is_no_licence_for_a_day():
    """Before: after it, all drops in the same database went through until the clock was there again."""
    now = [1_800_000_000.0 + 86_400]
    brake = Brake(Limits(window=2), clock=lambda: now[0])
    assert brake.holds(window(9, *TABLES[:3]))
    assert brake.release(upto=9)
    assert not brake.holds(window(9, *TABLES[:3]))
    assert brake.holds(window(10, *TABLES[3:], at_ms=1_800_000_000_000))


@pytest.mark.parametrize("is_applied", [False, True])
@pytest.mark.parametrize("limits", [Limits(drops=3), Limits(share=0.5, share_from=2)])
def test_what_a_person_let_through_does_not_count_for_later_drops(limits: Limits, is_applied: bool):
    """Before: one more drop in that database, minutes later, was held for the sake of the ones let through."""
    tables, now = set(TABLES), 1_800_000_000
    brake = Brake(limits, tables_of=lambda _: [it.partition(".")[2] for it in tables], clock=lambda: now)
    assert brake.holds(window(1, *TABLES[:4], at_ms=now * 1000))
    assert brake.release(upto=1)
    assert not brake.holds(window(1, *TABLES[:4], at_ms=now * 1000))
    if is_applied:
        tables -= set(TABLES[:4])
        brake.passed(1)
    assert not brake.holds(window(2, TABLES[4], at_ms=(now + 120) * 1000))


def test_a_comparison_that_a_person_let_through_does_not_count_for_later_drops():
    brake = Brake(Limits(drops=3))
    assert not brake.allows(gone(*TABLES[:4]), 9)
    assert brake.release()
    assert brake.allows(gone(*TABLES[:4]), 9)
    assert brake.allows(gone(TABLES[4]), 10), "not applied yet"
    brake.passed(10)
    assert brake.allows(gone(TABLES[5]), 11)


def test_tables_that_a_job_drops_and_makes_meanwhile_do_not_reduce_the_share():
    brake = Brake(Limits(share=0.5, share_from=6), tables_of=lambda _: [name.partition(".")[2] for name in TABLES])
    now = 1_800_000_000
    for position in range(1, 20, 2):
        name = f"db.job_{position}"
        assert not brake.holds(window(position, put=[name]))
        of_the_job = DropTable(
            table=TableName.parse(name), mark=Mark("east", 1, position, created=now), visited=("east",)
        )
        works = [Work(frozenset(), (of_the_job,), (position + 1,))]
        assert not brake.holds(Draft([Queued(position + 1, b"", now * 1000)], works, {}, (), 0, {}))
    assert brake.holds(window(21, *TABLES[:4], at_ms=now * 1000)), "4 of 6, not of 16"


def test_a_comparison_in_a_window_that_a_person_let_through_is_held_for_itself():
    """Before: what the comparison would drop went with the window's drops, which were all that the person had seen."""
    brake = Brake(Limits(window=2))
    assert brake.holds(window(9, *TABLES[:3]))
    assert brake.release()
    assert not brake.holds(window(9, *TABLES[:3]))
    assert brake.allows(gone(*TABLES[3:5]), 8)
    assert not brake.allows(gone(*TABLES[3:]), 8)
    assert brake.held.count == 3
    assert brake.release()
    assert brake.allows(gone(*TABLES[3:]), 8)


def test_a_window_that_waits_behind_a_held_comparison_is_held_for_itself():
    brake = Brake(Limits(window=2))
    assert brake.holds(window(9, *TABLES[:3]))
    assert not brake.allows(gone("other.a", "other.b", "other.c"), 5)
    assert brake.held.as_json()["summary"] == "3 tables of other"
    assert brake.release()
    assert brake.allows(gone("other.a", "other.b", "other.c"), 5)
    assert brake.holds(window(9, *TABLES[:3]))


def test_a_parked_comparison_that_a_person_let_through_is_not_held_again():
    """It is tried again from time to time, long after its position."""
    brake = Brake(Limits(window=2))
    assert not brake.allows(gone(*TABLES[:3]), 9)
    assert brake.release()
    brake.passed(20)
    assert brake.allows(gone(*TABLES[:3]), 9)
