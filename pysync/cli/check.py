"""`pysync check`: whether a sidecar could run."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import typer

from pysync.base import logs
from pysync.base.rights import as_user
from pysync.cli.output import AsJson, ConfigFile, complain, print_json, print_table
from pysync.config import Partial, load_partial
from pysync.setup.check import Finding, check_config


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(check)


def check(config: ConfigFile, as_json: AsJson = False) -> None:
    """Check the configuration, files, ports and metastores, and show all problems at once.

    The check finds everything that pysync run would refuse, and changes nothing. If a part of pysync.toml has problems,
    the servers, files and ports that the other parts name are tried all the same. The check may run beside the
    sidecar; then it also shows why listeners cannot connect. Root checks with the rights of the user who owns the
    directory of the queue.

    Exit code 0 if there is no problem, 1 if there is one. Exit code 2 if pysync.toml is wrong, or if the queue keeps a
    target that it does not name (see pysync target --help).
    """
    loaded = load_partial(config)
    logs.configure("error", "console")  # what is wrong is among the findings
    with _rights_of_sidecar(loaded):
        findings = check_config(loaded)
    if as_json:
        print_json([{"what": f.what, "ok": f.ok, "detail": f.detail} for f in findings])
    else:
        complain("\n".join(loaded.problems))
        rest = findings[len(loaded.problems) :]
        rows = [_finding(it) for it in sorted(rest, key=lambda it: it.ok)]
        print_table("pysync check", ("", "what", "detail"), rows, {"ok": "green", "PROBLEM": "bold red"})
    if not all(finding.ok for finding in findings):
        raise typer.Exit(2 if any(finding.by_file for finding in findings) else 1)


def _rights_of_sidecar(config: Partial) -> AbstractContextManager[None]:
    """Root may read what the sidecar may not, and is not the owner of the files that the sidecar has."""
    if config.queue is None or not config.queue.directory.is_dir():
        return nullcontext()
    status = config.queue.directory.stat()
    return as_user((status.st_uid, status.st_gid))


def _finding(finding: Finding) -> tuple[str, str, str]:
    return ("ok" if finding.ok else "PROBLEM", finding.what, finding.detail)
