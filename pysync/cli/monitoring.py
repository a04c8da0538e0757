"""`pysync monitoring`: alerts for Prometheus and a dashboard for Grafana, written to a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pysync.base.errors import UsageError
from pysync.base.rights import write_own
from pysync.cli.arguments import path
from pysync.cli.output import echo
from pysync.setup.conf_files import shipped
from pysync.setup.monitoring import DASHBOARD, RULES, address, dashboard, rules


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(monitoring)


def monitoring(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIRECTORY", parser=path, help="Directory to write to. It is created.")
    ],
    runbook: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address of your copy of docs/failures.md: alerts and dashboard link to it."),
    ] = None,
    page: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the sidecar's page: the dashboard links to it.")
    ] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace files that were changed.")] = False,
) -> None:
    """Create the alerts for Prometheus (pysync.rules.yml) and the dashboard for Grafana (grafana-dashboard.json).

    With --runbook each alert's runbook_url is the address of its section there. Needs neither a configuration nor a
    sidecar. A file that was changed since it was written is not replaced, unless --force is given.
    """
    runbook, page = (None if it is None else address(it) for it in (runbook, page))
    texts = {
        RULES: rules(shipped(f"monitoring/{RULES}"), runbook),
        DASHBOARD: dashboard(shipped(f"monitoring/{DASHBOARD}"), runbook, page),
    }
    try:
        if not force and (changed := [name for name in texts if _differs(out / name, texts[name])]):
            raise UsageError(f"{out / changed[0]} has been changed", "give another --out, or --force to replace it")
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_own(out / name, text.encode(), mode=0o644)
            echo(str(out / name))
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}", "give another --out DIRECTORY") from error


def _differs(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8", errors="replace") != text
