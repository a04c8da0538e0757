"""What is compared: a real source metastore that survives a kill, and what carries its changes to the embedded AWS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from pysync.lab.aws import EmbeddedAws
from pysync.metastore.client import Metastore


class Contender(Protocol):
    """A contender, started. Each has a source and an AWS of its own."""

    aws: EmbeddedAws
    carries: bool
    """Whether changes get to the AWS at all; those that carry none show what a statement takes without."""

    def source(self) -> AbstractContextManager[Metastore]:
        """A client of the source metastore."""

    def kill(self) -> None:
        """SIGKILL to every process of the contender, the metastore's among them."""

    def revive(self) -> None:
        """Start them again, and return when the metastore answers."""

    def notes(self) -> Iterator[str]:
        """What else there is to say of the run: statements that failed, events that are parked."""
