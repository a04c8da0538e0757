"""`pysync listener remove`: a listener that is silent, and whose metastore will not come back, is missed no more."""

from __future__ import annotations

from typing import Annotated

import typer

from pysync.cli.output import AsJson, ConfigFile, print_json, say
from pysync.control.client import ask
from pysync.sections import load_outline


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = typer.Typer(
        help="The listeners in the source's metastores, each in one process of it: pysync status lists them.",
        epilog="One is missed until it says goodbye, the next on its spool tells of its end, or a new one replaces it.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.callback()(_group)
    group.command()(remove)
    app.add_typer(group, name="listener")


def _group() -> None:
    """Keeps `remove` a command of its own although it is the only one."""


def remove(
    config: ConfigFile,
    instance: Annotated[str, typer.Argument(metavar="INSTANCE", help="As in pysync status.")],
    as_json: AsJson = False,
) -> None:
    """Miss a listener no more whose metastore is gone for good; one that is heard again is back on the list.

    What it may not have told of was a gap when it fell silent, and is found by comparison: this forgets nothing.
    """
    answer = ask(load_outline(config).directory, "listener remove", instance=instance)
    if as_json:
        print_json(answer)
    else:
        say(f"{instance} is {'missed no more' if answer['removed'] else 'not missed'}")
