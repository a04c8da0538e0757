"""Requests: what other threads want done in a drain's own thread, which alone may touch its state."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from pysync.base.errors import PysyncError

Place = TypeVar("Place")
Result = TypeVar("Result")


class Requests(Generic[Place]):
    """Functions of a place, run one after the other by the thread that calls `run` with the place."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Callable[[Place], Any], Future[Any]]] = SimpleQueue()
        self._door = threading.Lock()
        self._closed = False

    def add(self, request: Callable[[Place], Result]) -> Future[Result]:
        """A future for the result of the request, or its error. Raises PysyncError after `close`."""
        future: Future[Result] = Future()
        with self._door:
            # Under the lock: a request that is added after `close` has emptied the queue would never be answered.
            if self._closed:
                raise PysyncError("the target has stopped", "the sidecar is stopping; retry when it runs again")
            self._waiting.put((request, future))
        return future

    def run(self, place: Place) -> bool:
        """Run one request, if there is any; returns whether. The caller of `add` gets its error."""
        try:
            request, future = self._waiting.get_nowait()
        except Empty:
            return False
        try:
            future.set_result(request(place))
        except Exception as error:  # noqa: BLE001 - it belongs to who asked
            future.set_exception(error)
        return True

    def close(self) -> None:
        """Accept no more requests, and fail those that wait."""
        with self._door:
            self._closed = True
        while not self._waiting.empty():
            _, future = self._waiting.get()
            future.set_exception(PysyncError("the target has stopped", "retry when the sidecar runs again"))
