"""Ids of the notification log that are costly to read are read again seldom, and nothing that shares one is missed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from pysync.capture.notifications import Notification, Poller, look_back
from pysync.capture.notifications.look_back import SETTLE_SECONDS
from pysync.capture.notifications.reader import LOOK_BACK
from pysync.metastore.errors import AnswerTooLarge, MetastoreCallFailed
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from tests.support.notifications import MemoryLog, row

LONG = 100_000
BEFORE = 30
"""The first ids, among which is the heavy one."""


class HeavyLog(MemoryLog):
    """Row 20 is `heavy`: long, too large for an answer, or such that the metastore closes the connection."""

    def __init__(self, heavy: str) -> None:
        super().__init__(map(row, range(1, BEFORE + 1)))
        self.heavy = heavy
        if heavy == "long":
            self.rows[19] = row(20, "x" * LONG)
        self.reads = 0
        """Answers that had it, or would have had."""

    def after(self, id: int, limit: int = 500) -> list[Notification]:  # noqa: A002
        rows = super().after(id, limit)
        if any(it.id == 20 for it in rows):
            self.reads += 1
            if self.heavy == "too large":
                raise AnswerTooLarge("the answer is too large")
            if self.heavy == "cannot be sent":
                raise MetastoreCallFailed("the metastore closed the connection")
        return rows


class Stand:
    """A poller of such a log whose turns are taken by hand, each a second after the other."""

    def __init__(self, directory: Path, heavy: str) -> None:
        self.seconds = 1000.0
        self.queue = EventQueue(directory, min_free_bytes=0)
        self.queue.target("dr").register()
        self.queue.notes.put("notification-log:onprem", '{"last":0,"seen":[]}')
        self.log = HeavyLog(heavy)
        self.poller = Poller(self.queue, "onprem", "thrift://nowhere", lambda _: None)

    def turn(self, seconds: float = 1.0) -> None:
        self.seconds += seconds
        retrying = Retrying(
            retry=retry_if_exception_type(MetastoreCallFailed),
            before_sleep=self.poller._waits,
            sleep=lambda _: None,
            stop=stop_after_attempt(9),
        )
        while retrying(self.poller._turn, self.log):
            pass

    def commit(self, what: str = "", number: int = 0) -> None:
        """A row of this id, or of the next."""
        self.log.rows.append(row(number or self.log.current() + 1, what))

    def taken(self) -> list[int | None]:
        return [decode_event(it.data).notification_id for it in self.queue.target("dr").window(10_000, 10**9)]


@pytest.fixture(params=["long", "too large", "cannot be sent"])
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Stand]:
    stand = Stand(tmp_path, request.param)
    monkeypatch.setattr(look_back, "_COSTLY_BYTES", LONG)
    monkeypatch.setattr("time.monotonic", lambda: stand.seconds)
    stand.turn()
    assert stand.taken() == [it for it in range(1, BEFORE + 1) if request.param == "long" or it != 20]
    yield stand
    stand.queue.close()


def test_a_costly_row_is_read_again_once_a_minute(stand: Stand) -> None:
    """Before: at each turn for as long as it is among the last ids, and a minute longer."""
    first = stand.log.reads
    for _ in range(int(SETTLE_SECONDS) - 1):
        stand.commit()
        stand.turn()
    times, stand.log.reads = stand.log.reads - first, 0
    assert times <= 10, "once after half of the last ids, with the pages that are too large"
    assert len(stand.taken()) == len(stand.log.rows) - (stand.log.heavy != "long")
    for _ in range(10):
        stand.turn(SETTLE_SECONDS)
    assert stand.log.reads <= 10
    times = stand.log.reads
    stand.turn(SETTLE_SECONDS)
    assert stand.log.reads == times, "a quiet log is not read again"


def test_what_shares_an_id_is_taken_a_minute_later(stand: Stand) -> None:
    stand.commit("late", number=5)
    for _ in range(int(SETTLE_SECONDS) - 1):
        stand.turn()
    assert stand.taken().count(5) == 1
    stand.turn()
    assert stand.taken().count(5) == 2


def test_what_shares_an_id_is_taken_before_too_many_others_have_come(stand: Stand) -> None:
    stand.commit("late", number=5)
    for _ in range(LOOK_BACK // 2):
        stand.commit()
    stand.turn()
    assert stand.taken().count(5) == 1
    stand.commit()
    stand.turn()
    assert stand.taken().count(5) == 2


def test_who_waits_for_all_that_is_in_the_log_has_it_at_once(stand: Stand) -> None:
    began = stand.seconds
    stand.commit("late", number=5)
    stand.turn()
    assert not stand.poller.has_read(began + 1.0), "it did not look back"
    call = stand.poller.begin_call()
    assert stand.poller.caught_up() < call
    stand.turn()
    assert stand.taken().count(5) == 2
    assert stand.poller.caught_up() >= call
    assert stand.poller.has_read(began + 1.0)


def test_what_was_complete_stays_so_when_an_event_comes(stand: Stand) -> None:
    stand.turn(SETTLE_SECONDS)
    before = stand.seconds
    stand.turn()
    call = stand.poller.caught_up()
    assert stand.poller.has_read(before)
    stand.commit()
    stand.turn()
    assert stand.poller.has_read(before)
    assert stand.poller.caught_up() >= call


def test_a_log_that_was_begun_again_is_noticed_without_looking_back(stand: Stand) -> None:
    gaps: list[str] = []
    stand.poller._on_gap = gaps.append
    stand.log.heavy, stand.log.rows = "", [row(it, "new") for it in range(1, BEFORE + 9)]
    stand.turn()
    assert ["was reset" in it for it in gaps] == [True]


def test_a_log_whose_newest_id_went_back_is_no_other(stand: Stand) -> None:
    gaps: list[str] = []
    stand.poller._on_gap = gaps.append
    stand.commit("late", number=25)
    stand.log.newest = 25
    stand.turn()
    assert (gaps, stand.taken().count(25)) == ([], 2)
