"""The target kind `faulty`: keeps everything in memory and fails as its settings say, to try out what happens then.

It is lost with the process. Without faults it is the fastest target there is, so it also measures everything else.

    [[targets]]
    name = "try"
    kind = "faulty"
    faults = [
      { kind = "refuse", tables = ["shop.bad"], times = 1 },   # a table that is mended after one refusal
      { kind = "unknown_after", share = 0.05 },                # done, but no answer came
      { kind = "delay", seconds = 0.02 },
    ]
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pysync.base.text import count
from pysync.base.validation import Finite, Seconds
from pysync.lab.memory import MemoryStore, MemoryTarget
from pysync.model.operation import Operation
from pysync.targets.base import Forbidden, Outcome, OutcomeUnknown, Rejected, Unavailable
from pysync.targets.kinds import TargetKind
from pysync.targets.settings import TargetSettings


class Fault(BaseModel):
    """One way to fail, for some operations.

    `refuse`: never done. `unavailable`: not now. `forbid`: not unless somebody grants it. `unknown_before`,
    `unknown_after`: no answer, and it was not done, or was. `bug`: an error that nobody has classified. `delay`: done,
    `seconds` later. `hang`: no answer within `seconds`, and not done.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["refuse", "unavailable", "forbid", "unknown_before", "unknown_after", "bug", "hang", "delay"] = Field(
        description="How an operation fails."
    )
    tables: tuple[str, ...] = Field(
        default=("*",), description="Only operations on these: db.table, or db for the database itself, with * and ?."
    )
    share: Finite = Field(default=1.0, gt=0, le=1, description="Share of those operations; 0.1 is one in ten.")
    times: int | None = Field(default=None, ge=1, description="Maximum number of failures. Default: no limit.")
    seconds: Seconds = Field(default=0.0, ge=0, description="Duration of hang and delay.")


class FaultySettings(TargetSettings):
    """A `[[targets]]` table of `kind = "faulty"`."""

    has_listener = True
    has_trash = True

    kind: Literal["faulty"]
    faults: tuple[Fault, ...] = Field(default=(), description="Faults. The first one that fits an operation applies.")
    remember: bool = Field(
        default=True,
        description="Whether the target keeps objects. false accepts and discards them, to measure everything else.",
    )
    seed: int = Field(
        default=0, description="Random seed for share. With one lane the same seed fails at the same operations."
    )


class Faults:
    """Decides which fault an operation meets; used by several lanes at once."""

    def __init__(self, faults: Sequence[Fault], seed: int) -> None:
        self.any = bool(faults)
        self._faults = faults
        self._remaining = [fault.times for fault in faults]
        self._random = random.Random(seed)  # noqa: S311, no secret
        self._choosing = threading.Lock()

    def of(self, operation: Operation) -> Fault | None:
        """The fault that this try of the operation meets; None if it meets none."""
        with self._choosing:
            return next((f for at, f in enumerate(self._faults) if self._meets(at, f, operation.key)), None)

    def _meets(self, at: int, fault: Fault, key: str) -> bool:
        remaining = self._remaining[at]
        if remaining == 0 or not any(fnmatchcase(key, pattern) for pattern in fault.tables):
            return False
        if self._random.random() >= fault.share:
            return False
        if remaining is not None:
            self._remaining[at] = remaining - 1
        return True


class FaultyTarget(MemoryTarget):
    """One connection to a metastore in memory that fails on demand."""

    def __init__(self, settings: FaultySettings, faults: Faults, store: MemoryStore) -> None:
        super().__init__(settings, store)
        self._settings = settings
        self._faults = faults
        self._held = store

    def check(self) -> str:
        """`7 tables in memory, 2 faults`."""
        return f"{count(self._held.size, 'table')} in memory, {count(len(self._settings.faults), 'fault')}"

    def apply(self, operation: Operation) -> Outcome:
        """Apply the operation (see Target.apply), unless it meets a fault."""
        fault = self._faults.of(operation) if self._faults.any else None
        if fault is None:
            return self._done(operation)
        subject = f"{operation.key} at the faulty target {self._settings.name!r}"
        self._fail_before(fault, subject)
        outcome = self._done(operation)
        if fault.kind == "unknown_after":
            raise OutcomeUnknown(f"no answer about {subject}")
        return outcome

    def _done(self, operation: Operation) -> Outcome:
        return super().apply(operation) if self._settings.remember else Outcome.APPLIED

    def _fail_before(self, fault: Fault, subject: str) -> None:
        match fault.kind:
            case "refuse":
                raise Rejected(f"refused {subject}", "remove the fault from the settings of the target")
            case "unavailable":
                raise Unavailable(f"cannot reach {subject}")
            case "forbid":
                raise Forbidden(f"access denied to {subject}", "grant the permission")
            case "unknown_before" | "hang":
                time.sleep(fault.seconds)
                raise OutcomeUnknown(f"no answer about {subject}")
            case "bug":
                raise RuntimeError(f"an unexpected error for {subject}")
            case "delay":
                time.sleep(fault.seconds)


class _Opened:
    """The targets of this process by name: all lanes of one target see the same objects, also after a restart of it."""

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._stores: dict[str, MemoryStore] = {}
        self._faults: dict[str, tuple[FaultySettings, Faults]] = {}

    def open(self, settings: FaultySettings) -> FaultyTarget:
        """The target of that name. Its faults start over when its settings have changed."""
        with self._opening:
            store = self._stores.setdefault(settings.name, MemoryStore())
            held, faults = self._faults.get(settings.name, (None, Faults(settings.faults, settings.seed)))
            # Every lane opens a connection: with the same settings they share the faults, so that `times` is not
            # counted per lane.
            if held != settings:
                faults = Faults(settings.faults, settings.seed)
            self._faults[settings.name] = settings, faults
            return FaultyTarget(settings, faults, store)


KIND = TargetKind(settings=FaultySettings, open=_Opened().open)
