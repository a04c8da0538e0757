"""The process of `pysync run`: a sidecar from its start to a signal, and what systemd is told of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import structlog

from pysync.config import Config
from pysync.sidecar.needs import assert_needs
from pysync.sidecar.reload import begin_anew
from pysync.sidecar.sidecar import Sidecar
from pysync.sidecar.systemd import Systemd
from pysync.sidecar.tuning import collect_seldom

log = structlog.get_logger(__name__)


def run(config: Config, file: Path, *, quarantine: bool = False) -> None:
    """Run the sidecar, with `config` from `file`, until SIGTERM or SIGINT. Raises PysyncError for what prevents it.

    After a reload the process begins anew (pysync.sidecar.reload). Where a target hangs the process ends here: the
    interpreter would wait for the threads of a pool in which it hangs.
    """
    collect_seldom()
    assert_needs(config)
    sidecar = Sidecar(config, quarantine=quarantine, file=file)
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
        begin_anew()
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
