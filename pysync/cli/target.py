"""`pysync target rename|remove`: what becomes of a target that the queue knows and pysync.toml does not."""

from __future__ import annotations

from typing import Annotated

import typer

from pysync import logs
from pysync.cli.output import AsJson, ConfigFile, print_json, say
from pysync.sections import load_outline
from pysync.sidecar import registry as service

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

_FOR_GOOD = """\
The position of {target}, {queued} events that wait for it and {parked} parked ones are forgotten for good; what is at \
the target stays as it is. Go on?"""


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = typer.Typer(
        help="Tell pysync what became of a target that pysync.toml calls otherwise now, or not at all.",
        epilog="Position, parked events and pauses hang on a target's name. Until it is told, run and check refuse.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command()(rename)
    group.command()(remove)
    app.add_typer(group, name="target")


def rename(
    config: ConfigFile,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The name that the queue knows.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The name that pysync.toml has for it now.")],
    as_json: AsJson = False,
) -> None:
    """Let a target go on under another name: its position, parked events, pause and notes move along.

    First change the name in pysync.toml, then stop the sidecar, run this, and start it again. Where the target has a
    listener of its own that replicates back, and no `cluster` in pysync.toml, set that: it was the old name till now.
    May be run again. The act is on record in pysync status.
    """
    outline = load_outline(config)
    logs.configure("warning", "console")
    with service.resting(outline.directory) as queue:
        found = service.rename(queue, outline.targets, old, new)
    if as_json:
        print_json({"target": new, "was": old, "queued": found.queued, "parked": found.parked, "paused": found.paused})
    else:
        say(f"{old} is {new} now: {found.queued} events wait for it, {found.parked} are parked")


def remove(
    config: ConfigFile,
    target: Annotated[str, typer.Argument(metavar="NAME", help="The name that the queue knows.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Forget a target that is over: its position, parked events, pause and notes.

    First take its table out of pysync.toml, then stop the sidecar, run this, and start it again. Nothing is changed at
    the target. Were it named again it would begin anew, as any new target. The act is on record in pysync status.
    """
    outline = load_outline(config)
    logs.configure("warning", "console")
    with service.resting(outline.directory) as queue:
        there = service.kept(queue, target)
        asks = there is not None and target not in outline.targets and not yes
        if there and asks and not typer.confirm(_FOR_GOOD.format(target=target, **_counts(there))):
            raise typer.Exit(1)
        found = service.remove(queue, outline.targets, target)
    if as_json:
        print_json({"target": target, "removed": found is not None, **({} if found is None else _counts(found))})
    else:
        say(f"{target} is forgotten" if found else f"nothing is kept of {target}")


def _counts(found: service.Kept) -> dict[str, int]:
    return {"queued": found.queued, "parked": found.parked}
