"""The commands, and where each is: a module is imported when one of its commands is asked for, and no sooner.

Most commands only ask the running sidecar. What the others need (a metastore's client, Spark, AWS) takes ten times as
long to import as the answer takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Set up": {
        "token": ("install", "make the secret that listener and sidecar share"),
        "jar": ("install", "print where the listener's jar is"),
        "hive-site": ("install", "print the properties for hive-site.xml"),
        "check": ("check", "find what would keep the sidecar from working"),
        "import-agent-conf": ("agent_conf", "make a pysync.toml from the Glue sync agent's settings"),
    },
    "Run and look": {
        "run": ("run", "run the sidecar"),
        "status": ("status", "is all well? what the sidecar does"),
        "events": ("events", "the events in the queue"),
        "verify": ("verify", "compare source and targets, and repair"),
    },
    "Steer a target": {
        "plan": ("plan", "what would be done next"),
        "pause": ("plan", "apply nothing more"),
        "resume": ("plan", "go on"),
        "parked": ("parked", "events that the target refused: look, retry, skip"),
        "refresh": ("plan", "read the source again, and bring targets to it"),
        "target": ("target", "a target that was renamed in pysync.toml, or removed"),
        "listener": ("listener", "a listener that is gone for good"),
    },
    "Bring over all that is there": {
        "bootstrap": ("bootstrap", "from the living source"),
        "dump": ("dump", "write the source down in a directory"),
        "load": ("dump", "from such a directory"),
        "copy": ("copy", "data files only"),
    },
    "Try it": {
        "demo": ("tryout", "the main job on real servers, in a minute"),
        "embedded": ("tryout", "run a real Hive Metastore, or an Athena and a Glue"),
    },
}
"""By the headings of `pysync --help`: command → module of pysync.cli, and what it is for."""

MODULES = {name: module for commands in SECTIONS.values() for name, (module, _) in commands.items()}


class Commands(TyperGroup):
    """The group of all commands, each of them found when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's
        """Their names, in order."""
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None if there is none, and then `commands` has all, to tell what may be meant."""
        self._import({MODULES[cmd_name]} if cmd_name in MODULES else set(MODULES.values()))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - click's
        """A line for each, as it stands here: click would import every module, and cut the first line of its help."""
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items()])

    def _import(self, modules: Collection[str]) -> None:
        found = typer.Typer(rich_markup_mode=self.rich_markup_mode)
        for module in modules:
            import_module(f"pysync.cli.{module}").register(found)
        self.commands.update(typer.main.get_group(found).commands)
