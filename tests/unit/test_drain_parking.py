"""Drain: events are applied in order; what cannot be applied is parked, and holds back only what depends on it."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from pysync.metastore.errors import MetastoreError
from pysync.model.event import Kind
from pysync.model.operation import Operation, RenameTable
from pysync.replay.window.translate import Translator
from pysync.targets.base import Outcome
from tests.support import table, wait_for_value, wait_until
from tests.support.drains import ATTEMPTS, NEVER, Bench, create, create_database, drop_database, rename
from tests.support.events import event
from tests.support.refreshing import Hms
from tests.support.targets import FakeTarget


@pytest.fixture
def bench(benches):
    return benches()


@pytest.fixture
def singly(benches):
    """A bench whose windows are one event long, and whose target has one lane."""
    return benches(window=1, lanes=1)


def test_what_does_not_concern_the_target_is_passed_over(benches):
    bench = benches(include=["db"])
    bench.append(create("other.t"), create("db.t"), create("other.t"))
    bench.run()
    assert bench.target.positions() == [2]
    assert (bench.position(), bench.parked(), bench.status()["counts"]) == (3, [], {"applied": 1, "skipped": 2})


def test_a_refused_event_stops_its_own_table_only(bench):
    bench.target.rejects = {"db.bad"}
    bench.append(create("db.bad"), create("db.good"), create("db.bad"), create("db.good"))
    bench.run()
    assert bench.target.positions() == [4]
    assert bench.parked() == [(1, "db.bad", "rejected"), (3, "db.bad", "waits")]
    assert bench.target.tries["db.bad"] == 1, "a refusal is tried once, and what waits behind it not at all"
    assert bench.queue.target("dr").parked.events()[0].reason == "the target does not like db.bad"


def test_a_restart_tries_parked_events_again_before_later_ones(bench):
    bench.target.rejects = {"db.bad"}
    bench.append(create("db.bad"), create("db.good"), create("db.bad"))
    bench.run()
    bench.stop()
    bench.append(create("db.bad"))
    bench.target.rejects = set()
    bench.run()
    assert bench.target.positions("db.bad") == [3, 4]
    assert bench.parked() == []


def test_a_restart_that_mends_nothing_leaves_parked_what_was_parked(bench):
    bench.target.rejects = {"db.bad"}
    bench.append(create("db.bad"), create("db.bad"))
    bench.run()
    bench.restart()
    bench.append(create("db.bad"))
    bench.finish()
    assert bench.parked() == [(1, "db.bad", "rejected"), (2, "db.bad", "waits"), (3, "db.bad", "waits")]
    assert [item.attempts for item in bench.queue.target("dr").parked.events()] == [2, 1, 1]
    assert bench.target.applied == []


def test_a_table_that_is_mended_by_half_goes_on_to_where_it_is_not(bench):
    bench.append(create("db.t"), rename("db.t", "db.u"), create("db.u"))
    bench.target.rejects = {"db.t"}
    bench.run()
    assert [position for position, _, _ in bench.parked()] == [1, 2, 2, 3]
    bench.target.rejects = {"db.u"}
    bench.restart()
    wait_for_value(bench.parked, [(3, "db.u", "rejected")], what="the retry")
    assert bench.target.positions("db.t")[0] == 1


def test_a_refused_rename_holds_back_both_names(bench):
    bench.target.rejects = {"db.old"}
    bench.append(rename("db.old", "db.new"), create("db.old"), create("db.new"), create("db.other"))
    bench.run()
    assert bench.target.positions() == [4]
    assert bench.parked() == [
        (1, "db.new", "rejected"),
        (1, "db.old", "rejected"),
        (2, "db.old", "waits"),
        (3, "db.new", "waits"),
    ]


def test_a_rename_waits_behind_a_parked_event_of_either_name(bench):
    bench.target.rejects = {"db.new"}
    bench.append(create("db.new"), rename("db.old", "db.new"), create("db.old"))
    bench.run()
    assert bench.target.applied == []
    bench.target.rejects = set()
    bench.restart()
    wait_until(lambda: bench.parked() == [], what="the retry")
    order = list(dict.fromkeys(bench.target.positions()))
    assert order == [1, 2, 3]
    assert any(isinstance(operation, RenameTable) for operation in bench.target.applied)


class OneTable:
    """A source that has one table, of no partitions, under whatever name it is asked for."""

    uri = "thrift://source"

    def __enter__(self) -> OneTable:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def table(self, database: str, name: str):
        return table(database, name)

    def constraints(self, _: object) -> dict[object, list[object]]:
        return {}


def refresh(name: str):
    database, table_ = name.split(".")
    return lambda sequence: event(
        Kind.REFRESH, sequence=sequence, attributes={"database": database, "table": table_, "created": "0"}
    )


@pytest.mark.parametrize("window", [1, 100])
def test_the_refresh_of_a_table_makes_good_what_is_parked_of_it(benches, window):
    bench = benches(window=window)
    bench.source = OneTable
    bench.target.bugs = {"db.bad": ATTEMPTS}
    bench.append(create("db.bad"), create("db.bad"), create("db.good"), refresh("db.bad"), create("db.bad"))
    bench.run()
    assert (bench.position(), bench.parked()) == (5, [])
    assert bench.target.positions("db.bad") == [4, 5], "what came before it is void"


def test_without_a_source_to_read_a_refresh_waits_like_anything_else(bench):
    bench.target.rejects = {"db.bad"}
    bench.append(create("db.bad"))
    bench.run()
    bench.append(refresh("db.bad"))
    bench.finish()
    assert bench.parked() == [(1, "db.bad", "rejected"), (2, "db.bad", "waits")]


def test_a_refresh_that_is_refused_too_makes_nothing_good(bench):
    bench.source = OneTable
    bench.target.rejects = {"db.bad"}
    bench.append(create("db.bad"))
    bench.run()
    bench.append(refresh("db.bad"), create("db.bad"))
    bench.finish()
    assert bench.parked() == [(1, "db.bad", "rejected"), (2, "db.bad", "rejected"), (3, "db.bad", "waits")]


def test_a_refresh_left_to_the_next_window_makes_nothing_good_before_it_is_done(bench):
    """That of a database is replayed alone; this one fails, because the source has no databases to ask for."""
    bench.source = OneTable
    bench.target.rejects = {"db.bad"}
    bench.append(create("db.bad"))
    bench.run()
    bench.append(create("other.t"), whole(database="db", present=""))
    bench.finish()
    assert bench.parked() == [(1, "db.bad", "rejected"), (3, "db", "bug")]


@pytest.mark.parametrize("names", [{}, {"database": "db"}])
def test_what_came_after_everything_was_listed_is_not_made_good_by_its_refresh(bench, names):
    """The table is not in that list, and gets no refresh of its own."""
    bench.source = Hms
    bench.target.rejects = {"db.old", "db.new"}
    bench.append(create("db.old"))
    bench.run()
    bench.append(create("db.new"), whole(upto=1, present="db", **names))
    bench.finish()
    assert bench.parked() == [(2, "db.new", "rejected")]


def whole(**names):
    attributes = {"whole": "true", **{key: str(value) for key, value in names.items()}}
    return lambda sequence: event(Kind.REFRESH, sequence=sequence, attributes=attributes)


def test_a_refresh_waits_behind_a_parked_rename_which_is_of_another_table_too(bench):
    bench.source = OneTable
    bench.target.rejects = {"db.old"}
    bench.append(rename("db.old", "db.new"))
    bench.run()
    bench.append(refresh("db.new"))
    bench.finish()
    assert bench.parked() == [(1, "db.new", "rejected"), (1, "db.old", "rejected"), (2, "db.new", "waits")]


def test_a_database_drop_waits_behind_its_parked_tables_and_holds_back_what_follows(singly):
    """Else the parked create would come back to life in the database that was made after the drop."""
    singly.target.rejects = {"db.bad"}
    singly.append(create("db.bad"), drop_database("db"), create_database("db"), create("db.good"), create("other.t"))
    singly.run()
    assert singly.target.positions() == [5]
    assert [(position, key) for position, key, _ in singly.parked()] == [
        (1, "db.bad"),
        (2, "db.*"),
        (3, "db"),
        (4, "db.good"),
    ]
    singly.target.rejects = set()
    singly.restart()
    wait_until(lambda: singly.parked() == [], what="the retry")
    assert singly.target.positions() == [5, 2, 3, 4], "the drop takes the parked create along"


def test_a_poison_that_its_own_window_drops_again_hurts_nobody(bench):
    bench.target.rejects = {"db.bad"}
    bench.append(create("db.bad"), create("db.good"), drop_database("db"), create_database("db"), create("db.new"))
    bench.run()
    assert bench.parked() == []
    assert bench.target.positions() == [3, 4, 5]


def test_a_refused_change_of_a_database_does_not_hold_back_its_tables(bench):
    bench.target.rejects = {"db"}
    bench.append(create_database("db"), create("db.t"), create_database("db"))
    bench.run()
    assert bench.target.positions() == [2]
    assert bench.parked() == [(1, "db", "rejected"), (3, "db", "waits")]


def test_a_bug_is_tried_a_few_times_and_then_parked_with_its_traceback(bench):
    bench.target.bugs = {"db.t": NEVER}
    bench.append(create("db.t"), create("db.u"), create("db.t"))
    bench.run()
    assert bench.target.tries["db.t"] == ATTEMPTS
    assert bench.parked() == [(1, "db.t", "bug"), (3, "db.t", "waits")]
    parked = bench.queue.target("dr").parked.events()[0]
    assert parked.reason.startswith("Traceback")
    assert "RuntimeError: a bug of the target" in parked.reason
    assert bench.status()["last_error"]["reason"] == "RuntimeError: a bug of the target"


def test_a_bug_that_passes_is_not_parked(bench):
    bench.target.bugs = {"db.t": ATTEMPTS - 1}
    bench.append(create("db.t"))
    bench.run()
    assert (bench.target.positions(), bench.parked()) == ([1], [])


def test_an_outage_does_not_count_towards_the_tries_of_a_bug(bench):
    bench.target.unavailable = ATTEMPTS
    bench.target.bugs = {"db.t": ATTEMPTS - 1}
    bench.append(create("db.t"))
    bench.run()
    assert (bench.target.positions(), bench.parked()) == ([1], [])


class SlowToFail(FakeTarget):
    """Its unreachable tables keep a lane for a moment before their call fails."""

    def apply(self, operation: Operation) -> Outcome:
        if operation.key in self.unreachable:
            time.sleep(0.05)
        return super().apply(operation)


def test_tables_that_fail_slowly_keep_no_other_table_waiting(tmp_path: Path) -> None:
    """Together their tries take much longer than the waits between them: there is always one to try again."""
    names = [f"db.slow{number}" for number in range(20)]
    with closing(Bench(tmp_path, SlowToFail())) as bench:
        bench.target.unreachable = set(names)
        bench.append(*map(create, names))
        bench.start()
        wait_until(lambda: min(bench.target.tries[name] for name in names) >= 1, what="the first tries")
        bench.append(create("db.good"))
        wait_until(lambda: bench.target.positions("db.good") != [], what="the table that can be reached")


def test_an_event_whose_objects_cannot_be_read_is_parked_and_others_go_on(bench):
    bench.append(lambda sequence: event(Kind.CREATE_TABLE, sequence=sequence), create("db.t"))
    bench.run()
    assert (bench.parked(), bench.target.positions()) == ([(1, "", "rejected")], [2])


def test_an_event_that_is_not_whole_is_parked_and_others_go_on(bench):
    """`Table` without a name: nothing that HMS sends, but it must not stop the target for ever."""
    nameless = table("db", "t")
    nameless.dbName = None
    bench.append(lambda sequence: event(Kind.CREATE_TABLE, after=[nameless], sequence=sequence), create("db.t"))
    bench.run()
    assert (bench.parked(), bench.target.positions()) == ([(1, "", "rejected")], [2])
    assert bench.queue.target("dr").parked.events()[0].reason == "the Table has no dbName"


def test_an_event_that_our_own_code_stumbles_over_is_parked_and_others_go_on(bench, monkeypatch):
    translate = Translator.translate

    def stumble(self, data, position):
        if position == 1:
            raise ZeroDivisionError
        return translate(self, data, position)

    monkeypatch.setattr(Translator, "translate", stumble)
    bench.append(create("db.bad"), create("db.t"))
    bench.run()
    assert (bench.parked(), bench.target.positions()) == ([(1, "db.bad", "bug")], [2])
    assert "Traceback" in bench.queue.target("dr").parked.events()[0].reason


def test_a_table_that_cannot_be_reached_stops_no_comparison_and_comes_back_by_itself(bench):
    """A comparison of everything begins when nothing else is under way; the table would be tried for ever before."""
    bench.target.unreachable = {"db.slow"}
    bench.append(create("db.slow"), create("db.good"))
    bench.start()
    wait_until(lambda: bench.target.positions() == [2], what="the others")
    bench.append(whole(upto=2, present="db"), create("db.new"))
    wait_until(lambda: 4 in bench.target.positions(), what="the table behind the comparison")
    assert [(position, key) for position, key, _ in bench.parked()] == [(1, "db.slow")]
    (parked,) = bench.queue.target(bench.name).parked.events()
    assert "the target answers, but this has failed" in parked.reason
    assert "the connection breaks for db.slow" in parked.reason


def test_a_table_that_cannot_be_reached_holds_the_position_for_a_while_only(benches):
    bench = benches(window=1)
    bench.target.unreachable = {"db.slow"}
    others = [create(f"db.t{at}") for at in range(40)]
    bench.append(create("db.slow"), *others)
    bench.run()
    assert sorted(bench.target.positions()) == list(range(2, 42))
    assert [key for _, key, _ in bench.parked()] == ["db.slow"]


def test_a_refused_event_is_retried_though_a_table_before_it_cannot_be_reached(bench):
    bench.target.unreachable, bench.target.rejects = {"db.slow"}, {"db.late"}
    bench.append(create("db.slow"), create("db.late"))
    bench.start()
    wait_until(lambda: {key for _, key, _ in bench.parked()} == {"db.slow", "db.late"}, what="the parked events")
    bench.target.rejects = set()
    bench.drain.retry("db.late")
    wait_until(lambda: bench.target.positions() == [2], what="the table that was refused")


def test_while_the_whole_target_is_away_nothing_is_parked(bench):
    bench.target.unreachable = {"db.slow"}
    bench.target.is_away = True
    bench.append(create("db.slow"), whole(upto=1, present="db"), create("db.t"))
    bench.start()
    wait_until(lambda: bench.target.probed >= 2, what="the others")
    assert bench.parked() == []
    assert bench.target.positions() == []
    bench.target.is_away, bench.target.unreachable = False, set[str]()
    bench.finish()
    assert (bench.target.positions(), bench.parked()) == ([1, 3], [])


def test_what_failed_in_an_outage_is_tried_once_more_before_it_is_parked(benches, monkeypatch):
    """Before: a work that had failed in an outage of half a minute was parked as soon as the target was back."""
    monkeypatch.setattr("pysync.replay.apply._FIRST_WAIT_SECONDS", 1e9)
    bench = benches(retry_max_seconds=1e8)
    bench.target.is_away = True
    bench.append(create("db.slow"), whole(upto=1, present="db"), create("db.t"))
    bench.start()
    wait_until(lambda: bench.target.probed >= 2, what="the outage")
    bench.target.is_away = False
    bench.finish()
    assert (bench.target.positions(), bench.parked()) == ([1, 3], [])


def test_what_fails_while_the_source_is_away_is_not_parked(bench):
    """Before: after half a minute it was parked, as the target answered."""
    asked, is_away = [], threading.Event()
    is_away.set()

    class Source(OneTable):
        def table(self, database: str, name: str):
            self.databases()
            return super().table(database, name)

        def databases(self) -> list[str]:
            asked.append("databases")
            if is_away.is_set():
                raise MetastoreError("connection refused")
            return ["db"]

    bench.source = Source
    bench.append(refresh("db.t"), whole(upto=1, present="db"))
    with capture_logs() as lines:
        bench.start()
        wait_until(lambda: bench.target.probed >= 3 and len(asked) >= 9, what="the outage")
        assert bench.parked() == []
        is_away.clear()
        wait_until(lambda: bench.target.positions("db.t") == [1], what="the table")
        bench.finish()
    assert bench.parked() == []
    outage = [it["event"] for it in lines if it["event"].endswith("available")]
    assert (outage[-1], {*outage[:-1]}) == ("source_available", {"source_unavailable"}), "the target was never away"


def test_an_alter_of_a_database_waits_for_no_table_and_holds_up_none(benches):
    bench = benches(window=1)
    bench.target.unreachable = {"db.slow"}
    bench.append(create("db.slow"), create_database("db"), create("db.quick"))
    bench.start()
    wait_until(lambda: bench.target.positions() == [2, 3], what="the others")
    assert bench.parked() == []
