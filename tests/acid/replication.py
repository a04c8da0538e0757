"""A real Hive whose tables go to targets of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pysync.lab.demo.stage import Stage
from tests.acid.hive import HiveAndMetastore
from tests.acid.targets import Read, other_targets

VERSIONS = ("3.1.3", "4.2.0")
_OPTIONS = """transactional = "snapshot"
transactional_poll_seconds = 1

[targets.copy]
rewrite = "parquet"
settle_seconds = 0.2
"""


@dataclass(frozen=True)
class Replication:
    """A stage with targets of all kinds, and what reads the definitions at each."""

    stage: Stage
    readers: dict[str, Read]

    @property
    def hive(self) -> Any:
        """The HiveAndMetastore."""
        return self.stage.source


@contextmanager
def replicated(version: str, directory: Path) -> Iterator[Replication]:
    """All of it runs, and the source has the database `w`. The stage's own target is in place, others in versions."""
    source: Any = partial(HiveAndMetastore, version)
    with (
        other_targets(directory, directory / "stage/source/warehouse") as others,
        Stage(directory / "stage", options=_OPTIONS + others.options, source=source) as stage,
    ):
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        made = Replication(stage, others.readers(stage))
        made.hive.run("create database w")
        yield made
