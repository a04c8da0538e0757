"""The commands, and where each is: a module is imported when one of its commands is asked for, and no sooner.

Most commands only ask the running sidecar. What the others need (a metastore's client, Spark, AWS) takes ten times as
long to import as the answer takes.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

MODULES = {
    "run": "run",
    "status": "status",
    "check": "check",
    "bootstrap": "bootstrap",
    "dump": "dump",
    "load": "dump",
    "copy": "copy",
    "verify": "verify",
    "plan": "plan",
    "pause": "plan",
    "resume": "plan",
    "refresh": "plan",
    "events": "events",
    "token": "install",
    "jar": "install",
    "hive-site": "install",
    "demo": "tryout",
    "embedded": "tryout",
    "import-agent-conf": "agent_conf",
    "parked": "parked",
    "listener": "listener",
    "target": "target",
}
"""Command → module of pysync.cli, in the order of `pysync --help`."""


class Commands(TyperGroup):
    """The group of all commands, each of them found when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's
        """Their names, in order."""
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None if there is none, and then `commands` has all, to tell what may be meant."""
        self._import({MODULES[cmd_name]} if cmd_name in MODULES else set(MODULES.values()))
        return super().get_command(ctx, cmd_name)

    def _import(self, modules: Collection[str]) -> None:
        found = typer.Typer(rich_markup_mode=self.rich_markup_mode)
        for module in modules:
            import_module(f"pysync.cli.{module}").register(found)
        self.commands.update(typer.main.get_group(found).commands)
