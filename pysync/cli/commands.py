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
        "init": ("init", "create everything that a sidecar needs, and add the listener to HMS"),
        "uninstall": ("uninstall", "remove what pysync init made"),
        "token": ("install", "create the secret that the listener and the sidecar share"),
        "jar": ("install", "print the path of the listener jar"),
        "hive-site": ("install", "print the properties for hive-site.xml"),
        "check": ("check", "check the configuration, files, ports and metastores"),
        "import-agent-conf": ("agent_conf", "convert Glue sync agent settings to a pysync.toml"),
    },
    "Run and monitor": {
        "run": ("run", "run the sidecar"),
        "status": ("status", "show the state of the running sidecar, and its problems"),
        "events": ("events", "list the events in the queue"),
        "verify": ("verify", "compare source and targets, and repair differences"),
    },
    "Control targets and listeners": {
        "plan": ("plan", "show the next operations"),
        "pause": ("plan", "stop applying changes to a target"),
        "resume": ("plan", "resume a paused target"),
        "parked": ("parked", "show, retry or skip the events that a target refused"),
        "refresh": ("plan", "compare tables with the source, and repair them at the targets"),
        "target": ("target", "rename or remove a target in the queue"),
        "listener": ("listener", "remove a lost listener"),
    },
    "Initial load and migration": {
        "bootstrap": ("bootstrap", "copy all metadata from a running source"),
        "dump": ("dump", "export the metadata of the source to a directory"),
        "load": ("dump", "import a dump"),
        "copy": ("copy", "copy data files only"),
    },
    "Try it out": {
        "demo": ("tryout", "show a replication between real servers on this machine"),
        "embedded": ("tryout", "run a real Hive Metastore, or an embedded Glue and Athena"),
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
