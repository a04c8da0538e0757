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
    """Check the configuration, files, ports and metastores, and show all problems at once.

    The check finds everything that pysync run would refuse, and changes nothing. It may run beside the sidecar; then it
    also shows why listeners cannot connect.

    Exit code 0 if there is no problem, 1 if there is one. Exit code 2 if the sidecar cannot run: the configuration is
    wrong, or the queue keeps a target that pysync.toml does not name (see pysync target --help).
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
