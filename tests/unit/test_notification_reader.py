"""Reading a notification log: every row once, whatever pages, ids that are given twice, and what the log forgets."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from unittest.mock import ANY, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.capture.notifications import NewRows, Position, begin, read, reader
from pysync.capture.notifications.reader import LOOK_BACK
from pysync.metastore.errors import AnswerTooLarge, MetastoreCallFailed
from tests.support.notifications import MemoryLog, row


def step(log: MemoryLog, position: Position, page: int = 500) -> NewRows:
    return read(log, position, log.current(), page)


def read_all(log: MemoryLog, position: Position, page: int = 500) -> tuple[list[int], Position, list[str]]:
    """The ids of all that is fresh, the position after them, and the gaps."""
    ids, gaps, more = [], [], True
    while more:
        batch = step(log, position, page)
        ids += [found.id for found in batch.fresh]
        gaps += [batch.gap] if batch.gap else []
        position, more = batch.after, batch.more
    return ids, position, gaps


def test_a_large_message_is_not_copied_to_be_recognized():
    """Before: six times its size, where it has an emoji."""
    large = row(1, message="\U0001f600" + "x" * (4 << 20))
    tracemalloc.start()
    try:
        assert len(large.digest) == 16
        assert tracemalloc.get_traced_memory()[1] < len(large.message) // 4
    finally:
        tracemalloc.stop()


def test_rows_are_recognized_as_by_earlier_versions():
    assert replace(row(7, "é"), database=None, message=b"{}").digest == "c419cb7fd99b6470"


def rows(*ids: int) -> list:
    return [row(number) for number in ids]


@pytest.mark.parametrize("page", [1, 2, 3, 5])
def test_more_rows_than_a_page_may_share_an_id(page):
    log = MemoryLog([row(1), *(row(2, what) for what in "abcdefg"), row(3)])
    assert read_all(log, Position(0), page)[0] == [1, *[2] * 7, 3]


def test_a_late_twin_is_found_though_the_current_id_went_back():
    """Hive 2.3 writes the next id without a lock: a long transaction sets it back to what it had read."""
    log = MemoryLog(rows(1, 2, 3, 4, 5))
    _, position, _ = read_all(log, Position(0))
    log.rows += [row(2, "late")]
    log.newest = 2
    ids, position, gaps = read_all(log, position)
    assert (ids, gaps, position.last) == ([2], [], 5)
    log.rows += [row(3, "again"), row(4, "again")]
    log.newest = 4
    assert read_all(log, position)[0] == [3, 4]


def test_what_was_in_the_log_at_the_first_start_is_not_fresh():
    log = MemoryLog(rows(*range(1, 300)))
    position = begin(log)
    assert position.last == 299
    assert read_all(log, position) == ([], position, [])
    log.rows += [row(299, "late"), row(300)]
    assert read_all(log, position)[0] == [299, 300]


def test_a_row_that_came_while_the_first_start_looked_is_fresh():
    log = MemoryLog(rows(1, 2, 3))
    log.newest = 2
    position = begin(log)
    log.newest = None
    assert read_all(log, position)[0] == [3]


def test_a_log_that_has_forgotten_everything_is_a_gap_once():
    log = MemoryLog(rows(1, 2, 3))
    _, position, _ = read_all(log, Position(0))
    log.rows, log.newest = [], 9
    ids, position, (gap,) = read_all(log, position)
    assert (ids, position.last) == ([], 9)
    assert "4 to 9" in gap
    assert read_all(log, position)[2] == []


def test_a_hole_in_the_middle_is_a_gap():
    assert "no longer holds notification 3:" in read_all(MemoryLog(rows(1, 2, 4)), Position(0))[2][0]


def test_what_fills_a_hole_later_is_taken_all_the_same():
    log = MemoryLog(rows(1, 2, 4))
    ids, position, (gap,) = read_all(log, Position(0))
    assert (ids, "notification 3:" in gap) == ([1, 2, 4], True)
    log.rows += rows(3, 5)
    assert read_all(log, position)[::2] == ([3, 5], [])


@pytest.mark.parametrize("page", [1, 2, 3, 7, 50])
def test_what_was_seen_is_not_kept_in_memory_again_by_pages_that_are_small(page):
    log = MemoryLog(rows(*range(1, 120)))
    _, position, _ = read_all(log, Position(0))
    log.rows += rows(120)
    log.asked.clear()
    assert read_all(log, position, page)[0] == [120]
    assert {limit for _, limit in log.asked} <= {page, 2 * page}, "it asked for more and more at once"


class LogOfLargeRows(MemoryLog):
    """Its answers have at most as many bytes of messages as `MOST`."""

    MOST = 1_000

    def after(self, id, limit=500):  # noqa: A002
        rows = super().after(id, limit)
        if sum(len(it.message) for it in rows) > self.MOST:
            raise AnswerTooLarge("the answer is too large")
        return rows


def test_pages_that_are_too_large_are_read_in_parts():
    log = LogOfLargeRows([row(number, message="x" * 200) for number in range(1, 250)])
    assert read_all(log, Position(0)) == (list(range(1, 250)), ANY, [])
    assert begin(log).last == 249


def test_one_row_that_is_too_large_is_a_gap_and_all_others_are_read():
    log = LogOfLargeRows([row(number, message="x" * (2_000 if number == 100 else 9)) for number in range(1, 250)])
    ids, position, gaps = read_all(log, Position(0))
    assert ids == [number for number in range(1, 250) if number != 100]
    assert [gap.partition(":")[0] for gap in gaps] == ["the notification log no longer holds notification 100"]
    assert read_all(log, position) == ([], position, [])
    assert begin(log).last == 249


class LogWithRowThatCannotBeSent(MemoryLog):
    """Hive closes the connection where an answer would have a row without a message; `is_away` where it would any."""

    is_away = False

    def after(self, id, limit=500):  # noqa: A002
        rows = super().after(id, limit)
        if self.is_away or any(not it.message for it in rows):
            raise MetastoreCallFailed("the metastore closed the connection")
        return rows


def test_one_row_that_cannot_be_sent_is_a_gap_and_all_others_are_read():
    """Before: nothing behind it was ever read."""
    log = LogWithRowThatCannotBeSent([row(number, message="" if number == 100 else "{}") for number in range(1, 250)])
    with pytest.raises(MetastoreCallFailed):
        read_all(log, Position(0))  # the poller tries again with smaller pages
    ids, position, gaps = read_all(log, Position(0), 1)
    assert ids == [number for number in range(1, 250) if number != 100]
    assert [gap.partition(":")[0] for gap in gaps] == ["the notification log no longer holds notification 100"]
    assert read_all(log, position, 1) == ([], position, [])
    log.is_away = True
    with pytest.raises(MetastoreCallFailed):
        read_all(log, Position(0), 1)


def test_a_log_that_has_forgotten_only_what_was_read_has_no_gap():
    log = MemoryLog(rows(*range(1, 11)))
    _, position, _ = read_all(log, Position(0))
    log.rows = rows(9, 10, 11)
    assert read_all(log, position)[::2] == ([11], [])
    log.rows = rows(11)
    assert read_all(log, position)[::2] == ([11], [])


def test_a_log_that_was_begun_anew_is_a_gap_and_taken_up_where_it_is():
    log = MemoryLog(rows(*range(1, 400)))
    _, position, _ = read_all(log, Position(0))
    log.rows = [row(number, "new") for number in range(1, 6)]
    ids, position, gaps = read_all(log, position)
    assert (ids, position.last) == ([], 5)
    assert gaps == ["the notification log was reset: its newest id is 5, but pysync has read up to id 399"]
    log.rows.append(row(6, "new"))
    assert read_all(log, position)[::2] == ([6], [])


@pytest.mark.parametrize("length", [20, 30, 31, 60, 500])
def test_a_log_that_was_begun_anew_shows_by_its_rows_though_its_ids_have_come_as_far(length):
    log = MemoryLog(rows(*range(1, 31)))
    _, position, _ = read_all(log, Position(0))
    log.rows = [row(number, "new") for number in range(1, length + 1)]
    ids, position, gaps = read_all(log, position)
    assert (ids, position.last) == ([], length)
    assert gaps == ["the notification log was reset: its events up to id 30 are not those that pysync has read"]


def test_a_log_that_is_empty_again_is_a_gap():
    log = MemoryLog(rows(1, 2))
    _, position, _ = read_all(log, Position(0))
    log.rows = []
    _, position, (gap,) = read_all(log, position)
    assert (position, "its newest id is 0, but pysync has read up to id 2" in gap) == (Position(0), True)


def test_a_position_is_small_and_comes_back_from_its_text():
    log = MemoryLog(rows(*range(1, 1000)))
    _, position, _ = read_all(log, Position(0))
    assert len(position.seen) == LOOK_BACK
    assert Position.from_json(position.to_json()) == position
    assert len(position.to_json()) < 50 * LOOK_BACK


@pytest.mark.parametrize("text", ["", "7", "{}", '{"last":1}', '{"last":"x","seen":[]}', '{"last":1,"seen":[7]}', "[]"])
def test_what_is_no_position_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        Position.from_json(text)


def test_a_scan_gives_each_row_once_whatever_the_page():
    log = MemoryLog([*(row(number) for number in range(1, 6)), *(row(3, what) for what in "abcd")])
    for page in (1, 2, 3, 9, 10):
        found = list(log.scan(1, page))
        assert [item.id for item in found] == [2, 3, 3, 3, 3, 3, 4, 5], f"pages of {page}"
        assert len({(item.id, item.table) for item in found}) == 8


# --- any history


_STEPS = st.lists(
    st.one_of(
        st.just(("commit", 0)),
        st.tuples(st.just("twin"), st.integers(0, 6)),
        st.tuples(st.just("set back"), st.integers(0, 6)),
        st.tuples(st.just("read"), st.integers(1, 9)),
        st.tuples(st.just("crash"), st.integers(1, 9)),
    ),
    max_size=60,
)


class _History:
    """A log as Hive 2.3 writes it, and a reader that is stopped between taking rows and keeping its position."""

    def __init__(self) -> None:
        self.log = MemoryLog(newest=0)
        self.kept = Position(0)
        self.taken: list = []
        self.gaps: list[str] = []
        self._named = 0

    def commit(self, _: int = 0) -> None:
        self._write(self.log.current() + 1)
        self.log.newest = self.log.current() + 1

    def twin(self, back: int) -> None:
        """An event whose transaction had read the next id `back` events ago; a later one has set it right again."""
        if self.log.current() > 0:
            self._write(max(1, self.log.current() - back, self._highest() - 30))

    def set_back(self, back: int) -> None:
        """The same, and the next id is what it made of it: later events use ids again."""
        if self.log.current() > 0:
            number = max(1, self.log.current() - back, self._highest() - 30)  # the look-back of this test is 40
            self._write(number)
            self.log.newest = number

    def read(self, page: int) -> None:
        self.crash(page)
        self.kept = self._after

    def crash(self, page: int) -> None:
        batch = step(self.log, self.kept, page)
        self.taken += batch.fresh
        self.gaps += [batch.gap] if batch.gap else []
        self._after, self._more = batch.after, batch.more

    def finish(self) -> None:
        self._more = True
        while self._more:
            self.read(4)

    def _highest(self) -> int:
        return max((found.id for found in self.log.rows), default=0)

    def _write(self, number: int) -> None:
        self._named += 1
        self.log.rows.append(row(number, f"_{self._named}"))


@settings(deadline=None)
@given(_STEPS)
def test_every_row_comes_at_least_once_and_in_order_whatever_happens(steps):
    with patch.object(reader, "LOOK_BACK", 40):
        history = _History()
        for what, number in steps:
            getattr(history, what.replace(" ", "_"))(number)
        history.finish()
    first: dict = {}
    for at, found in enumerate(history.taken):
        first.setdefault((found.id, found.table), at)
    written = [(found.id, found.table) for found in history.log.rows]
    assert set(written) == first.keys(), "rows were lost"
    assert history.gaps == []
    for at, one in enumerate(written):
        for other in written[at + 1 :]:
            assert one[0] >= other[0] or first[one] < first[other], (
                f"{one} was committed before {other}, and read after"
            )


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 9))
def test_a_gap_is_found_exactly_when_rows_were_forgotten_unread(read_up_to, forgotten_up_to, page):
    log = MemoryLog(rows(*range(1, read_up_to + 1)))
    _, position, _ = read_all(log, Position(0))
    log.rows = rows(*range(forgotten_up_to + 1, 32))
    ids, _, gaps = read_all(log, position, page)
    assert ids == list(range(max(read_up_to, forgotten_up_to) + 1, 32))
    assert bool(gaps) == (forgotten_up_to > read_up_to)
