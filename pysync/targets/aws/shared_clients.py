"""What the lanes of one settings object share: the clients of AWS services. The settings hold it, so it knows none."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Clients:
    """What the lanes of one settings object share: clients, by their service, and whatever a kind adds."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    built: dict[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Settings that say the same are equal, whether they are in use or not."""
        return isinstance(other, Clients)

    __hash__ = None  # type: ignore[assignment]
