"""`pysync uninstall`: remove what `pysync init` created."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from pysync.base import logs
from pysync.base.errors import PysyncError, UsageError
from pysync.cli.init import ConfigDir, DryRun
from pysync.cli.output import DEFAULT_CONFIG, AsJson, echo, print_changes, print_json, print_table
from pysync.setup.record import RECORD_NAME, InstallRecord, read_record
from pysync.setup.removal import Uninstall, finish
from pysync.setup.removal import uninstall as plan
from pysync.setup.removal_check import assert_stopped, unapplied

Purge = Annotated[bool, typer.Option("--purge", help="Also remove the queue, spool, token, pysync.toml and backups.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Force = Annotated[bool, typer.Option("--force", help="With --purge: also if targets have not taken all events.")]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(uninstall)


def uninstall(
    *,
    config_dir: ConfigDir = DEFAULT_CONFIG.parent,
    purge: Purge = False,
    yes: Yes = False,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Remove what pysync init made: the listener from hive-site.xml, the jar, and the systemd unit.

    The sidecar must be stopped. The queue, the spool, the token, pysync.toml and the backups of hive-site.xml are left,
    and the output says how to remove them. With --purge they are removed, too, after a question. A file that was
    changed since pysync init wrote it is left, and so is a directory that was there before.
    """
    record = read_record(config_dir.absolute())
    if record is None:
        hint = "name the directory that pysync init used: --config-dir DIR"
        raise UsageError(f"there is no record of pysync init: {config_dir / RECORD_NAME}", hint)
    logs.configure("warning", "console")
    assert_stopped(record.queue)
    steps = plan(record, purge=purge)
    if purge and not force and (waiting := unapplied(record.queue, record.owner())):
        message = "\n".join([*waiting[:-1], f"{waiting[-1]}: these changes would be lost"])
        raise PysyncError(message, "start the sidecar until they are applied, or give --force")
    if problems := [problem for it in steps.removals for problem in it.problems()]:
        raise UsageError("\n".join(problems))
    if purge and not (yes or dry_run or typer.confirm(_question(steps), err=True)):
        raise typer.Exit(1)
    if not dry_run:
        _apply(steps, record, purge=purge)
        steps = replace(steps, left=plan(record, purge=purge).left)  # the edit of hive-site.xml leaves a backup
    if as_json:
        print_json(_as_json(steps, dry_run=dry_run))
    else:
        _print(steps, dry_run=dry_run)


def _question(steps: Uninstall) -> str:
    paths = "".join(f"\n  {it.path}" for it in steps.removals)
    return f"Remove all this for good?{paths}\n"


def _apply(steps: Uninstall, record: InstallRecord, *, purge: bool) -> None:
    for it in steps.removals:
        try:
            it.apply()
        except OSError as error:
            raise PysyncError(f"cannot remove {it.path}: {error.strerror}", "run the command again") from error
    if purge:
        finish(record)


def _as_json(steps: Uninstall, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "removed": [{"what": it.what, "path": str(it.path)} for it in steps.removals],
        "left": [{"path": str(it.path), "why": it.why, "command": it.command} for it in steps.left],
        "next": list(_next(steps)),
    }


def _print(steps: Uninstall, *, dry_run: bool) -> None:
    rows = [("remove" if dry_run else "removed", it.what, it.path) for it in steps.removals]
    if rows:
        title = "pysync uninstall, dry run: nothing is removed" if dry_run else "pysync uninstall"
        print_table(title, ("", "what", "path"), rows)
    else:
        echo("nothing to do: everything is removed already")
    for it in steps.removals:
        if it.rewrite is not None:
            print_changes(it.path, it.rewrite.changes)
    if steps.left:
        echo("\nLeft, with the command that removes it:\n")
    for left in steps.left:
        echo(f"  {left.command}    # {left.why}")
    if lines := list(_next(steps)):
        echo("\nNext:\n")
    for line in lines:
        echo(f"  {line}")


def _next(steps: Uninstall) -> list[str]:
    """Return the next steps of a person, as shell commands."""
    done = {it.what for it in steps.removals}
    lines = ["systemctl daemon-reload"] if "systemd unit" in done else []
    if "properties in hive-site.xml" in done:
        lines.append("systemctl restart hive-metastore    # or as HMS is restarted on this host")
    return lines
