"""Ask or do: the commands that the running sidecar answers, and that this process carries out where none runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pysync.cli.output import ask_about
from pysync.control.client import NoSidecar


def ask_or_do(config: Path, target: str, command: str, **arguments: Any) -> dict[str, Any]:
    """What the running sidecar answers about a target; without one, this process does it (pysync.jobs.alone.alone)."""
    try:
        return ask_about(config, target, command, **arguments)
    except NoSidecar:
        from pysync.base import logs  # noqa: PLC0415 - only a process without a sidecar needs the targets' clients
        from pysync.config import load_config  # noqa: PLC0415
        from pysync.jobs.alone import alone  # noqa: PLC0415

        loaded = load_config(config)
        logs.configure("error", loaded.log.format)
        return alone(loaded, target, command, arguments)
