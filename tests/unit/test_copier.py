"""The copier by itself, with workers that answer from memory: the kind that each error becomes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pysync.copy.copier import Copier
from pysync.copy.requests import CopyRefused, Failed
from pysync.model.file_differences import Pair
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.settings import CopySettings

PAIR = Pair("file:/from/t", "file:/to/t")


class Answers:
    """Workers that answer every call as they are told."""

    def __init__(self, answer: Callable[[], str]) -> None:
        self._answer = answer
        self.calls = 0

    def call(self, _method: str, _request: str) -> str:
        self.calls += 1
        return self._answer()


def raising(error: Exception) -> Callable[[], str]:
    def answer() -> str:
        raise error

    return answer


@contextmanager
def copier(answer: Callable[[], str]) -> Iterator[tuple[Copier, Answers]]:
    workers = Answers(answer)
    made = Copier(workers, CopySettings(settle_seconds=0))
    try:
        yield made, workers
    finally:
        made.close()


def test_a_directory_that_is_the_same_is_not_copied() -> None:
    with copier(lambda: "") as (made, workers):
        assert made.copy([PAIR]).removed == 0
        assert workers.calls == 1, "one survey, and nothing else"


def test_a_bug_is_not_taken_for_a_copier_that_is_closed() -> None:
    with copier(raising(RuntimeError("a bug in a library"))) as (made, _), pytest.raises(RuntimeError, match="a bug"):
        made.copy([PAIR])


@pytest.mark.parametrize(
    ("error", "kind"),
    [(CopyRefused("not these"), Rejected), (Failed("no route"), Unavailable)],
    ids=["refused", "failed"],
)
def test_an_error_of_the_files_has_its_kind(error: Exception, kind: type[Exception]) -> None:
    with copier(raising(error)) as (made, _), pytest.raises(kind):
        made.survey([PAIR])


def test_a_closed_copier_is_unavailable() -> None:
    with copier(lambda: "") as (made, workers):
        made.close()
        with pytest.raises(Unavailable, match="cannot copy now"):
            made.copy([PAIR])
        assert workers.calls == 0


def test_what_waits_for_a_worker_is_unavailable_once_it_closes(tmp_path: Path) -> None:
    """A stop of the sidecar in the middle of a copy must not park the events that wait for it."""
    begun, end = threading.Event(), threading.Event()

    def answer() -> str:
        begun.set()
        assert end.wait(30), "the test has not let the worker go"
        return ""

    # More batches than workers, so that some are cancelled before they begin.
    many = [Pair(f"file:{tmp_path}/from/{number}", f"file:{tmp_path}/to/{number}") for number in range(1000)]
    found: list[BaseException] = []

    def copy() -> None:
        try:
            made.copy(many)
        except BaseException as error:
            found.append(error)

    with copier(answer) as (made, _):
        caller = threading.Thread(target=copy, daemon=True)
        caller.start()
        assert begun.wait(30)
        made.close()
        end.set()
        caller.join(30)
        assert not caller.is_alive(), "the thread waits for tasks that never run"
    assert [type(error) for error in found] == [Unavailable]
