"""`pysync run`: the sidecar."""

from __future__ import annotations

from typing import Annotated

import structlog
import typer

from pysync.base import logs
from pysync.base.errors import PysyncError
from pysync.cli.output import ConfigFile
from pysync.config import load_config
from pysync.parts import ALL_PARTS
from pysync.sidecar.process import run as run_sidecar

log = structlog.get_logger(__name__)


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(run)


def run(
    config: ConfigFile,
    quarantine: Annotated[
        bool,
        typer.Option(
            "--quarantine",
            help="Rename a damaged queue file to FILE.damaged-TIME, and begin a new queue. Source and targets are then "
            "compared.",
        ),
    ] = False,
) -> None:
    """Run the sidecar until SIGTERM or Ctrl-C.

    The sidecar takes events from the listener, keeps them on disk, and replays them to every target. A stop or a kill
    loses nothing: after the next start the sidecar continues. Only one sidecar may use a queue directory. SIGHUP does
    what `pysync reload` does.
    """
    loaded = load_config(config)
    logs.configure(loaded.log.level, loaded.log.format)
    try:
        run_sidecar(loaded, config, ALL_PARTS, quarantine=quarantine)
    except PysyncError as error:
        if loaded.log.format != "json":
            raise
        # What reads JSON from standard error must learn of the end, too.
        log.error("sidecar_failed", reason=error.message, hint=error.hint)
        raise typer.Exit(error.exit_code) from error
