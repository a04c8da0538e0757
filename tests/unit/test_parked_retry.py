"""Parked events: a table that is refused waits alone, and is tried again or given up by a person or in time."""

from __future__ import annotations

import time

import pytest
import structlog

from pysync.base.errors import PysyncError
from tests.support import wait_for_value, wait_until
from tests.support.drains import FaultyDrain, create, create_database, drop_database
from tests.support.events import rename_table

SECONDS = 10
BAD = {"kind": "refuse", "tables": ["db.bad"]}


def rename(old, new):
    return lambda sequence: rename_table(old, new, sequence=sequence)


def refused(faulty_drains, times: int, *makers, **values) -> FaultyDrain:
    """A drain that has refused db.bad, and will do so until it was refused `times` times."""
    bench = faulty_drains(faults=[{**BAD, "times": times}], **values)
    bench.append(create_database(), create("db.bad"), create("db.good"), create("db.bad"), *makers)
    bench.start()
    bench.finish()
    return bench


def test_retry_after_the_cause_is_gone_converges(faulty_drains):
    bench = refused(faulty_drains, 1)
    assert bench.parked() == [(2, "db.bad", "rejected"), (4, "db.bad", "waits")]
    released = bench.drain.retry().result(SECONDS)
    assert (released.tried, released.left, released.finished) == (2, 0, True)
    assert (bench.parked(), bench.tables()) == ([], ["bad", "good"])
    bench.append(create("db.bad"))
    bench.finish()
    assert bench.parked() == [], "the table still waits"


def test_retry_of_what_is_still_refused_says_why_and_counts_the_attempt(faulty_drains):
    bench = refused(faulty_drains, 5)
    released = bench.drain.retry("db.bad").result(SECONDS)
    assert (released.tried, released.left) == (2, 2)
    assert "refused db.bad" in released.reason
    assert bench.queue.target(bench.name).parked.tables()[0].attempts == 2


def test_a_retry_that_ends_otherwise_leaves_the_new_reason(faulty_drains):
    bench = faulty_drains(faults=[{**BAD, "times": 1}, {**BAD, "kind": "bug"}], retry_attempts=1)
    with structlog.testing.capture_logs() as logs:
        bench.append(create_database(), create("db.bad"))
        bench.start()
        bench.finish()
    (logged,) = (it for it in logs if it["event"] == "event_parked")
    (before,) = bench.queue.target(bench.name).parked.events()
    assert (logged["target"], logged["keys"], logged["reason"]) == (bench.name, ["db.bad"], before.reason)
    bench.drain.retry("db.bad").result(SECONDS)
    (after,) = bench.queue.target(bench.name).parked.events()
    assert ("refused db.bad" in before.reason, "an unexpected error" in after.reason) == (True, True)
    assert before.last_at_ms <= after.last_at_ms <= round(time.time() * 1000)


def test_retry_of_one_table_leaves_the_others_and_takes_its_renames_along(faulty_drains):
    bench = faulty_drains(faults=[{"kind": "refuse", "tables": ["db.a", "db.z"], "times": 2}])
    bench.append(create_database(), create("db.a"), create("db.z"), rename("db.a", "db.b"), create("db.b"))
    bench.start()
    bench.finish()
    assert {table for _, table, _ in bench.parked()} == {"db.a", "db.b", "db.z"}
    released = bench.drain.retry("db.b").result(SECONDS)
    assert (released.tried, released.left) == (3, 0)
    assert {table for _, table, _ in bench.parked()} == {"db.z"}
    assert bench.tables() == ["b"]


def test_retry_of_a_table_that_is_not_parked_is_refused(faulty_drains):
    bench = refused(faulty_drains, 1)
    with pytest.raises(PysyncError, match=r"table db\.good has no parked events"):
        bench.drain.retry("db.good").result(SECONDS)


def test_a_retry_waits_while_the_target_is_away_and_the_next_request_is_answered(faulty_drains):
    bench = faulty_drains(faults=[{**BAD, "times": 1}, {"kind": "unavailable"}])
    bench.append(create("db.bad"), create("db.good"))
    bench.start()
    wait_until(lambda: bench.status()["counts"] == {}, what="the first try")
    bench.wait_for_state("waiting")
    retried = bench.drain.retry()
    wait_for_value(bench.parked, [(1, "db.bad", "rejected")], what="parking")
    time.sleep(0.3)
    assert not retried.done()
    assert bench.drain.skip(position=1).result(SECONDS).skipped == 1
    assert not retried.result(SECONDS).finished


def test_retry_of_a_paused_target_is_refused(faulty_drains):
    bench = refused(faulty_drains, 1)
    bench.drain.pause("x")
    with pytest.raises(PysyncError, match="is paused"):
        bench.drain.retry().result(SECONDS)


def test_skip_gives_up_one_event_and_lets_those_behind_it_go_on(faulty_drains):
    bench = refused(faulty_drains, 1)
    released = bench.drain.skip(position=2).result(SECONDS)
    assert (released.skipped, released.tried, released.left) == (1, 1, 0)
    assert (bench.parked(), bench.tables()) == ([], ["bad", "good"])


def test_skip_of_a_table_gives_up_all_of_it_and_later_events_are_applied(faulty_drains):
    bench = refused(faulty_drains, 1)
    released = bench.drain.skip(table="db.bad").result(SECONDS)
    assert (released.skipped, released.tried, released.left) == (2, 0, 0)
    assert bench.tables() == ["good"]
    bench.append(create("db.bad"))
    bench.finish()
    assert bench.tables() == ["bad", "good"]


def test_skip_of_a_paused_target_gives_up_and_tries_the_rest_later(faulty_drains):
    bench = refused(faulty_drains, 1)
    bench.drain.pause("x")
    released = bench.drain.skip(position=2).result(SECONDS)
    assert (released.skipped, released.left, released.finished) == (1, 1, False)


@pytest.mark.parametrize("what", [{"position": 3}, {"position": 99}, {"table": "db.good"}])
def test_skip_of_what_is_not_parked_is_refused(faulty_drains, what):
    bench = refused(faulty_drains, 1)
    with pytest.raises(PysyncError, match=r"is not parked|has no parked events"):
        bench.drain.skip(**what).result(SECONDS)
    assert len(bench.parked()) == 2


def test_parked_events_are_tried_again_in_time_by_themselves(faulty_drains):
    bench = refused(faulty_drains, 3, parked_retry_seconds=0.1)
    wait_until(lambda: bench.parked() == [], what="the retry")
    assert bench.tables() == ["bad", "good"]


def test_an_event_that_is_refused_again_and_again_is_counted_and_logged_once(faulty_drains):
    """It used to count every try: 8,000 for two events after a day."""
    with structlog.testing.capture_logs() as logs:
        bench = refused(faulty_drains, 10**6, parked_retry_seconds=0.05)
        wait_until(lambda: bench.queue.target(bench.name).parked.tables()[0].attempts > 3, what="some tries")
    assert bench.status()["counts"]["parked"] == 2
    assert [it["position"] for it in logs if it["event"] == "event_parked"] == [2]
    assert "refused db.bad" in bench.status()["last_error"]["reason"]


def test_what_comes_before_its_database_is_made_up_for_within_seconds(faulty_drains):
    """Two threads of a metastore may tell of a database and of its first table in either order."""
    bench = faulty_drains(parked_retry_seconds=300)
    bench.start()
    bench.append(create("db.early"))
    bench.finish()
    assert bench.parked() == [(1, "db.early", "rejected")]
    bench.append(create_database())
    wait_until(lambda: bench.parked() == [], what="the retry")
    assert bench.tables() == ["early"]


def test_without_a_time_parked_events_wait_for_a_person(faulty_drains):
    bench = refused(faulty_drains, 1, parked_retry_seconds=0)
    time.sleep(0.5)
    assert len(bench.parked()) == 2


def test_a_bug_is_tried_again_in_time_with_one_try(faulty_drains):
    bench = faulty_drains(
        faults=[{"kind": "bug", "tables": ["db.bad"], "times": 5}], parked_retry_seconds=0.1, retry_attempts=2
    )
    bench.append(create_database(), create("db.bad"))
    bench.start()
    wait_until(lambda: bench.tables() == ["bad"], what="the mend")
    wait_until(lambda: bench.parked() == [], what="the end of parking")


def test_what_waits_when_the_drain_stops_is_answered(faulty_drains):
    bench = refused(faulty_drains, 1)
    bench.stop()
    with pytest.raises(PysyncError, match="has stopped"):
        bench.drain.retry()
    bench.start()


def test_a_database_drop_behind_a_parked_table_goes_with_it(faulty_drains):
    bench = refused(faulty_drains, 1)
    bench.append(drop_database())
    bench.finish()
    assert (5, "db.*", "waits") in bench.parked()
    assert bench.drain.retry("db.bad").result(SECONDS).left == 0
    assert bench.target.database("db") is None
