"""One-off: a bootstrap or replay without a sidecar, in this process, until the targets have caught up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.installation import start_sidecar
from pysync.config import Config
from pysync.parts import ALL_PARTS
from pysync.queue import EventQueue
from pysync.queue.queue_file import FILE
from pysync.resync.bootstrap import BootstrapOrigin, begin_bootstraps
from pysync.sidecar.optional import OptionalParts
from pysync.sidecar.process import collect_seldom
from pysync.sidecar.sidecar import Sidecar
from pysync.targets.kinds import target_kind

OnProgress = Callable[[Mapping[str, Any]], None]
"""Called with the status (docs/status.md) a few times a second."""


def run_once(
    config: Config,
    targets: Sequence[str],
    on_progress: OnProgress,
    *,
    origin: BootstrapOrigin | None = None,
    parts: OptionalParts = ALL_PARTS,
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

    def begin(sidecar: Sidecar) -> None:
        before(sidecar.queue)
        begin_bootstraps([sidecar.resyncs[it].bootstrap for it in targets])

    _check(config, targets)
    job = Sidecar(config, parts, bridge=False, only=targets, origin=origin)
    with _run(job, begin, is_finished, on_progress) as sidecar:
        status = sidecar.status()
        after(sidecar.queue)
    return status


def replay_once(config: Config, target: str, request: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    """Replay a range of the history at a target (see resync.ranges); returns the last status.

    Raises as `run_once`, and PysyncError if there is no queue, or it does not hold the range.
    """
    if not (config.queue.directory / FILE).exists():
        raise PysyncError(f"there is no queue in {config.queue.directory}", f"start the sidecar: {start_sidecar()}")
    _check(config, [target])

    def begin(sidecar: Sidecar) -> None:
        sidecar.answers["replay"]({**request, "target": target})

    def is_done(status: Mapping[str, Any]) -> bool:
        return any(it["trigger"] == "history" and it["ended_at"] for of in status["targets"] for it in of["resyncs"])

    with _run(Sidecar(config, ALL_PARTS, bridge=False, only=[target]), begin, is_done, on_progress) as sidecar:
        return sidecar.status()


def _check(config: Config, targets: Collection[str]) -> None:
    """Reach the targets. Here one that is away is an error; its drain would wait for it without end."""
    collect_seldom()
    for settings in config.targets:
        if settings.name in targets:
            with closing(target_kind(settings.kind).open(settings)) as target:
                target.check()


@contextmanager
def _run(
    sidecar: Sidecar,
    begin: Callable[[Sidecar], object],
    is_done: Callable[[Mapping[str, Any]], bool],
    on_progress: OnProgress,
) -> Iterator[Sidecar]:
    """Run the sidecar until it is done and its targets have everything; the block is run before it is stopped.

    Raises KeyboardInterrupt when it was told to end before.
    """

    def is_over() -> bool:
        status = sidecar.status()
        on_progress(status)
        return is_done(status) and all(target["queued"] == 0 for target in status["targets"])

    sidecar.ending.on_signals()
    try:
        begin(sidecar)
        sidecar.start()
        sidecar.wait(is_over)
        if not is_done(sidecar.status()):
            raise KeyboardInterrupt
        yield sidecar
    finally:
        sidecar.stop()


def is_finished(status: Mapping[str, Any]) -> bool:
    """Whether the bootstrap that a status reports is finished. Raises PysyncError when it reports none."""
    if status["bootstrap"] is None:
        raise PysyncError("the bootstrap is gone from the queue", "if the queue was removed, run the command again")
    return bool(status["bootstrap"]["state"] == "finished")
