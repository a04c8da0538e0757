"""The bridge's connections: so many at most, and who has said who he is stays."""

from __future__ import annotations

import resource
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pysync.capture.callers import BridgeConnections


class Room:
    """A crowd of real connections, each with a reader that leaves once its connection ends."""

    def __init__(self, most: int, stack: ExitStack) -> None:
        self.crowd = BridgeConnections(most)
        self._stack = stack

    def come(self, *, greets: bool = False) -> Callable[[], bool]:
        """One more connection; whether it has been ended."""
        ours, theirs = (self._stack.enter_context(it) for it in socket.socketpair())

        def read() -> None:
            ours.recv(1)
            self.crowd.leave(ours)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self._stack.callback(reader.join)
        self._stack.callback(ours.shutdown, socket.SHUT_RDWR)
        self.crowd.enter(ours)
        if greets:
            self.crowd.greeted(ours)
        return lambda: bool(select.select([theirs], [], [], 0)[0])  # nobody writes: it can only be the end


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as built:
        yield built


def test_the_oldest_that_keeps_silent_gives_way(stack: ExitStack) -> None:
    room = Room(3, stack)
    first, second, third, fourth = (room.come() for _ in range(4))
    assert [it() for it in (first, second, third, fourth)] == [True, False, False, False]
    assert len(room.crowd) == 3


def test_who_has_greeted_stays(stack: ExitStack) -> None:
    room = Room(2, stack)
    listener = room.come(greets=True)
    strangers = [room.come() for _ in range(5)]
    assert not listener()
    assert [it() for it in strangers] == [True, True, True, True, False]


def test_where_all_have_greeted_the_new_one_is_ended(stack: ExitStack) -> None:
    room = Room(2, stack)
    known = [room.come(greets=True) for _ in range(2)]
    stranger = room.come()
    assert stranger()
    assert not any(it() for it in known)


def test_most_of_the_descriptors_are_for_others() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    try:
        assert BridgeConnections()._most == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
