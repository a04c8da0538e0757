"""Executor: who looks at the objects of a comparison: the threads of this process, or others elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pysync.verify.comparator import Comparator, Item
from pysync.verify.partitions import Keyed, PartitionBatch, PartitionTally
from pysync.verify.pool import ComparedEnds, WorkerPool
from pysync.verify.tables import SeenTable

R = TypeVar("R")


class Executor(Protocol):
    """Looks at several objects at once; reads only. All methods raise as both ends do, or what prevents a look."""

    def ask(self, read: Callable[[ComparedEnds], R]) -> Future[R]:
        """Have a thread of this process look."""

    def objects(self, items: Sequence[Item]) -> Iterator[tuple[Item, SeenTable]]:
        """What is seen of each, in their order."""

    def batches(self, keyed: Keyed, batches: Iterable[PartitionBatch]) -> Iterator[PartitionTally]:
        """What is found in batches of a table's partitions, in order; one tally may be of several batches."""


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """The threads of this process."""

    pool: WorkerPool
    comparator: Comparator

    def ask(self, read: Callable[[ComparedEnds], R]) -> Future[R]:
        """As `Executor.ask`."""
        return self.pool.ask(read)

    def objects(self, items: Sequence[Item]) -> Iterator[tuple[Item, SeenTable]]:
        """As `Executor.objects`."""
        return self.pool.each(lambda ends, item: (item, self.comparator.compare_item(ends, item)), items)

    def batches(self, keyed: Keyed, batches: Iterable[PartitionBatch]) -> Iterator[PartitionTally]:
        """As `Executor.batches`."""
        owner = self.pool.ask(lambda ends: self.comparator.owner(ends, keyed)).result()
        return self.pool.each(lambda ends, batch: self.comparator.compare(ends, owner, batch), batches)
