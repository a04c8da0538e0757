"""Faults: what tests ask of the bench: that calls go wrong, and how often each was made."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from pysync.lab.aws.refusals import AwsRefusal

_REASON = "an injected fault"


@dataclass(slots=True, kw_only=True)
class AwsFault:
    """What goes wrong with the next `count` calls of `target`, for example `Glue.BatchCreatePartition`.

    - `code`, `reason`: the error answer. For `Athena.exec`, the run of a statement, `reason` is the state's change
      reason, and `category`, `type` and `retryable` are those of its AthenaError.
    - `delay_seconds`: how long the call waits first. Without a code it is then carried out.
    - `after`: the call is carried out, and then answered with the error; or, without a code, not at all.
    - `lose`: the connection breaks instead of an answer.
    - `items`: only these items of a batch, counted from 0, fail with the code; the others are carried out.
    """

    target: str
    count: int = 1
    code: str = ""
    reason: str = ""
    delay_seconds: float = 0.0
    after: bool = False
    lose: bool = False
    items: Sequence[int] = ()
    category: int = 2
    type: int = 1003
    retryable: bool = False

    @property
    def refusal(self) -> AwsRefusal | None:
        """The error answer, if there is to be one."""
        return AwsRefusal(self.code, self.reason or _REASON) if self.code and not self.items else None

    def item_refusal(self, number: int) -> AwsRefusal | None:
        """Why an item of a batch fails, if it does."""
        failing = number in self.items
        return AwsRefusal(self.code or "InternalServiceException", self.reason or _REASON) if failing else None

    @property
    def loses_answer(self) -> bool:
        """Whether the connection breaks."""
        return self.lose or (self.after and not self.code)


def fault_of(values: dict[str, Any]) -> AwsFault:
    """The fault that was asked for; AwsRefusal if its members are not those of an AwsFault."""
    known = {item.name for item in fields(AwsFault)}
    if "target" not in values or not known.issuperset(values):
        raise AwsRefusal("InvalidFault", f"a fault needs a target, and may have {', '.join(sorted(known))}")
    return AwsFault(**values)


@dataclass(slots=True)
class AwsFaults:
    """The faults that are still to come; safe to use from any thread."""

    _waiting: list[AwsFault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: AwsFault) -> None:
        """Add a fault, to happen after those with the same target that were added before."""
        with self._lock:
            self._waiting.append(fault)

    def take(self, target: str) -> AwsFault | None:
        """The fault of this call, if it has one; counted as used."""
        with self._lock:
            for fault in self._waiting:
                if fault.target == target:
                    fault.count -= 1
                    if fault.count <= 0:
                        self._waiting.remove(fault)
                    return fault
        return None

    def clear(self) -> None:
        """Forget the faults that are still to come."""
        with self._lock:
            self._waiting.clear()


@dataclass(slots=True)
class CallCounts:
    """How often each call was made since the last reset; safe to use from any thread."""

    _counted: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str) -> None:
        """Count one more call of this name."""
        with self._lock:
            self._counted[name] += 1

    def counted(self) -> dict[str, int]:
        """The counts by name."""
        with self._lock:
            return dict(sorted(self._counted.items()))

    def reset(self) -> None:
        """Begin at zero again."""
        with self._lock:
            self._counted.clear()
