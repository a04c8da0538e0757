"""`pysync reload`: the running sidecar takes a changed pysync.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from pysync.cli.output import AsJson, ConfigFile, echo, print_json, progress
from pysync.control import reloading
from pysync.sections import load_outline


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(reload)


def reload(config: ConfigFile, as_json: AsJson = False) -> None:
    """Reload pysync.toml in the running sidecar.

    The sidecar reads the file that it was started with. If anything is wrong with it, the command says so, and nothing
    changes. Else the sidecar stops and starts within seconds, with the same process id; nothing is lost. The command
    waits for that. [queue] directory and the name of the source can only change by a restart.
    """
    answer = reload_sidecar(load_outline(config).directory)
    if as_json:
        print_json(answer)
        return
    changes = answer["changes"]
    echo(f"reloaded {answer['file']}: {', '.join(changes) if changes else 'no setting has changed'}")


def reload_sidecar(directory: Path, **arguments: Any) -> dict[str, Any]:
    """Have the sidecar on that queue take its file again; its answer, once it runs with it. Raises PysyncError."""
    before, answer = reloading.begin(directory, **arguments)
    with progress("waiting for the sidecar") as on_progress:
        reloading.wait(directory, before, on_progress)
    return answer
