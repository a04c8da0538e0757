"""What all calls of one connection have: the store, the user, and how the listener is told."""

from __future__ import annotations

from typing import Any

from pysync.model.event import Kind
from pysync.targets.memory.store import Store, Told


class Calls:
    """One connection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._user = ""

    def set_ugi(self, user: str, groups: list[str]) -> list[str]:
        """From now on the calls are this user's."""
        self._user = user
        return groups

    def _tell(self, kind: Kind, **what: Any) -> None:
        self._store.listener(Told(kind, self._user, **what))
