"""Questions to places that may hang: whoever asks waits no longer than said, and no place gets ever more of them."""

from __future__ import annotations

import threading
import time

import pytest

from pysync.base.bounded import NoAnswer, Questions
from pysync.base.errors import PysyncError
from tests.support import wait_until

LONG = 60.0
SHORT = 0.05


def test_an_answer_or_an_error_comes_as_it_is() -> None:
    questions = Questions()
    assert questions.begin("dr", lambda: 7, LONG).answer() == 7

    def refused() -> int:
        raise PysyncError("no", "ask later")

    with pytest.raises(PysyncError, match="no; ask later"):
        questions.act("dr", refused, LONG)
    with pytest.raises(ZeroDivisionError):
        questions.begin("dr", lambda: 1 // 0, LONG).answer()


def test_who_asks_a_place_that_hangs_waits_no_longer_than_said() -> None:
    questions, goes_on, done = Questions(), threading.Event(), list[int]()
    began = time.monotonic()
    with pytest.raises(NoAnswer, match=r"^dr did not answer within 0.05 s$"):
        questions.begin("dr", lambda: goes_on.wait(LONG), SHORT).answer()
    with pytest.raises(NoAnswer, match=r"^dr did not answer within 0.05 s; it may still do what was begun$"):
        questions.act("dr", lambda: goes_on.wait(LONG) and done.append(1), SHORT)
    assert time.monotonic() - began < LONG / 2
    goes_on.set()
    wait_until(lambda: done == [1], what="the end of what was begun")


def test_a_place_that_owes_four_answers_is_asked_again_when_it_gave_one() -> None:
    questions, goes_on, asked = Questions(), threading.Event(), list[int]()

    def hangs() -> None:
        asked.append(1)
        goes_on.wait(LONG)

    for _ in range(20):
        with pytest.raises(NoAnswer):
            questions.begin("dr", hangs, SHORT).answer()
    assert len(asked) == 4
    assert questions.begin("other", lambda: 7, LONG).answer() == 7
    goes_on.set()

    def answers() -> bool:
        try:
            return questions.begin("dr", lambda: True, LONG).answer()
        except NoAnswer:
            return False

    wait_until(answers, what="an answer of the place that goes on")
