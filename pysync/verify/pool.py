"""WorkerPool: threads that look at source and target, each with connections of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential
from thrift.Thrift import TException

from pysync.base.errors import PysyncError
from pysync.metastore.client import Metastore
from pysync.targets.base import Target

T = TypeVar("T")
R = TypeVar("R")

_TRIES = 3
_FIRST_WAIT_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 2.0
_AHEAD = 2  # answers of each thread that may wait to be taken


@dataclass(frozen=True, slots=True)
class ComparedEnds:
    """The two ends of a comparison, as one thread reads them."""

    source: Metastore
    target: Target


class WorkerPool:
    """Looks from several threads, or, if `threads` is 1, from the caller's. Closes all connections at the end.

    `keep_pace` is called before every look at an item, in the thread that asks for it; it may wait, or raise to end.
    """

    def __init__(
        self,
        open_source: Callable[[], Metastore],
        open_target: Callable[[], Target],
        threads: int,
        keep_pace: Callable[[], None],
    ) -> None:
        self._open_source = open_source
        self._open_target = open_target
        self._threads = threads
        self._keep_pace = keep_pace
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="verify") if threads > 1 else None
        # A pair of connections for each thread: thrift answers in order.
        self._own = threading.local()
        self._opening = threading.Lock()
        self._opened = ExitStack()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            # Before the connections are closed, which its threads use.
            self._pool.shutdown(cancel_futures=True)
        self._opened.close()

    def ask(self, read: Callable[[ComparedEnds], R]) -> Future[R]:
        """Have one thread look."""
        if self._pool is not None:
            return self._pool.submit(lambda: self._patiently(read))
        future: Future[R] = Future()
        future.set_result(self._patiently(read))
        return future

    def each(self, read: Callable[[ComparedEnds, T], R], items: Iterable[T]) -> Iterator[R]:
        """What all threads see of the items, in their order; only a few items ahead of what is taken."""
        under_way: deque[Future[R]] = deque()
        for item in items:
            self._keep_pace()
            under_way.append(self.ask(partial(_at, read, item)))
            if self._pool is None or len(under_way) > self._threads * _AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()

    def _patiently(self, read: Callable[[ComparedEnds], R]) -> R:
        """Look again where there was no answer: readers and writers may deadlock in the metastore's database."""
        retrying = Retrying(
            retry=retry_if_exception_type((PysyncError, TException)),
            wait=wait_random_exponential(_FIRST_WAIT_SECONDS, max=_LONGEST_WAIT_SECONDS),
            stop=stop_after_attempt(_TRIES),
            reraise=True,
        )
        return retrying(lambda: read(self._ends()))

    def _ends(self) -> ComparedEnds:
        ends: ComparedEnds | None = getattr(self._own, "ends", None)
        if ends is None:
            # ExitStack is not safe for threads.
            with self._opening:
                source, target = self._open_source(), self._open_target()
                self._opened.callback(source.close)
                self._opened.callback(target.close)
            ends = self._own.ends = ComparedEnds(source, target)
        return ends


def _at(read: Callable[[ComparedEnds, T], R], item: T, ends: ComparedEnds) -> R:
    return read(ends, item)
