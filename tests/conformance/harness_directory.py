"""Targets of kind directory, the example of a kind that pysync does not know (tests/example)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.kinds import installed
from tests.conformance.harness_store import StoreHarness

EXAMPLE = Path(__file__).parents[1] / "example"


class DirectoryHarness(StoreHarness):
    """All targets share one directory. While it is open, the example can be imported, as if it were installed."""

    kind = "directory"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        sys.path.append(str(EXAMPLE))
        installed.cache_clear()
        (root / "tables").mkdir()
        self.create(hive.Database("default", "Default Hive database", f"file:{root}/data", {}))

    def place(self) -> dict[str, Any]:
        return {"directory": self._root / "tables"}

    def close(self) -> None:
        super().close()
        sys.path.remove(str(EXAMPLE))
        installed.cache_clear()
