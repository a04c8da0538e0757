"""Targets of kind faulty, without faults: a metastore in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pysync.lab.faulty import KIND, FaultySettings
from pysync.lab.memory import MemoryMetastore
from tests.conformance.harness import BothWays, HmsHarness


class FaultyHarness(HmsHarness):
    """As those of kind hms, but nothing has files."""

    kind = "faulty"
    features = HmsHarness.features - {"managed", "column statistics"}  # no setting asks for those

    def __init__(self, root: Path) -> None:
        self._own = self._target()
        super().__init__("", root, MemoryMetastore(self._own._held))

    def open(self, **settings: Any) -> Any:
        target = self._target(**settings)
        self.record(target)
        return target

    def _target(self, **settings: Any) -> Any:
        return KIND.open(FaultySettings(name="dr", kind="faulty", **settings))


class FaultyBothWaysHarness(BothWays, FaultyHarness):
    """As its name says."""
