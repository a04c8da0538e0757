"""Bounded: questions to places outside pysync, answered within the time that somebody waits, even if a place hangs."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from pysync.base.errors import PysyncError

_MOST_OVERDUE = 4

T = TypeVar("T")


class NoAnswer(PysyncError):
    """A place did not answer in time, or was not asked as it owes too many answers."""


class Questions:
    """Asks places, from any thread. Each question has a thread of its own, as a call may hang for minutes.

    A place that owes four answers is not asked again before it gives one: its threads and connections are bounded.
    """

    def __init__(self) -> None:
        self._overdue: Counter[str] = Counter()
        self._lock = threading.Lock()

    def begin(self, place: str, job: Callable[[], T], seconds: float) -> OpenQuestion[T]:
        """Begin to ask a place, for so many seconds from now on."""
        question: OpenQuestion[T] = OpenQuestion(self, place, seconds, time.monotonic() + seconds, Future())
        with self._lock:
            is_asked = self._overdue[place] < _MOST_OVERDUE
        if is_asked:
            threading.Thread(target=question.run, args=(job,), name=f"ask {place}", daemon=True).start()
        else:
            question.future.set_exception(
                NoAnswer(f"{place} does not answer: {_MOST_OVERDUE} earlier requests wait for it")
            )
        return question

    def act(self, place: str, job: Callable[[], T], seconds: float) -> T:
        """What `job` returns or raises, which changes something. Raises NoAnswer after so many seconds."""
        return self.begin(place, job, seconds).answer("it may still do what was begun")

    def count(self, place: str, overdue: int) -> None:
        """So many more answers of a place are overdue."""
        with self._lock:
            self._overdue[place] += overdue


@dataclass(frozen=True, slots=True)
class OpenQuestion(Generic[T]):
    """A question that is under way; `until` is a time of the monotonic clock."""

    questions: Questions
    place: str
    seconds: float
    until: float
    future: Future[T]

    def run(self, job: Callable[[], T]) -> None:
        """Do the job, in a thread of its own."""
        try:
            self.future.set_result(job())
        except BaseException as error:  # noqa: BLE001 - whoever asked gets it
            self.future.set_exception(error)

    @property
    def is_over(self) -> bool:
        """Whether `answer` waits no more: it is there, or the time is over."""
        return self.future.done() or time.monotonic() >= self.until

    def answer(self, hint: str | None = None) -> T:
        """What the job returns or raises. Raises NoAnswer, with this hint, when the time is over."""
        wait([self.future], max(0.0, self.until - time.monotonic()))
        if not self.future.done():
            self.questions.count(self.place, 1)
            self.future.add_done_callback(lambda _: self.questions.count(self.place, -1))
            raise NoAnswer(f"{self.place} did not answer within {self.seconds:g} s", hint)
        return self.future.result()
