"""Snapshot: which transactions of a transactional table count, as its metastore knows them at one moment. Pure.

Each write to such a table has a write id. Hive numbers them for each table, and names the directory after them that a
write makes. A write counts once its transaction has been committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_NONE_OPEN = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Transactions:
    """All transactions of a metastore: the highest one, those below it that are open, and those that were aborted."""

    highest: int
    open: tuple[int, ...] = ()
    aborted: tuple[int, ...] = ()

    @classmethod
    def of(cls, answer: Any) -> Transactions:
        """From a `GetOpenTxnsResponse`, whose list has both kinds, and bits that say which are aborted."""
        numbers = list(answer.open_txns or ())
        aborted = _bits(answer.abortedBits)
        return cls(
            answer.txn_high_water_mark,
            tuple(it for place, it in enumerate(numbers) if place not in aborted),
            tuple(it for place, it in enumerate(numbers) if place in aborted),
        )

    def as_text(self) -> str:
        """The text that `get_valid_write_ids` takes (Hive's ValidReadTxnList)."""
        lowest = min(self.open, default=_NONE_OPEN)
        return f"{self.highest}:{lowest}:{_listed(self.open)}:{_listed(self.aborted)}"

    def is_committed(self, transaction: int) -> bool:
        """Whether a transaction was committed."""
        return transaction <= self.highest and transaction not in self.open and transaction not in self.aborted


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The write ids of one table up to the `highest`: all are committed but the `open` and the `aborted` ones."""

    highest: int
    transactions: Transactions
    open: tuple[int, ...] = ()
    aborted: tuple[int, ...] = ()

    @classmethod
    def of(cls, answer: Any, transactions: Transactions) -> Snapshot:
        """From a `TableValidWriteIds`, which was asked for with these transactions."""
        numbers = list(answer.invalidWriteIds or ())
        aborted = _bits(answer.abortedBits)
        return cls(
            answer.writeIdHighWaterMark,
            transactions,
            tuple(it for place, it in enumerate(numbers) if place not in aborted),
            tuple(it for place, it in enumerate(numbers) if place in aborted),
        )

    def has(self, write_id: int) -> bool:
        """Whether a write is in the snapshot."""
        return write_id <= self.highest and write_id not in self.open and write_id not in self.aborted

    def has_any(self, first: int, last: int) -> bool:
        """Whether a write of this range, both ends included, is in the snapshot."""
        return any(map(self.has, range(first, min(last, self.highest) + 1)))

    def has_all_below(self, write_id: int) -> bool:
        """Whether no write up to this one is open: so far a compactor may have brought together what is there."""
        return write_id <= self.highest and write_id < min(self.open, default=_NONE_OPEN)

    def missing_in(self, first: int, last: int) -> tuple[int, ...]:
        """The writes of this range that are not in the snapshot, those above `highest` left out; in their order."""
        without = {*self.open, *self.aborted}
        return tuple(sorted(it for it in without if first <= it <= last))

    def is_newer_than(self, other: Snapshot) -> bool:
        """Whether it has a write that the other has not."""
        return self.has_any(other.highest + 1, self.highest) or any(map(self.has, (*other.open, *other.aborted)))


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _bits(raw: bytes | None) -> set[int]:
    """The places of the bits that are set in a `java.util.BitSet`."""
    return {8 * place + bit for place, byte in enumerate(raw or b"") for bit in range(8) if byte >> bit & 1}
