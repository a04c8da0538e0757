"""pysync as a contender: the listener in the source, a sidecar, a target of kind `glue` or `athena`; also without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from pysync.lab import EmbeddedMetastore
from pysync.lab.aws import EmbeddedAws
from pysync.lab.demo.lake import Lake, LakeKind
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.compare.source import s3_settings


class Pysync:
    """A stage with a lake, as a contender."""

    def __init__(self, stage: Stage, aws: EmbeddedAws, *, carries: bool) -> None:
        self.aws, self.carries = aws, carries
        self._stage = stage

    def source(self) -> AbstractContextManager[Metastore]:
        """A client of the source."""
        return Metastore(self._stage.source.uri, timeout=60)

    def kill(self) -> None:
        """The metastore, with the listener in it, and the sidecar."""
        self._stage.source.kill()
        self._stage.kill_sidecar()

    def revive(self) -> None:
        """Start both, or start them again."""
        self._stage.source.start()
        if self.carries:
            self._stage.start_sidecar()

    def notes(self) -> Iterator[str]:
        """What the sidecar has not applied."""
        if not self.carries:
            return
        (target,) = self._stage.status()["targets"]
        yield f"{target['parked']} events parked, {target['queued']} queued"


class Bare:
    """A metastore without a listener."""

    def __init__(self, metastore: EmbeddedMetastore, aws: EmbeddedAws) -> None:
        self.aws, self.carries = aws, False
        self._metastore = metastore

    def source(self) -> AbstractContextManager[Metastore]:
        """A client of it."""
        return Metastore(self._metastore.uri, timeout=60)

    def kill(self) -> None:
        """There is nothing else."""
        self._metastore.kill()

    def revive(self) -> None:
        """Start it, or start it again."""
        self._metastore.start()

    def notes(self) -> Iterator[str]:
        """It does nothing that could fail."""
        yield from ()


@contextmanager
def bare(directory: Path) -> Iterator[Bare]:
    """The source alone."""
    metastore = EmbeddedMetastore(directory / "source", database="disk", overrides=s3_settings(directory / "s3"))
    with EmbeddedAws(directory / "aws") as aws:
        contender = Bare(metastore, aws)
        try:
            contender.revive()
            yield contender
        finally:
            metastore.kill()


@contextmanager
def pysync(kind: LakeKind, directory: Path, *, with_sidecar: bool = True) -> Iterator[Pysync]:
    """With the defaults, but for what says where things are, and the demo's interval of polls of Athena.

    Without a sidecar events stay in the listener's spool: all that a statement waits for.
    """
    lake = Lake(directory / "aws", kind)
    with Stage(directory, database="disk", source=_source, lake=lake) as stage:
        stage.start_target()
        contender = Pysync(stage, lake.aws, carries=with_sidecar)
        contender.revive()
        yield contender


def _source(directory: Path, *, overrides: dict[str, str], **others: Any) -> EmbeddedMetastore:
    own = s3_settings(directory.parent / "s3")
    return EmbeddedMetastore(directory, overrides={**overrides, **own}, **others)
