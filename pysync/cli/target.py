"""`pysync target rename|remove`: what becomes of a target that the queue knows and pysync.toml does not."""

from __future__ import annotations

from typing import Annotated

import typer

from pysync import logs
from pysync.cli.family import Family
from pysync.cli.output import AsJson, ConfigFile, print_json, say
from pysync.sections import load_outline
from pysync.sidecar import registry as service
from pysync.text import count, meant, quoted

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]

_FOR_GOOD = """\
The queue deletes the position of {target}, {queued} that wait for it and {parked} for good. The target itself is not \
changed. Continue?"""


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = Family(
        help="Rename or remove a target in the queue, after a change of its [[targets]] table in pysync.toml.",
        epilog="The queue keeps position, parked events and pause by the name of the target. run and check refuse to "
        "start while the queue has a target that pysync.toml does not name.",
    )
    group.command()(rename)
    group.command()(remove)
    app.add_typer(group, name="target")


def rename(
    config: ConfigFile,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Name of the target in the queue.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="New name of the target, as in pysync.toml.")],
    as_json: AsJson = False,
) -> None:
    """Rename a target in the queue. Its position, parked events, pause and notes are kept.

    First change the name in pysync.toml. Then stop the sidecar, run this command, and start the sidecar again. If the
    target has a listener of its own that replicates back, and no `cluster` in pysync.toml, set `cluster` to the old
    name: it was the default until now. The command may run twice. pysync status --json records the rename (acts).
    """
    outline = load_outline(config)
    logs.configure("warning", "console")
    with service.resting(outline.directory) as queue:
        found = service.rename(queue, outline.targets, old, new)
    if as_json:
        print_json({"target": new, "was": old, "queued": found.queued, "parked": found.parked, "paused": found.paused})
    else:
        say(f"target {old} renamed to {new}: {count(found.queued, 'event')} waiting, {found.parked:,} parked")


def remove(
    config: ConfigFile,
    target: Annotated[str, typer.Argument(metavar="NAME", help="Name of the target in the queue.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove a target from the queue: its position, parked events, pause and notes.

    First remove its [[targets]] table from pysync.toml. Then stop the sidecar, run this command, and start the sidecar
    again. The target itself is not changed. If pysync.toml names it again later, it starts as a new target. pysync
    status --json records the removal (acts).
    """
    outline = load_outline(config)
    logs.configure("warning", "console")
    with service.resting(outline.directory) as queue:
        there = service.kept(queue, target)
        asks = there is not None and target not in outline.targets and not yes
        if there and asks and not typer.confirm(_question(there), err=True):
            raise typer.Exit(1)
        found = service.remove(queue, outline.targets, target)
        known = sorted(queue.positions())
    if as_json:
        print_json({"target": target, "removed": found is not None, **({} if found is None else _counts(found))})
    elif found:
        say(f"target {target} removed")
    else:
        say(f"the queue has no target {quoted(target)}: nothing to remove; {meant(target, known, 'its targets')}")


def _question(found: service.Kept) -> str:
    queued, parked = count(found.queued, "event"), count(found.parked, "parked event")
    return _FOR_GOOD.format(target=found.target, queued=queued, parked=parked)


def _counts(found: service.Kept) -> dict[str, int]:
    return {"queued": found.queued, "parked": found.parked}
