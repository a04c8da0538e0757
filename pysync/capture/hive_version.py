"""The version of Hive that the source's metastores are of, by which views are read (pysync.targets.source_hive).

A listener tells it with each report. A metastore without one is asked: Hive 4 tells its version, older ones always 3.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import structlog

from pysync.base.errors import PysyncError
from pysync.control.client import ask_if_running
from pysync.metastore.client import Metastore
from pysync.queue import EventQueue, queue_at_rest
from pysync.targets.source_hive import release_of

_VERSION = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,63}")

log = structlog.get_logger(__name__)


def valid_version(value: object) -> str:
    """The version that a listener tells; "" if it tells none, or what cannot be one."""
    return value if isinstance(value, str) and _VERSION.fullmatch(value) else ""


class FoundVersion:
    """The version that was found at one source, durable in the queue's notes. To be read from any thread."""

    def __init__(self, queue: EventQueue, source: str) -> None:
        self.source = source
        self._notes = queue.notes
        self._version = queue.notes.get(_note_of(source))

    def version(self) -> str | None:
        """The version, such as 3.1.3; None if it was never found."""
        return self._version

    def note(self, versions: Collection[str]) -> None:
        """Note that the metastores of the source are of these versions now.

        While one of them is of the version known, it remains: so a rolling upgrade changes it once, at its end. Raises
        QueueFull and QueueFailed.
        """
        if not versions or self._version in versions:
            return
        before, version = self._version, min(versions)
        self._notes.put(_note_of(self.source), version)
        self._version = version
        log.info("hive_version_found", source=self.source, version=version, before=before)


def ask_version(found: FoundVersion, source: Callable[[], AbstractContextManager[Metastore]]) -> None:
    """Note what the source's metastore answers. If it does not answer, or not truly, nothing changes."""
    with suppress(PysyncError), source() as metastore:
        version = valid_version(metastore.version())
        if release_of(version):
            found.note([version])


def stored_version(directory: Path, source: str) -> str | None:
    """What was found at a source, for a process that is not the sidecar; `directory` is the queue's.

    The running sidecar is asked, or the queue is read where none runs. Raises PysyncError if neither is possible.
    """
    answer = ask_if_running(directory, "status")
    if answer is not None:
        version: str | None = answer.get("hive_version")
        return version
    with queue_at_rest(directory) as queue:
        return queue.notes.get(_note_of(source)) if queue else None


def _note_of(source: str) -> str:
    return f"hive-version:{source}"
