"""A receiver of a real sidecar process misses nothing of what the journal has, whatever is killed or away."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.journal import Query, Reader
from tests.support import wait_until
from tests.support.drains import create, create_database
from tests.support.receivers import SECRET, WebhookReceiver
from tests.support.sidecars import FaultyPlace, Sidecar, pysync, send, sidecar, wait_for

# What it was asked to write is forgotten: a killed sidecar takes the target's memory with it.
TARGET = 'remember = false\nfaults = [{ kind = "unavailable", share = 0.1 }, { kind = "delay", seconds = 0.02 }]'


class Flaky:
    """Every third request fails, each time in another way."""

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, _: list[dict[str, Any]]) -> int:
        self.requests += 1
        return (500, 503, 429)[self.requests // 3 % 3] if self.requests % 3 == 0 else 204


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with closing(WebhookReceiver()) as receiver:
        yield receiver


@pytest.fixture
def place(tmp_path: Path, receiver: WebhookReceiver) -> FaultyPlace:
    place = FaultyPlace(tmp_path)
    secret = tmp_path / "webhook-secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    notify = f'[[notify]]\nname = "hook"\nurl = "{receiver.url}"\nsecret_file = "{secret}"\n'
    place.write(more=f"{TARGET}\n{notify}")
    return place


def worker(running: Sidecar) -> str:
    """The state of the worker that serves the receiver."""
    return next(it["state"] for it in running.status()["workers"] if it["name"] == "notify-hook")


def test_a_receiver_misses_nothing_over_kills_restarts_and_outages(
    place: FaultyPlace, receiver: WebhookReceiver
) -> None:
    logs, first = "", 1
    receiver.answer = Flaky()
    for ends in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        with sidecar(place) as running:
            wait_until(lambda it=running: worker(it) in {"running", "waiting"}, what="the receiver's worker")
            seen = len(receiver.events)
            changes = [create_database(), *(create(f"db.t{it}") for it in range(first, first + 40))]
            send(running, *changes, first=first)
            first += len(changes)
            wait_until(lambda seen=seen: len(receiver.events) > seen, what="some events")
            running.stop(ends)
            logs += running.log()
    with sidecar(place) as running:
        wait_for(running, queued=0, parked=0)
        pysync("pause", "try", "--reason", "the end", "-c", place.file)
        wait_until(lambda: "target_paused" in str(receiver.of("problem.begun")), what="the problem")
        journal = [
            it.id
            for it in reversed(Reader(place.queue / "journal.db").records(Query(), 10_000))
            if it.outcome == "applied" or (it.outcome == "unchanged" and it.committed_at)
        ]
        wait_until(
            lambda: journal[-1] in {it["record"] for it in receiver.of("change.applied")}, what="the last change"
        )
        running.stop()
        logs += running.log()
    received = list(dict.fromkeys(it["record"] for it in receiver.of("change.applied")))
    assert len(journal) > 100
    assert received == journal, "each at least once, the first time in order"
    assert {it["target"] for it in receiver.of("change.applied")} == {"try"}
    assert len(receiver.of("gap")) == 2, "one for each kill"
    assert receiver.forged == 0
    assert [it for it in (SECRET, "/hook") if it in logs] == []
    assert "Traceback" not in logs


def test_a_receiver_that_hangs_holds_up_neither_replay_nor_the_end(
    place: FaultyPlace, receiver: WebhookReceiver
) -> None:
    receiver.answer = lambda _: None
    with sidecar(place) as running:
        wait_until(lambda: bool(receiver.refused), what="a request that hangs")
        send(running, create_database(), *(create(f"db.t{it}") for it in range(20)))
        wait_for(running, queued=0, parked=0)
        assert receiver.events == []
        assert running.stop() == 0


def test_a_receiver_that_is_down_is_a_problem_although_nothing_happens(
    place: FaultyPlace, receiver: WebhookReceiver
) -> None:
    receiver.close()
    place.file.write_text(f'status_grace = "1s"\n{place.file.read_text()}events = ["changes"]\n')

    def problems() -> list[str]:
        return [it["text"] for it in running.status()["problems"] if it["about"] == "notify-hook"]

    with sidecar(place) as running:
        wait_until(problems, what="the problem")
        assert "receiver hook cannot be reached: Connection refused" in problems()[0]
        assert running.status()["receivers"][0]["last_contact"] is None
        with closing(WebhookReceiver(receiver.port)) as back:
            wait_until(lambda: not problems(), what="its end")
            assert running.status()["receivers"][0]["last_contact"]
            assert (set(back.probed), back.events) == ({"*"}, [])
