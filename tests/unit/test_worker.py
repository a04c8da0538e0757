"""Worker: a thread that never dies silently, and tells how it fares."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import pytest
import structlog

from pysync.base.errors import PysyncError
from pysync.queue import QueueClosed
from pysync.worker import Finished, Worker
from tests.support import wait_until


class Job:
    """Turns that do what `next` says, one after the other; counts them."""

    def __init__(self) -> None:
        self.turns = 0
        self.does: Callable[[], object] = lambda: None
        self.errors: list[tuple[str, str]] = []
        self.ended = threading.Event()
        self.worker = Worker(
            "job",
            self._turn,
            every=0.001,
            retry=0.001,
            failed=lambda state, reason: self.errors.append((str(state), reason)),
            ended=self.ended.set,
        )

    def _turn(self) -> None:
        self.turns += 1
        self.does()
        self.worker.succeeded()

    def more(self, turns: int = 3) -> None:
        before = self.turns
        wait_until(lambda: self.turns > before + turns, what="more turns")

    @property
    def state(self) -> object:
        return self.worker.status()["state"]


@pytest.fixture
def job() -> Iterator[Job]:
    made = Job()
    with structlog.testing.capture_logs():
        yield made
        made.worker.stop()
        assert made.worker.join(60)


def raising(error: Exception) -> Callable[[], None]:
    def does() -> None:
        raise error

    return does


def test_it_takes_turns_until_it_is_stopped(job: Job) -> None:
    assert (job.worker.started, job.state) == (False, "starting")
    job.worker.start()
    job.more()
    assert (job.worker.started, job.state) == (True, "running")
    job.worker.stop()
    assert job.worker.join(60)
    assert job.ended.is_set()
    assert (job.state, job.worker.status()["last_error"]) == ("stopped", None)


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (PysyncError("the source is away", "start it"), "waiting", "the source is away; start it"),
        (KeyError("x"), "failing", "KeyError: 'x'"),
        (ValueError("a\nb"), "failing", "b"),
        (ValueError(), "failing", "ValueError:"),
    ],
)
def test_after_an_error_it_goes_on_and_says_what_is_wrong(job: Job, error: Exception, state: str, reason: str) -> None:
    job.does = raising(error)
    job.worker.start()
    job.more()
    reported = job.worker.status()
    assert (reported["name"], reported["state"]) == ("job", state)
    assert (reported["last_error"]["reason"], reported["last_error"]["over"]) == (reason, False)
    assert (job.errors[0][0], reason in job.errors[0][1]) == (state, True)
    assert (reported["waiting_since"] is not None) == (state == "waiting")


def test_an_error_is_over_once_a_turn_says_that_all_is_well(job: Job) -> None:
    job.does = raising(KeyError("x"))
    job.worker.start()
    job.more()
    job.does = lambda: None
    job.more()
    reported = job.worker.status()
    assert (reported["state"], reported["last_error"]["over"]) == ("running", True)


def test_a_turn_that_does_not_say_so_leaves_the_error_standing() -> None:
    tried: list[int] = []

    def turn() -> None:
        tried.append(1)
        if len(tried) == 1:
            raise PysyncError("away")

    worker = Worker("job", turn, every=0.001, retry=0.001)
    with structlog.testing.capture_logs():
        worker.start()
        wait_until(lambda: len(tried) > 5, what="turns")
        assert worker.status()["state"] == "waiting"
        worker.stop()
        assert worker.join(60)


def logged(*turns: Exception | None) -> list[MutableMapping[str, Any]]:
    """What a worker logs that fails in these turns, and does well where there is no error."""
    left = iter(turns)

    def turn() -> None:
        error = next(left, Finished())
        if error is not None:
            raise error
        worker.succeeded()

    worker = Worker("job", turn, every=0.0, retry=0.0)
    with structlog.testing.capture_logs() as lines:
        worker.start()
        assert worker.join(60)
    return lines


def test_errors_in_a_row_are_logged_ever_more_seldom() -> None:
    lines = logged(*[KeyError("x")] * 9, None, *[PysyncError("away")] * 3)
    assert [(it["event"], it["log_level"], it.get("attempt")) for it in lines] == [
        *[("worker_failed", "error", attempt) for attempt in (1, 2, 4, 8)],
        ("worker_recovered", "info", None),
        *[("worker_waiting", "warning", attempt) for attempt in (1, 2)],
    ]
    assert "KeyError: 'x'" in lines[0]["traceback"]


@pytest.mark.parametrize("error", [PysyncError("away"), KeyError("x")])
def test_that_an_error_is_over_is_logged_once_with_what_it_took(error: Exception) -> None:
    lines = logged(None, None, *[error] * 3, None, None, None)
    (line,) = [it for it in lines if it["event"] == "worker_recovered"]
    assert (line["worker"], line["attempts"], line["log_level"]) == ("job", 3, "info")
    assert 0 <= line["seconds"] < 60


@pytest.mark.parametrize(("end", "state"), [(Finished(), "finished"), (QueueClosed("closed"), "stopped")])
def test_it_ends_by_itself_when_there_is_nothing_left_or_no_queue(job: Job, end: Exception, state: str) -> None:
    job.does = raising(end)
    job.worker.start()
    wait_until(job.ended.is_set, what="the end")
    assert job.worker.join(60)
    assert (job.state, job.turns, job.errors) == (state, 1, [])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_all_the_same_is_told_as_stopped(job: Job) -> None:
    def does() -> None:
        raise SystemExit

    job.does = does
    job.worker.start()
    wait_until(job.ended.is_set, what="the end")
    assert job.state == "stopped"


def test_what_was_never_started_can_be_stopped_and_joined(job: Job) -> None:
    job.worker.stop()
    assert job.worker.join(1)
    assert job.state == "starting"
