"""The process of `pysync run`: a sidecar from its start to a signal, and what systemd is told of it."""

from __future__ import annotations

import os
import sys

from pysync.config import Config
from pysync.sidecar.needs import assert_needs
from pysync.sidecar.sidecar import Sidecar
from pysync.sidecar.systemd import Systemd
from pysync.sidecar.tuning import collect_seldom


def run(config: Config, *, quarantine: bool = False) -> None:
    """Run the sidecar until SIGTERM or SIGINT. Raises PysyncError for whatever keeps it from running.

    Where a target hangs the process ends here: the interpreter would wait for the threads of a pool in which it hangs.
    """
    collect_seldom()
    assert_needs(config)
    sidecar = Sidecar(config, quarantine=quarantine)
    sidecar.ending.on_signals()
    systemd = Systemd()

    def alive() -> bool:
        systemd.alive()
        return False

    try:
        sidecar.start()
        systemd.ready()
        sidecar.wait(alive)
    except BaseException:
        sidecar.stop()
        raise
    systemd.stopping()
    if not sidecar.stop():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(os.EX_OK)
