"""The trash of a target: what people do with it, and the worker that drops what has been in it for long enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.base.text import quoted, shortened, shown
from pysync.model.names import TableName
from pysync.targets.apply.trash import Trashed
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.targets.target import StoreTarget
from pysync.worker import Finished, Worker

_EVERY_SECONDS = 60.0
_ANSWER_SECONDS = 4.0  # of one answer: who has more to remove asks again
_PACE_SECONDS = 0.1
"""How far apart the drops of expired tables are."""

log = structlog.get_logger(__name__)


class Trash:
    """The trash of one target. Each call opens a connection of its own.

    What one of the `others` has in the same database, by their names, is theirs.
    """

    def __init__(self, settings: TargetSettings, others: Collection[str] = ()) -> None:
        self._settings, self._others = settings, frozenset(others) - {settings.name}

    def listed(self, request: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - a command gets its request
        """`tables`: what is in the trash, the oldest first."""
        with self._opened() as target:
            trashed = sorted(self._own(target), key=lambda it: (it.at, it.name))
        return {"target": self._settings.name, "tables": [self._as_json(it) for it in trashed]}

    def restore(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Move the table `name` back to where it was, or to `as`; `restored` is its name. Raises PysyncError."""
        name, to = request.get("name"), request.get("as")
        if not isinstance(name, str):
            raise PysyncError(f"{shortened(shown(name), 80)} is no name of a table", "see: pysync trash list")
        with self._opened() as target:
            restored = target.restore(name, TableName.parse(str(to)) if to is not None else None)
        log.warning("trash_restored", target=self._settings.name, name=name, table=str(restored))
        return {"target": self._settings.name, "name": name, "restored": str(restored)}

    def empty(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Drop for good what was dropped `older_than` seconds ago or earlier: `removed` tables, `left` for later."""
        seconds = request.get("older_than") or 0
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
            raise PysyncError(f"older_than must be a number of seconds, not {shortened(shown(seconds), 80)}")
        with self._opened() as target:
            due = time.time() - seconds
            names = [it.name for it in self._own(target) if it.at <= due]
            removed, tried = 0, 0
            until = time.monotonic() + _ANSWER_SECONDS
            while tried < len(names) and time.monotonic() < until:
                removed, tried = removed + target.expunge(names[tried]), tried + 1
        log.warning("trash_emptied", target=self._settings.name, tables=removed)
        return {"target": self._settings.name, "removed": removed, "left": len(names) - tried}

    def _own(self, target: StoreTarget) -> list[Trashed]:
        return [it for it in target.trashed() if it.target not in self._others]

    def _as_json(self, trashed: Trashed) -> dict[str, Any]:
        fields = {"name": trashed.name, "table": str(trashed.table), "source": trashed.source, "at": trashed.at}
        return {**fields, "expires_at": trashed.at + self._settings.trash_keep}

    @contextmanager
    def _opened(self) -> Iterator[StoreTarget]:
        with opened(self._settings) as target:
            yield target


COMMANDS: Mapping[str, Callable[[Trash, Mapping[str, Any]], dict[str, Any]]] = {
    "trash list": Trash.listed,
    "trash restore": Trash.restore,
    "trash empty": Trash.empty,
}
"""By their names in requests."""


class Sweeper:
    """The worker that drops for good what this source dropped `trash_keep` ago, while the target is not `paused`."""

    def __init__(
        self,
        settings: TargetSettings,
        source: str,
        paused: Callable[[], object],
        clock: Callable[[], float] = time.time,
        others: Collection[str] = (),
    ) -> None:
        """`others` are the names of the source's targets: what they dropped is theirs, in whatever database."""
        self._settings = settings
        self._others = frozenset(others) - {settings.name}
        self._source = source
        self._paused = paused
        self._clock = clock
        self.worker = Worker(f"trash-{settings.name}", self.turn, every=_EVERY_SECONDS, retry=_EVERY_SECONDS)

    def start(self) -> None:
        """Begin, where the settings say so; waits for nothing."""
        if self._settings.drops == "trash" and self._settings.mode != "shadow":
            self.worker.start()

    def turn(self) -> None:
        """Drop what is due. Raises PysyncError if the target cannot be reached."""
        if not self._paused():
            with opened(self._settings) as target:
                removed = sum(self._removed(target, it) for it in target.trashed() if self._is_due(it))
            if removed:
                log.info("trash_swept", target=self._settings.name, tables=removed)
        self.worker.succeeded()

    def _is_due(self, trashed: Trashed) -> bool:
        # What another source dropped is for its sidecar.
        is_own = trashed.source == self._source and trashed.target not in self._others
        return is_own and trashed.at + self._settings.trash_keep <= self._clock()

    def _removed(self, target: StoreTarget, trashed: Trashed) -> bool:
        if self.worker.stopping.wait(_PACE_SECONDS):
            raise Finished
        return not self._paused() and target.expunge(trashed.name)


@contextmanager
def opened(settings: TargetSettings) -> Iterator[StoreTarget]:
    """The target, which must be of a kind that has a trash. Raises PysyncError otherwise."""
    target = target_kind(settings.kind).open(settings)
    try:
        if not settings.has_trash or not isinstance(target, StoreTarget):
            name = quoted(settings.name)
            raise PysyncError(f"target {name} is of kind {settings.kind}, which has no trash", "kind hms has one")
        yield target
    finally:
        target.close()
