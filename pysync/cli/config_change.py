"""What commands that change pysync.toml have in common: they make the change or show it, and say what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pysync.base import logs
from pysync.base.errors import UsageError
from pysync.cli.output import echo, print_json, progress
from pysync.config_file.file import Change, drafted
from pysync.config_file.statements import Key
from pysync.config_file.targets import Setting, key_of, setting_of
from pysync.jobs.configuration import Reconfigured, reconfigure
from pysync.sidecar.registry import Act

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show how the file would change.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the file; `effect` completes the sentence `target NAME …`; `act` is what it means for the queue."""

    config: Path
    target: str
    effect: str
    change: Change
    act: Act | None = None

    def run(self, decided: str | None = None) -> Reconfigured:
        """Make the change; raises what `reconfigure` raises."""
        logs.configure("error", "console")
        why = f"target {self.target} {self.effect}"
        with progress("waiting for the sidecar") as on_progress:
            return reconfigure(
                self.config, self.change, act=self.act, decided=decided, why=why, on_progress=on_progress
            )

    def show(self, *, as_json: bool) -> None:
        """Print how the file would change. Raises UsageError with the problems of the result."""
        lines = drafted(self.config, self.change).diff()
        if as_json:
            print_json({"target": self.target, "diff": lines})
            return
        for line in lines or [f"{self.config} would not change"]:
            echo(line)

    def print(self, done: Reconfigured, **more: Any) -> None:
        """Print what came of it as JSON, with `more`."""
        taken = None if done.taken is None else list(done.taken)
        fields = {"target": self.target, "written": done.written, "changes": taken, "diff": done.draft.diff()}
        print_json({**fields, **more})

    def print_result(self, done: Reconfigured) -> None:
        """Say what came of it."""
        if not done.written and not done.taken:
            echo(f"target {self.target} is as it should be; nothing was changed")
            return
        after = "; no sidecar runs: it counts from the next start on" if done.taken is None else ""
        echo(f"target {self.target} {self.effect}{after}")


def change_or_show(edit: Edit, *, dry_run: bool, as_json: bool) -> None:
    """Make a change that nobody has to be asked about, or show it."""
    if dry_run:
        edit.show(as_json=as_json)
        return
    done = edit.run()
    if as_json:
        edit.print(done)
    else:
        edit.print_result(done)


def setting(value: Any) -> Setting:
    """A setting of a target, written KEY=VALUE."""
    try:
        return setting_of(str(value))
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None


class Unset(NamedTuple):
    """A key of a target that is to be removed."""

    key: Key


def key(value: Any) -> Unset:
    """A key of a target."""
    try:
        return Unset(key_of(str(value)))
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None
