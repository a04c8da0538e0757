"""One-off: a bootstrap without a sidecar, in this process (a migration, say), until the targets have caught up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from pysync.config import Config
from pysync.errors import PysyncError
from pysync.queue import EventQueue
from pysync.resync.bootstrap import Origin
from pysync.sidecar.sidecar import Sidecar
from pysync.sidecar.tuning import collect_seldom
from pysync.targets.kinds import target_kind

Tell = Callable[[Mapping[str, Any]], None]
"""Called with the status (docs/status.md) a few times a second."""


def run_once(
    config: Config,
    targets: Sequence[str],
    tell: Tell,
    *,
    origin: Origin | None = None,
    before: Callable[[EventQueue], object] = lambda _: None,
    after: Callable[[EventQueue], object] = lambda _: None,
) -> dict[str, Any]:
    """Bootstrap these targets, or resume an unfinished bootstrap; returns the last status.

    No listener is answered meanwhile: it keeps its events for `pysync run`. A notification log is polled, though.
    `origin` is read instead of the configuration's source. `before` is called when the queue is open, and may refuse by
    raising; `after` when all of it is finished.
    Raises PysyncError for a source or target that cannot be reached now, and for whatever keeps a sidecar from running;
    KeyboardInterrupt when it was told to end before.
    """
    collect_seldom()
    for settings in config.targets:
        if settings.name in targets:
            with closing(target_kind(settings.kind).open(settings)) as target:
                # Here a target that is away is an error; its drain would wait for it without end.
                target.check()
    sidecar = Sidecar(config, bridge=False, only=targets, origin=origin)
    sidecar.ending.on_signals()
    try:
        before(sidecar.queue)
        sidecar.bootstrapper.begin(targets)
        sidecar.start()
        sidecar.wait(lambda: _is_over(sidecar.status(), tell))
        status = sidecar.status()
        if is_finished(status):
            after(sidecar.queue)
    finally:
        sidecar.stop()
    if not is_finished(status):
        raise KeyboardInterrupt
    return status


def is_finished(status: Mapping[str, Any]) -> bool:
    """Whether the bootstrap that a status tells of is finished. Raises PysyncError when it tells of none."""
    if status["bootstrap"] is None:
        raise PysyncError("the bootstrap is gone from the queue", "if the queue was removed, run the command again")
    return bool(status["bootstrap"]["state"] == "finished")


def _is_over(status: Mapping[str, Any], tell: Tell) -> bool:
    tell(status)
    return is_finished(status) and all(target["queued"] == 0 for target in status["targets"])
