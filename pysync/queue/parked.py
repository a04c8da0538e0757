"""What targets have parked, in the queue's file: each event under every table that it touches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pysync.queue import parking
from pysync.queue.registry import Registry
from pysync.queue.values import Parked, ParkedTable


class ParkedEvents(Registry):
    """The parked events of all targets. All methods may be called from any thread, and raise as the queue's do.

    They are parked by `EventQueue.advance`, with the position that moves past them.
    """

    def parked(
        self, target: str, table: str | None = None, after: Parked | None = None, limit: int = 1000
    ) -> list[Parked]:
        """Up to `limit` parked events of `target` (of one `table`) in event order; `after` the last one for more."""
        with self._reading() as connection:
            return parking.parked(connection, target, table, after, limit)

    def parked_at(self, target: str, position: int) -> list[Parked]:
        """The parked event of `target` at `position`, once under each of its tables; empty if it is not parked."""
        with self._reading() as connection:
            return parking.parked_at(connection, target, position)

    def parked_tables(self, target: str) -> list[ParkedTable]:
        """What is parked of `target`, table by table."""
        with self._reading() as connection:
            return parking.parked_tables(connection, target)

    def parked_names(self, target: str) -> dict[int, set[str]]:
        """The tables of every parked event of `target`, by its position, in event order."""
        with self._reading() as connection:
            return parking.parked_names(connection, target)

    def parked_count(self, target: str) -> int:
        """How many events of `target` are parked."""
        with self._reading() as connection:
            return parking.parked_count(connection, target)

    def blocked_tables(self, target: str) -> set[str]:
        """The tables of `target` that have a parked event, so that their later events must wait."""
        with self._reading() as connection:
            return parking.blocked_tables(connection, target)

    def unpark(self, target: str, ids: Iterable[int]) -> int:
        """Remove parked events of `target`, applied or skipped; returns how many were there."""
        with self._transaction() as connection:
            return parking.unpark(connection, target, ids)

    def unpark_positions(self, target: str, positions: Iterable[int]) -> None:
        """Remove the parked events of `target` at `positions`, under all of their tables."""
        with self._transaction() as connection:
            parking.unpark_positions(connection, target, positions)

    def update_parked(self, changed: Sequence[Parked]) -> None:
        """Store the new reason, kind, attempts and last time of parked events, after a retry that failed."""
        with self._transaction() as connection:
            parking.update(connection, changed)
