"""Who has the token may send an event under the number of one to come: the true one is not dropped in silence."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import structlog

from pysync.model.wire import encode_event
from tests.integration.test_bridge import Stand
from tests.listener.driver import Place
from tests.support import wait_for_value, wait_until
from tests.support.callers import TOKEN, Caller
from tests.support.events import create_table


@pytest.fixture
def stand(tmp_path: Path, place: Place) -> Iterator[Stand]:
    """A bridge with a queue; the place's listeners call it."""
    place.token.write_text(TOKEN)
    built = Stand(tmp_path / "queue")
    built.queue.target("dr").register()
    yield built
    built.close()


def forge(stand: Stand, instance: str, sequence: int) -> None:
    event = create_table("db.forged", instance=instance, sequence=sequence)
    with closing(Caller(stand.port)) as forger:
        assert forger.append(base64.b64encode(encode_event(event)).decode()) == "queued"


@pytest.mark.parametrize("trimmed", [False, True], ids=["while it is queued", "after it was trimmed"])
def test_a_true_event_behind_a_forged_one_of_its_number_is_a_gap_and_an_alarm(
    place: Place, stand: Stand, *, trimmed: bool
) -> None:
    driver = place.driver(bridge_port=str(stand.port))
    driver.create("first")
    wait_until(lambda: stand.events() == 1, what="the first event")
    (instance,) = stand.queue.intake.instances()
    forge(stand, instance.instance, 2)
    if trimmed:
        stand.queue.target("dr").advance(stand.queue.last)
        assert stand.queue.trim() == 2
    with structlog.testing.capture_logs() as lines:
        driver.create("second")
        gap = f"differs:{instance.instance}:2"
        wait_for_value(lambda: [it.key for it in stand.queue.gaps.unclosed()], [gap], seconds=10, what="the gap")
        last = stand.queue.last
        driver.create("third")
        wait_until(lambda: stand.queue.last == last + 1, what="what comes after it")
        wait_until(lambda: place.files() == [], what="the spool's end")
    assert [it.key for it in stand.queue.gaps.unclosed()] == [gap], "no other came"
    (alarm,) = [line for line in lines if line["event"] == "event_differs"]
    assert (alarm["instance"], alarm["sequence"]) == (instance.instance, 2)
    assert stand.bridge.status()["differing"] == 1


def test_an_event_that_is_sent_again_as_it_was_is_no_gap(stand: Stand) -> None:
    event = base64.b64encode(encode_event(create_table("db.t", sequence=1))).decode()
    with closing(Caller(stand.port)) as caller:
        for _ in range(3):
            assert caller.append(event) == "queued"
        stand.queue.target("dr").advance(stand.queue.last)
        stand.queue.trim()
        assert caller.append(event, event) == "queued"
    assert stand.queue.gaps.latest() == []
    assert stand.bridge.status()["differing"] == 0
