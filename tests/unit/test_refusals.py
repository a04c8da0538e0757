"""A flood of refused callers is counted whole, and a line or two of the log."""

from __future__ import annotations

import threading

import structlog

from pysync.capture.callers import Refusals


def test_a_flood_is_one_line_and_then_its_number() -> None:
    refusals = Refusals(clock=lambda: 7.0)
    with structlog.testing.capture_logs() as lines:
        threads = [
            threading.Thread(target=lambda: [refusals.add("no greeting") for _ in range(5000)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        refusals.log_repeated()
    assert refusals.total == 20_000
    assert refusals.last_at == 7.0
    assert [(line["event"], line["reason"], line.get("more")) for line in lines] == [
        ("caller_refused", "no greeting", None),
        ("caller_refused", "no greeting", 19_999),
    ]
    assert lines[-1]["refused"] == 20_000


def test_another_reason_has_its_own_line() -> None:
    refusals = Refusals()
    with structlog.testing.capture_logs() as lines:
        for reason in ("no greeting", "wrong token", "no greeting"):
            refusals.add(reason)
    assert [line["reason"] for line in lines] == ["no greeting", "wrong token"]


def test_while_it_goes_on_only_the_number_is_told_and_after_a_calm_the_first_again() -> None:
    refusals = Refusals()

    def lines_of(refused: int, *, tell: bool) -> list[int | None]:
        with structlog.testing.capture_logs() as lines:
            for _ in range(refused):
                refusals.add("x")
            if tell:
                refusals.log_repeated()
        return [line.get("more") for line in lines]

    assert lines_of(3, tell=True) == [None, 2]
    assert lines_of(4, tell=True) == [4]
    assert lines_of(0, tell=True) == []
    assert lines_of(1, tell=False) == [None]


def test_nothing_refused_is_nothing_told() -> None:
    refusals = Refusals()
    with structlog.testing.capture_logs() as lines:
        refusals.log_repeated()
    assert (lines, refusals.total, refusals.last_at) == ([], 0, None)
