"""The process of `pysync run`: a sidecar from its start to a signal, and its messages to systemd."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import structlog

from pysync.config import Config
from pysync.sidecar.needs import assert_needs
from pysync.sidecar.optional import OptionalParts
from pysync.sidecar.reload import restart_process
from pysync.sidecar.sidecar import Sidecar
from pysync.sidecar.systemd import Systemd

_YOUNG, _MIDDLE, _OLD = 400_000, 20, 50

log = structlog.get_logger(__name__)


def collect_seldom() -> None:
    """Let the garbage collector look for cycles seldom.

    A window is a hundred thousand small objects that live for a moment and hold no cycles, so they go without it, and
    two or three windows are under way. With Python's own threshold (700) half of the drain's time was spent on looking
    at them, with that of one window a fifth (bench-replay, backlog).
    """
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)


def run(config: Config, file: Path, parts: OptionalParts, *, quarantine: bool = False) -> None:
    """Run the sidecar, with `config` from `file`, until SIGTERM or SIGINT. Raises PysyncError for what prevents it.

    After a reload the process restarts (pysync.sidecar.reload). Where a target hangs the process ends here: the
    interpreter would wait for the threads of a pool in which it hangs.
    """
    collect_seldom()
    assert_needs(config, parts)
    sidecar = Sidecar(config, parts, quarantine=quarantine, file=file)
    sidecar.ending.on_signals()
    systemd = Systemd()

    def over() -> bool:
        systemd.alive()
        return sidecar.reloads is not None and sidecar.reloads.due()

    try:
        sidecar.start()
        if sidecar.reloads:
            sidecar.reloads.on_signal()
        systemd.ready()
        sidecar.wait(over)
    except BaseException:
        _clean_up(sidecar)
        raise
    reloads = sidecar.reloads is not None and sidecar.reloads.accepted
    (systemd.reloading if reloads else systemd.stopping)()
    is_down = sidecar.stop()
    if reloads:
        restart_process()
    if not is_down:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(os.EX_OK)


def _clean_up(sidecar: Sidecar) -> None:
    """Stop a sidecar that has failed. An error here must not hide why."""
    try:
        sidecar.stop()
    except Exception as error:  # noqa: BLE001
        log.warning("stop_failed", reason=f"{type(error).__name__}: {error}")
