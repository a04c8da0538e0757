"""The commands, and where each is: a module is imported when one of its commands is asked for, and no sooner.

Most commands only ask the running sidecar. What the others need (a metastore's client, Spark, AWS) takes ten times as
long to import as the answer takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import typer

from pysync.cli.family import Entry, Family, Group

SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Set up": {
        "init": ("init", "Create everything that a sidecar needs, and add the listener to HMS."),
        "uninstall": ("uninstall", "Remove what pysync init made."),
        "token": ("install", "Create the secret that the listener and the sidecar share."),
        "web-password": ("web_password", "Create or change a password for the page."),
        "jar": ("install", "Print the path of the listener jar."),
        "hive-site": ("install", "Print the properties for hive-site.xml, or edit the file."),
        "check": ("check", "Check the configuration, files, ports and metastores."),
        "import-rule": ("rule", "Convert rules of SSM's hms-sync to a pysync.toml."),
        "monitoring": ("monitoring", "Create alerts for Prometheus and a dashboard for Grafana."),
        "man": ("manual", "Show the manual page."),
        "docs": ("docs", "Print a page of the documentation."),
    },
    "Run and monitor": {
        "run": ("run", "Run the sidecar."),
        "reload": ("reload", "Reload pysync.toml in the running sidecar."),
        "status": ("status", "Show the state of the running sidecar, and its problems."),
        "wait": ("wait", "Wait until a target has what the source has now."),
        "events": ("events", "List the events in the queue."),
        "tables": ("tables", "List the tables of the source with their state at each target."),
        "why": ("why", "Show what became of a table, and why a target does not have it."),
        "actions": ("actions", "Show what was done at the targets, and by whom."),
        "verify": ("verify", "Compare source and targets, and repair differences."),
    },
    "Control targets and listeners": {
        "plan": ("plan", "Show the next operations of the targets."),
        "policy": ("policy", "Show what the targets take, and under which name."),
        "views": ("views", "Show which views Athena can read, and what helps the others."),
        "pause": ("plan", "Stop applying changes to a target."),
        "resume": ("plan", "Resume a paused target."),
        "held": ("held", "List the drops that a target holds, and decide about them."),
        "kept": ("held", "List what was kept at a target, or take that back."),
        "parked": ("parked", "Show, retry or skip the events that a target refused."),
        "trash": ("trash", "List, restore or remove dropped tables that a target keeps."),
        "refresh": ("plan", "Compare tables with the source, and repair them at the targets."),
        "replay": ("replay", "Apply a part of the history to a target again."),
        "target": ("target", "Show, add, change, disable, rename or remove targets."),
        "listener": ("listener", "Remove a lost listener."),
    },
    "Initial load and migration": {
        "bootstrap": ("bootstrap", "Copy all metadata from a running source."),
        "dump": ("dump", "Export the metadata of the source to a directory."),
        "load": ("dump", "Import a dump."),
        "repl": ("repl", "Run a REPL DUMP, LOAD or STATUS of Hive."),
        "copy": ("copy", "Copy data files only."),
        "promote": ("promote", "Make a target the source, and the source its target."),
    },
    "Try it out": {
        "demo": ("tryout", "Show a replication between real servers on this machine."),
        "embedded": ("tryout", "Run a real Hive Metastore, or an embedded Glue and Athena."),
    },
}
"""By the headings of `pysync --help`: command → module of pysync.cli, and what it is for."""

MODULES = {name: module for commands in SECTIONS.values() for name, (module, _) in commands.items()}


class CommandGroup(Group):
    """The group of all commands, each of them found when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's
        """Their names, in order."""
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None if there is none."""
        if cmd_name in MODULES and cmd_name not in self.commands:
            family = Family()
            import_module(f"pysync.cli.{MODULES[cmd_name]}").register(family)
            self.commands.update(typer.main.get_group(family).commands)
        return super().get_command(ctx, cmd_name)

    def summaries(self, ctx: Any) -> Iterator[tuple[str, Sequence[Entry]]]:  # noqa: ARG002 - the group's
        """A sentence about each command, as it stands here: to ask the commands would import every module."""
        for heading, commands in SECTIONS.items():
            yield heading, [(name, text) for name, (_, text) in commands.items()]
