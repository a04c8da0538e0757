"""When a table at the target gets other columns, the views that read it are refreshed, whatever dies in between."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from pysync.base.errors import PysyncError
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from pysync.replay.window.translate import Translator
from pysync.resync import view_refreshes
from pysync.resync.refreshes import Refreshes
from pysync.resync.view_refreshes import Redefined, ViewRefreshes
from pysync.targets.base import Unavailable
from pysync.targets.glue.settings import GlueSettings
from tests.support.queues import Reopener
from tests.support.refreshing import Hms

ORDERS, VISITS = TableName("sales", "orders"), TableName("web", "visits")


@pytest.fixture
def source() -> Hms:
    found = Hms("sales.orders", "web.visits")
    view(found, "sales.recent", "select `id` from `sales`.`orders`")
    view(found, "web.both", "select 1 from web.visits, Sales.Orders")
    view(found, "web.only", "select 1 from visits")
    return found


def view(source: Hms, name: str, text: str) -> None:
    made = source.add(name)
    made.tableType, made.viewExpandedText = "VIRTUAL_VIEW", text


class Bench:
    """The worker of a target, whose clock stands still until it is set, and the queue that it writes to."""

    def __init__(self, queue: EventQueue, source: Hms | None, **values: Any) -> None:
        self.now = 1000.0
        self.queue = queue
        queue.target("lake").register()
        settings = GlueSettings(name="lake", kind="glue", region="eu-west-1", **values)
        self.views = ViewRefreshes(
            queue,
            Refreshes(queue, "demo"),
            settings,
            Translator.of(settings),
            source=None if source is None else lambda: source,
            tables_per_second=1e9,
            clock=lambda: self.now,
        )

    def redefine(self, *names: TableName) -> None:
        with self.views.redefining(names):
            pass

    def turn(self, after: float = 2.0) -> list[str]:
        """What has been asked for since the last look, `after` seconds later."""
        self.now += after
        self.views.turn()
        found = [decode_event(it.data).attributes for it in self.queue.target("lake").window(1000, 10**9)]
        assert all(it["targets"] == "lake" for it in found)
        self.queue.target("lake").advance(self.queue.last)
        return [f"{it['database']}.{it['table']}" for it in found]


def test_the_views_that_read_a_redefined_table_are_refreshed(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source)
    bench.redefine(ORDERS)
    with capture_logs() as logs:
        assert bench.turn() == ["sales.recent", "web.both"]
    assert [(it["event"], it["target"], it["views"]) for it in logs] == [("view_refreshes_queued", "lake", 2)]
    assert bench.turn() == []


def test_nothing_is_read_while_no_table_was_redefined(reopen: Reopener) -> None:
    class Silent(Hms):
        def databases(self) -> list[str]:
            raise AssertionError("nothing is due")

    assert Bench(reopen(), Silent()).turn() == []


def test_tables_are_redefined_by_their_names_at_the_target(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, databases={"sales": "dr_sales"}, tables={"web.visits": "dr_web.seen"})
    bench.redefine(ORDERS, VISITS)
    assert bench.turn() == []
    bench.redefine(TableName("dr_sales", "orders"))
    assert bench.turn() == ["sales.recent", "web.both"]
    bench.redefine(TableName("dr_web", "seen"))
    assert bench.turn() == ["web.both", "web.only"]


def test_views_out_of_scope_are_left_alone(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, exclude=("web",))
    bench.redefine(ORDERS)
    assert bench.turn() == ["sales.recent"]


def test_a_burst_is_awaited_but_not_for_ever(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source)
    for _ in range(29):
        bench.redefine(ORDERS)
        assert bench.turn(after=1.0) == []
    bench.redefine(ORDERS)
    assert bench.turn(after=1.0) == ["sales.recent", "web.both"]


def test_a_table_that_is_being_written_stays_due(reopen: Reopener, source: Hms) -> None:
    """A refresh that is read before the write ends may see the old columns, so the views are refreshed after it."""
    bench = Bench(reopen(), source)
    with bench.views.redefining([ORDERS]):
        assert bench.turn() == ["sales.recent", "web.both"]
        assert bench.views._noted
    assert bench.turn(after=1.0) == []
    assert bench.turn(after=1.0) == ["sales.recent", "web.both"]
    assert bench.turn() == []
    assert not bench.views._noted


def test_a_write_that_fails_counts_as_one(reopen: Reopener, source: Hms) -> None:
    """It may have been carried out."""
    bench = Bench(reopen(), source)
    with pytest.raises(OSError, match="reset"), bench.views.redefining([VISITS]):
        raise OSError("reset")
    assert bench.turn() == ["web.both", "web.only"]


def test_after_a_kill_all_views_are_refreshed(reopen: Reopener, source: Hms) -> None:
    """It is on disk before the write begins."""
    bench = Bench(reopen(), source)
    with bench.views.redefining([ORDERS]):
        again = Bench(reopen(), source)
    assert again.turn() == ["sales.recent", "web.both", "web.only"]
    assert Bench(reopen(), source).turn() == []


def test_a_source_that_is_away_is_asked_again(reopen: Reopener, source: Hms) -> None:
    class Away(Hms):
        def databases(self) -> list[str]:
            raise PysyncError("away")

    bench = Bench(reopen(), Away())
    bench.redefine(ORDERS)
    with pytest.raises(PysyncError, match="away"):
        bench.turn()
    bench.views._source = lambda: source
    assert bench.turn() == ["sales.recent", "web.both"]


def test_a_stop_in_between_leaves_them_due(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source)
    bench.redefine(ORDERS)
    bench.views.worker.stop()
    assert bench.turn() == ["sales.recent", "web.both"]
    assert Bench(reopen(), source).turn() == ["sales.recent", "web.both", "web.only"]


def test_a_queue_that_cannot_be_written_delays_the_write(
    reopen: Reopener, source: Hms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target waits then, as it does if its position cannot be written."""
    bench = Bench(reopen(), source)

    def full(*_: object) -> None:
        raise PysyncError("the disk is full", "make room")

    with monkeypatch.context() as patch:
        patch.setattr(type(bench.queue.notes), "put", full)
        with pytest.raises(Unavailable, match="the disk is full"), bench.views.redefining([ORDERS]):
            raise AssertionError("it is not on disk yet that views are due")
    bench.redefine(VISITS)
    assert bench.turn() == ["sales.recent", "web.both", "web.only"]


@pytest.mark.parametrize("values", [{"views": "off"}, {"mode": "shadow"}])
def test_where_nothing_is_translated_nothing_is_noted(
    tmp_path: Path, reopen: Reopener, source: Hms, values: dict[str, Any]
) -> None:
    bench = Bench(reopen(), source, **values)
    bench.redefine(ORDERS)
    assert bench.turn() == []
    bench.views.start()
    assert not bench.views.worker.started


def test_it_runs_where_the_source_is_known(reopen: Reopener, source: Hms) -> None:
    unknown, known = Bench(reopen(), None), Bench(reopen(), source)
    unknown.views.start()
    known.views.start()
    known.views.worker.stop()
    known.views.worker.join(10)
    assert (unknown.views.worker.started, known.views.worker.started) == (False, True)


def test_very_many_tables_are_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_refreshes, "_MOST", 2)
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
        with bench.views.redefining([ORDERS, TableName("other", f"t{number}")]):
            begun.wait(10)
            ends.wait(10)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    with bench.views.redefining([ORDERS]):
        pass
    assert len(bench.views._writing) == 9
    ends.set()
    for thread in threads:
        thread.join()
    assert not bench.views._writing
    assert bench.turn() == ["sales.recent", "web.both"]
