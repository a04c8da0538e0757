"""A receiver that is down is known before something has to be told: an idle one is asked whether it is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.base.errors import PysyncError
from pysync.notify import notifier, receiver
from tests.support.notifiers import World
from tests.support.receivers import WebhookReceiver

SECONDS = notifier.CONTACT_SECONDS


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def contact(world: World) -> float | None:
    """How long ago the receiver has answered, in seconds."""
    at = world.notifier.status()["last_contact"]
    return None if at is None else 1000.0 + world.seconds - at


def test_an_idle_receiver_is_asked_each_half_minute_and_sent_nothing(world: World) -> None:
    assert contact(world) is None
    for _ in range(10):
        world.turn(SECONDS / 2)
    assert world.receiver.probed == ["*"] * 5, "not its own address, which may begin a workflow"
    assert (world.receiver.events, world.receiver.refused) == ([], [])
    assert (contact(world), world.notifier.status()["failed"]) == (SECONDS / 2, 0)


def test_a_receiver_that_takes_events_is_not_asked(world: World) -> None:
    world.turn()
    world.receiver.probed.clear()
    for number in range(10):
        world.write(f"db.t{number}")
        world.turn(SECONDS)
    assert (len(world.changed()), world.receiver.probed) == (10, [])


@pytest.mark.parametrize("status", [302, 404, 405, 501, 503])
def test_any_answer_shows_that_a_server_is_there(world: World, status: int) -> None:
    world.receiver.answer = lambda _: status
    world.notifier.turn()
    assert contact(world) == 0.0


@pytest.mark.parametrize("how", ["hangs", "refuses connections"])
def test_an_idle_receiver_that_is_away_waits_until_it_is_back(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(receiver, "_TIMEOUT_SECONDS", 0.2)
    world.turn()
    port = world.receiver.port
    if how == "hangs":
        world.receiver.answer = lambda _: None
    else:
        world.receiver.close()
    world.seconds += SECONDS
    with pytest.raises(PysyncError, match=r"receiver hook (does not answer|cannot be reached)"):
        world.notifier.turn()
    assert contact(world) == SECONDS
    for _ in range(60):
        world.turn(1.0)
    assert contact(world) == SECONDS + 60
    if how == "hangs":
        world.receiver.close()
    world.receiver = WebhookReceiver(port)
    world.turn(notifier.CONTACT_SECONDS * 2)
    assert contact(world) == 0.0


def test_a_secret_that_is_gone_shows_while_there_is_nothing_to_sign(world: World) -> None:
    world.turn()
    world.secret.unlink()
    world.seconds += SECONDS
    with pytest.raises(PysyncError, match="secret"):
        world.notifier.turn()
