"""Guard: who is asked before a target removes anything, and who learns what was removed and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Protocol, runtime_checkable

from pysync.model.removal import Lost
from pysync.targets.base import Target


class RemovalGuard(Protocol):
    """Who is asked before a target removes anything (pysync.replay.brake), by several lanes at once.

    Objects are named as at the target (see `Lost`). `position` is that of the event that removes them. Methods may
    raise what a target raises.
    """

    @property
    def is_limited(self) -> bool:
        """Whether it may hold anything."""

    def keeps(self, name: str) -> bool:
        """Whether a person has decided that the target keeps the object."""

    def keeps_within(self, name: str) -> bool:
        """Whether a person has decided that the target keeps any part of a database or table."""

    def keeps_again(self, name: str, kind: str, position: int) -> bool:
        """Whether an object stays that says itself that a person has kept it; then that is noted."""

    def going(self, lost: Sequence[Lost], position: int) -> Set[str]:
        """The names of these objects that may be removed now; the others are held, or a person keeps them."""

    def reason_of(self, name: str) -> str:
        """Why an object is held; "" if it is not."""

    def removed(self, names: Iterable[str]) -> None:
        """Note that these objects are gone."""

    def put(self, names: Iterable[str], position: int) -> None:
        """Note that the source has these objects since that event."""


class NoGuard:
    """Lets everything go: for a target that no replay has opened."""

    is_limited = False

    def keeps(self, name: str) -> bool:  # noqa: ARG002
        """Nothing is kept."""
        return False

    def keeps_within(self, name: str) -> bool:  # noqa: ARG002
        """Nothing is kept."""
        return False

    def keeps_again(self, name: str, kind: str, position: int) -> bool:  # noqa: ARG002
        """It stays."""
        return True

    def going(self, lost: Sequence[Lost], position: int) -> Set[str]:  # noqa: ARG002
        """All of them."""
        return {it.object for it in lost}

    def reason_of(self, name: str) -> str:  # noqa: ARG002
        """Nothing is held."""
        return ""

    def removed(self, names: Iterable[str]) -> None:
        """Nothing is noted."""

    def put(self, names: Iterable[str], position: int) -> None:
        """Nothing is noted."""


@runtime_checkable
class Guarded(Protocol):
    """A target that asks a guard before it removes anything. Every target on a store does."""

    def guard_removals(self, guard: RemovalGuard) -> None:
        """Ask this guard from now on. Called once, before the first operation."""


def guarded(open_target: Callable[[], Target], guard: RemovalGuard) -> Target:
    """A target that is opened now, and asks this guard if it can. Raises what opening does."""
    target = open_target()
    if isinstance(target, Guarded):
        target.guard_removals(guard)
    return target
