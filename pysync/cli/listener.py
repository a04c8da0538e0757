"""`pysync listener remove`: a listener that is silent, and whose metastore will not come back, is missed no more."""

from __future__ import annotations

from typing import Annotated

import typer

from pysync.base.text import meant, quoted
from pysync.cli.family import Family
from pysync.cli.output import AsJson, ConfigFile, echo, outline_of, print_json
from pysync.control.client import ask


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = Family(
        help="Remove a lost listener. pysync status lists the listeners, one for each metastore process of the source.",
        epilog="A listener that stops reporting is lost until it reports its shutdown, the next listener on its spool "
        "reports that shutdown, or a new listener replaces it.",
    )
    group.callback()(_group)
    group.command()(remove)
    app.add_typer(group, name="listener")


def _group() -> None:
    """Keeps `remove` a command of its own although it is the only one."""


def remove(
    config: ConfigFile,
    instance: Annotated[str, typer.Argument(metavar="INSTANCE", help="Instance of the listener, from pysync status.")],
    as_json: AsJson = False,
) -> None:
    """Remove a listener whose metastore is gone for good. A listener that reports again is listed again.

    This loses no change: pysync opened a gap when the listener stopped reporting, and compares source and targets.
    """
    directory = outline_of(config).directory
    answer = ask(directory, "listener remove", instance=instance)
    if as_json:
        print_json(answer)
    elif answer["removed"]:
        echo(f"listener {instance} removed")
    else:
        known = [it["instance"] for it in ask(directory, "status")["listeners"]]
        echo(f"there is no listener {quoted(instance)}; {meant(instance, known, 'listeners')}")
