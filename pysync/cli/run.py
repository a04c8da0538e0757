"""`pysync run`: the sidecar."""

from __future__ import annotations

from typing import Annotated

import typer

from pysync import logs
from pysync.cli.output import ConfigFile
from pysync.config import load_config
from pysync.sidecar.process import run as run_sidecar


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(run)


def run(
    config: ConfigFile,
    quarantine: Annotated[
        bool,
        typer.Option("--quarantine", help="Rename a damaged queue file to FILE.damaged-TIME, and begin a new queue."),
    ] = False,
) -> None:
    """Run the sidecar until SIGTERM or Ctrl-C.

    The sidecar takes events from the listener, keeps them on disk, and replays them to every target. A stop or a kill
    loses nothing: after the next start the sidecar continues. Only one sidecar may use a queue directory.
    """
    loaded = load_config(config)
    logs.configure(loaded.log.level, loaded.log.format)
    run_sidecar(loaded, quarantine=quarantine)
