"""Moment: an answer is found once for all who ask within a moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from pysync.base.moment import Moment


def test_it_is_found_again_only_when_it_is_old() -> None:
    now, numbers = [0.0], count()
    made = Moment(lambda: next(numbers), 1.0, clock=lambda: now[0])
    assert [made(), made()] == [0, 0]
    now[0] = 0.99
    assert made() == 0
    now[0] = 1.0
    assert made() == 1


def test_many_who_ask_at_once_have_it_found_once() -> None:
    numbers = count()
    made = Moment(lambda: next(numbers), 1000.0)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: made(), range(200))) == {0}


def test_an_error_is_not_kept() -> None:
    answers = iter([OSError("away"), 7])

    def find() -> int:
        found = next(answers)
        if isinstance(found, OSError):
            raise found
        return found

    made = Moment(find, 1000.0)
    with pytest.raises(OSError, match="away"):
        made()
    assert made() == 7
