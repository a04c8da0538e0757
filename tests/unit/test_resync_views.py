"""Views that read a table which was redefined: the job has them read anew, and a stop or a kill loses none of them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.model.names import TableName
from pysync.resync import views
from pysync.resync.views import Redefined
from pysync.targets.base import Unavailable
from pysync.targets.source_hive import SourceHive
from tests.support.queues import Reopener
from tests.support.refreshing import Hms
from tests.support.resyncs import Bench, source_with_views

ORDERS, VISITS = TableName("sales", "orders"), TableName("web", "visits")


@pytest.fixture
def source() -> Hms:
    return source_with_views()


@pytest.mark.parametrize(
    ("values", "redefined", "asked"),
    [
        ({}, [ORDERS], ["sales.recent", "web.both"]),
        ({"exclude": ("web",)}, [ORDERS], ["sales.recent"]),
        ({"databases": {"sales": "dr_sales"}}, [ORDERS], []),
        ({"databases": {"sales": "dr_sales"}}, [TableName("dr_sales", "orders")], ["sales.recent", "web.both"]),
        ({"tables": {"web.visits": "dr_web.seen"}}, [TableName("dr_web", "seen")], ["web.both", "web.only"]),
        ({"views": "off"}, [ORDERS], []),
        ({"mode": "shadow"}, [ORDERS], []),
    ],
)
def test_the_views_that_read_a_redefined_table_are_asked_for(
    reopen: Reopener, source: Hms, values: dict[str, Any], redefined: list[TableName], asked: list[str]
) -> None:
    bench = Bench(reopen(), source, **values)
    bench.redefine(*redefined)
    assert bench.turn(2.0) == asked
    assert bench.turn(2.0) == []


def test_a_burst_is_awaited_but_not_for_ever(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source)
    for _ in range(29):
        bench.redefine(ORDERS)
        assert bench.turn(1.0) == []
    bench.redefine(ORDERS)
    assert bench.turn(1.0) == ["sales.recent", "web.both"]


def test_a_table_that_is_being_written_stays_due(reopen: Reopener, source: Hms) -> None:
    """A refresh that is read before the write ends may see the old columns, so the views are refreshed after it."""
    bench = Bench(reopen(), source)
    with bench.resyncs.views.redefining([ORDERS]):
        assert bench.turn(29.0) == []
        assert bench.turn(1.0) == ["sales.recent", "web.both"]
        assert bench.row("views")["upto"] is None
    assert bench.turn(1.0) == []
    assert bench.turn(1.0) == ["sales.recent", "web.both"]
    assert bench.turn(2.0) == []
    assert bench.row("views")["state"] == "finished"


def test_a_write_that_fails_counts_as_one(reopen: Reopener, source: Hms) -> None:
    """It may have been carried out."""
    bench = Bench(reopen(), source)
    with pytest.raises(OSError, match="reset"), bench.resyncs.views.redefining([VISITS]):
        raise OSError("reset")
    assert bench.turn(2.0) == ["web.both", "web.only"]


def test_after_a_kill_all_views_are_refreshed(reopen: Reopener, source: Hms) -> None:
    """It is on disk before the write begins."""
    bench = Bench(reopen(), source)
    with bench.resyncs.views.redefining([ORDERS]):
        again = Bench(reopen(), source)
    assert again.turn(2.0) == ["sales.recent", "web.both", "web.only"]
    assert Bench(reopen(), source).turn(2.0) == []


def test_a_stop_in_between_leaves_them_due(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source)
    bench.redefine(ORDERS)
    bench.job.worker.stop()
    assert bench.turn(2.0) == ["sales.recent", "web.both"]
    assert Bench(reopen(), source).turn(2.0) == ["sales.recent", "web.both", "web.only"]


def test_a_queue_that_cannot_be_written_delays_the_write(
    reopen: Reopener, source: Hms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target waits then, as it does if its position cannot be written."""
    bench = Bench(reopen(), source)

    def full(*_: object) -> None:
        raise PysyncError("the disk is full", "make room")

    with monkeypatch.context() as patch:
        patch.setattr(type(bench.queue.target("lake").resyncs), "put", full)
        with pytest.raises(Unavailable, match="the disk is full"), bench.resyncs.views.redefining([ORDERS]):
            raise AssertionError("it is not on disk yet that views are due")
    bench.redefine(VISITS)
    assert bench.turn(2.0) == ["sales.recent", "web.both", "web.only"]


ALL_VIEWS = ["sales.recent", "web.both", "web.only"]


def test_a_version_of_hive_that_is_found_has_all_views_read_again_once(reopen: Reopener, source: Hms) -> None:
    bench, found = Bench(reopen(), source), [None, "2.3.10"]
    bench.settings.use_source_hive(SourceHive(found_version=lambda: found[-1]))
    assert [bench.turn(2.0), bench.turn(2.0)] == [ALL_VIEWS, []]
    assert bench.row("views")["scope"] == {"hive_version": "2.3"}
    found.append("2.3.9")
    assert bench.turn(2.0) == []
    found.append("3.1.3")
    assert [bench.turn(2.0), bench.turn(2.0)] == [ALL_VIEWS, []]


@pytest.mark.parametrize("values", [{"views": "off"}, {"mode": "shadow"}])
def test_where_no_view_is_translated_none_is_read_again(reopen: Reopener, source: Hms, values: dict[str, Any]) -> None:
    bench = Bench(reopen(), source, **values)
    bench.settings.use_source_hive(SourceHive("2.3"))
    assert bench.turn(2.0) == []


def test_views_that_another_sidecar_has_read_by_that_version_stay(reopen: Reopener, source: Hms) -> None:
    """Whether it was stopped or killed; and a table that is redefined meanwhile hides no change of the version."""
    for release, asked in (("2.3", ALL_VIEWS), ("2.3", []), ("3.1", ALL_VIEWS)):
        bench = Bench(reopen(), source)
        bench.settings.use_source_hive(SourceHive(release))
        assert bench.turn(2.0) == asked
        bench.redefine(VISITS)
        assert bench.turn(2.0) == ["web.both", "web.only"]
    bench.settings.use_source_hive(SourceHive("4"))
    bench.redefine(VISITS)
    assert [bench.turn(2.0), bench.turn(2.0)] == [ALL_VIEWS, []]


def test_a_kill_while_all_views_are_due_leaves_them_due(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source)
    bench.settings.use_source_hive(SourceHive("2.3"))
    assert bench.turn(0.0) == []  # it has begun, and waits for quiet
    again = Bench(reopen(), source)
    again.settings.use_source_hive(SourceHive("2.3"))
    assert [again.turn(2.0), again.turn(2.0)] == [ALL_VIEWS, []]


def test_very_many_tables_are_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_MOST", 2)
    found = Redefined()
    found.add([ORDERS, VISITS])
    assert (found.every, bool(found)) == (False, True)
    found.add([TableName("a", "b")])
    found.add([ORDERS])
    assert (found.every, found.tables) == (True, set())


def test_lanes_redefine_at_once(reopen: Reopener, source: Hms) -> None:
    """What a lane still writes does not become forgotten by what another has written."""
    bench = Bench(reopen(), source)
    begun, ends = threading.Barrier(9), threading.Event()

    def write(number: int) -> None:
        with bench.resyncs.views.redefining([ORDERS, TableName("other", f"t{number}")]):
            begun.wait(10)
            ends.wait(10)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    bench.redefine(ORDERS)
    assert bench.turn(2.0) == [], "they are being written"
    ends.set()
    for thread in threads:
        thread.join()
    assert bench.turn(2.0) == ["sales.recent", "web.both"]
