"""Optional parts: what the sidecar asks of parts that only some users have. It is given them (pysync.parts)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pysync.config import Config, Partial
from pysync.control.server import Command
from pysync.journal import Journal
from pysync.queue import DataVersions, EventQueue
from pysync.sections import WebConfig
from pysync.targets.base import Target
from pysync.targets.settings import TargetSettings
from pysync.worker import Worker

Status = Callable[[], dict[str, Any]]
"""Gives the sidecar's status (docs/status.md)."""


class FileCopies(Protocol):
    """Copies the data files of all targets that want it."""

    def opener(
        self, settings: TargetSettings, open_target: Callable[[], Target], versions: DataVersions
    ) -> Callable[[], Target]:
        """What opens the target, with its files first where they are copied; `versions` are those of the target."""

    def discard(self, target: str, directory: str, base: str) -> None:
        """Remove a version of the location `base` at a target. Raises Unavailable or Rejected."""

    def status(self) -> dict[str, Any]:
        """How far copying is, by the target's name."""

    def close(self) -> None:
        """End what is under way; calls raise Unavailable from then on."""


class JournalReceiver(Protocol):
    """Sends what the journal has, and problems, to somebody."""

    worker: Worker

    def status(self) -> dict[str, Any]:
        """How far it is, as JSON values."""

    def close(self, *, complete: bool) -> None:
        """End; with `complete` nothing more comes into the journal."""


class Page(Protocol):
    """Serves the page, metrics and health by HTTP."""

    url: str

    def start(self) -> None:
        """Answer from now on."""

    def stop(self) -> None:
        """Answer no more; also if it never began to."""


@dataclass(frozen=True, slots=True)
class OptionalParts:
    """How each part is made, and what must be there for it (`needs`: see pysync.sidecar.needs).

    `copies` gets the targets and a directory for logs, `page` what it shows and the commands that it may give.
    """

    needs: Callable[[Config | Partial], Mapping[str, Callable[[], str]]]
    copies: Callable[[Sequence[TargetSettings], Path], FileCopies]
    receivers: Callable[[Config, EventQueue, Journal, Status], Sequence[JournalReceiver]]
    page: Callable[[WebConfig, Status, Mapping[str, Command]], Page]
