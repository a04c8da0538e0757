"""Hands: who looks at the objects of a comparison: the threads of this process, or others elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pysync.verify.crew import Crew, Ends
from pysync.verify.looks import Item, Looker
from pysync.verify.partitions import Batch, Keyed, Tally
from pysync.verify.tables import Seen

R = TypeVar("R")


class Hands(Protocol):
    """Looks, several at once; reads only. All of it raises as both ends do, and what keeps it from looking."""

    def ask(self, look: Callable[[Ends], R]) -> Future[R]:
        """Have a thread of this process look."""

    def objects(self, items: Sequence[Item]) -> Iterator[tuple[Item, Seen]]:
        """What is seen of each, in their order."""

    def batches(self, keyed: Keyed, batches: Iterable[Batch]) -> Iterator[Tally]:
        """What is found of some partitions of a table, in their order; of several batches together, maybe."""


@dataclass(frozen=True, slots=True)
class Own:
    """The threads of this process."""

    crew: Crew
    looker: Looker

    def ask(self, look: Callable[[Ends], R]) -> Future[R]:
        """As Hands'."""
        return self.crew.ask(look)

    def objects(self, items: Sequence[Item]) -> Iterator[tuple[Item, Seen]]:
        """As Hands'."""
        return self.crew.each(lambda ends, item: (item, self.looker.look(ends, item)), items)

    def batches(self, keyed: Keyed, batches: Iterable[Batch]) -> Iterator[Tally]:
        """As Hands'."""
        owner = self.crew.ask(lambda ends: self.looker.owner(ends, keyed)).result()
        return self.crew.each(lambda ends, batch: self.looker.compare(ends, owner, batch), batches)
