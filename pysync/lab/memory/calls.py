"""What the calls of a connection share: the store, the user, and the way to tell the listener."""

from __future__ import annotations

from typing import Any

from pysync.lab.memory.store import Store, Told
from pysync.model.event import Kind


class Calls:
    """One connection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._user = ""

    def set_ugi(self, user: str, groups: list[str]) -> list[str]:
        """Make the calls of this connection as this user. As HMS does, answers with the groups, without the user."""
        self._user = user
        return groups

    def _tell(self, kind: Kind, **what: Any) -> None:
        self._store.listener(Told(kind, self._user, **what))
