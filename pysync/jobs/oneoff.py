"""What is done without a sidecar, in this process: a bootstrap, a replay; what people do with trash and held drops."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any

from pysync.base.errors import PysyncError
from pysync.config import Config
from pysync.control.server import WHO, Command
from pysync.queue import EventQueue
from pysync.queue.queue_file import FILE
from pysync.replay.window.translate import Translator
from pysync.resync.bootstrap import BootstrapOrigin
from pysync.resync.ranges import counted
from pysync.sidecar import held, trash
from pysync.sidecar.acts import journal_of, recorded
from pysync.sidecar.process import collect_seldom
from pysync.sidecar.registry import resting
from pysync.sidecar.sidecar import Sidecar
from pysync.targets.kinds import target_kind

# One-off: a bootstrap or replay without a sidecar, in this process, until the targets have caught up.


OnProgress = Callable[[Mapping[str, Any]], None]
"""Called with the status (docs/status.md) a few times a second."""


def run_once(
    config: Config,
    targets: Sequence[str],
    on_progress: OnProgress,
    *,
    origin: BootstrapOrigin | None = None,
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
        sidecar.bootstrapper.begin(targets)

    _check(config, targets)
    with _run(Sidecar(config, bridge=False, only=targets, origin=origin), begin, is_finished, on_progress) as sidecar:
        status = sidecar.status()
        after(sidecar.queue)
    return status


def replay_once(config: Config, target: str, request: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    """Replay a range of the history at a target (see resync.ranges); returns the last status.

    Raises as `run_once`, and PysyncError if there is no queue, or it does not hold the range.
    """
    if not (config.queue.directory / FILE).exists():
        raise PysyncError(f"there is no queue in {config.queue.directory}", "start the sidecar: pysync run -c FILE")
    _check(config, [target])

    def begin(sidecar: Sidecar) -> None:
        sidecar.answers["replay"]({**request, "target": target})

    def is_done(status: Mapping[str, Any]) -> bool:
        return any(it["replay"]["state"] in {"finished", "failed"} for it in status["targets"] if it["replay"])

    with _run(Sidecar(config, bridge=False, only=[target]), begin, is_done, on_progress) as sidecar:
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


# What a replay would refresh, without a sidecar. The queue is only read.


_LOCK_SECONDS = 1.0

Ask = Callable[[Mapping[str, Any]], dict[str, Any]]


@contextmanager
def offline_planner(config: Config, target: str) -> Iterator[Ask]:
    """What answers as the command `replay plan` of a sidecar does. Raises PysyncError if there is no queue."""
    directory = config.queue.directory
    # Opening it would make a queue.
    if not (directory / FILE).exists():
        raise PysyncError(f"there is no queue in {directory}", "start the sidecar: pysync run -c FILE")
    policy = Translator.of(next(it for it in config.targets if it.name == target)).policy
    with EventQueue(directory, min_free_bytes=0, lock_timeout=_LOCK_SECONDS) as queue:
        yield lambda request: {"target": target, **counted(queue, policy, request)}


# What people do with the trash of a target, and decide about what it holds, while no sidecar runs.


def alone(config: Config, target: str, command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a command about the trash of a target (sidecar.trash), or what it holds or keeps (sidecar.held).

    It is done in this process and put into the journal. What is decided is carried out by the next sidecar, or load.
    Raises PysyncError, also if a decision finds no queue.
    """
    with ExitStack() as stack:
        if command in trash.COMMANDS:
            others = [it.name for it in config.targets]
            its_trash = trash.Trash(next(it for it in config.targets if it.name == target), others)
            act: Command = partial(trash.COMMANDS[command], its_trash)
        else:
            queue = stack.enter_context(resting(config.queue.directory))
            act = partial(held.COMMANDS[command], held.Resting.of(queue, target))
        journal = stack.enter_context(closing(journal_of(config, lambda: False)))
        request = {**arguments, "target": target, WHO: f"uid {os.getuid()} (command line)"}
        return dict(recorded({command: act}, journal.append)[command](request))
