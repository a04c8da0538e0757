"""`pysync check`: whether a sidecar could run."""

from __future__ import annotations

import typer

from pysync import logs
from pysync.cli.output import AsJson, ConfigFile, print_json, print_table
from pysync.config import load_config
from pysync.jobs.check import Finding, check_config


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(check)


def check(config: ConfigFile, as_json: AsJson = False) -> None:
    """Check the configuration, files, ports and metastores, and show all problems at once; exit code 1 if any.

    Whatever pysync run would refuse is among them. Exit code 2 where nothing may run: the configuration is wrong, or
    the queue keeps a target that it does not name (see pysync target --help). Changes nothing. May be run while the
    sidecar runs: then it also tells what keeps listeners out of it.
    """
    loaded = load_config(config)
    logs.configure("error", "console")  # what is wrong is among the findings
    findings = check_config(loaded)
    if as_json:
        print_json([{"what": f.what, "ok": f.ok, "detail": f.detail} for f in findings])
    else:
        print_table("pysync check", ("", "what", "detail"), [_finding(f) for f in findings])
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _finding(finding: Finding) -> tuple[str, str, str]:
    return ("ok" if finding.ok else "PROBLEM", finding.what, finding.detail)
