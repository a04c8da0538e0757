"""`pysync target`: targets of pysync.toml are shown and changed, also while the sidecar runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pysync.base.errors import UsageError
from pysync.base.text import count, meant, quoted
from pysync.base.toml_file import read_text
from pysync.cli.config_change import DryRun, Edit, Unset, Yes, change_or_show, key, setting
from pysync.cli.family import Family
from pysync.cli.output import AsJson, ConfigFile, TargetName, echo, print_json
from pysync.cli.target_list import show, show_all
from pysync.cli.target_policy import policy
from pysync.config_file.file import drafted
from pysync.config_file.targets import Setting, added, altered, enabled, names_in, removed, renamed
from pysync.control.client import ask_if_running
from pysync.sections import load_outline
from pysync.sidecar import registry as service
from pysync.sidecar.registry import Act, Backlog

_FOR_GOOD = """\
The queue deletes the position of {target}, {queued} that wait for it and {parked} for good. The target itself is not \
changed. Continue?"""


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    group = Family(
        help="Show, add, change, enable, disable, rename and remove targets.",
        epilog="These commands edit pysync.toml; its comments and layout stay. The whole result is checked first, and "
        "the running sidecar reloads it. Without a running sidecar it counts from the next start on.",
    )
    group.command("list")(show_all)
    group.command()(show)
    group.command()(add)
    group.command("set")(set_)
    group.command()(enable)
    group.command()(disable)
    group.command()(policy)
    group.command()(rename)
    group.command()(remove)
    app.add_typer(group, name="target")


def add(
    config: ConfigFile,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new target.")],
    *,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Kind: hms, glue, athena, spark, or another.")],
    settings: Annotated[
        list[Setting] | None,
        typer.Option("--set", metavar="KEY=VALUE", parser=setting, help="A setting of the target. May be repeated."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add a target to pysync.toml. The sidecar compares it with the source, and fills it.

    KEY is a key as in pysync.toml: include, copy.rewrite, locations."hdfs://nn". VALUE is a value of TOML, as true, 4
    or ["sales", "crm"]; anything else is a text. A secret is refused: other users see command lines.
    """
    change_or_show(Edit(config, name, "added", added(name, kind, settings or [])), dry_run=dry_run, as_json=as_json)
    if not dry_run and not as_json:
        echo(f"the sidecar compares it with the source, and fills it; see how far it is: pysync status {name}")


def set_(
    config: ConfigFile,
    target: TargetName,
    settings: Annotated[
        list[Setting] | None, typer.Argument(metavar="KEY=VALUE", parser=setting, help="Settings, as for `add`.")
    ] = None,
    *,
    unset: Annotated[
        list[Unset] | None,
        typer.Option("--unset", metavar="KEY", parser=key, help="Remove this key, so that its default counts."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Change settings of a target in pysync.toml. Keys of --unset are removed first.

    A change of what the target takes (include, renames and others) has the effect that docs/scope.md describes; for a
    policy, `pysync target policy` shows it first.
    """
    if not settings and not unset:
        raise UsageError("target set: there is nothing to set", "write KEY=VALUE, or --unset KEY")
    edit = Edit(config, target, "changed", altered(target, settings or [], [it.key for it in unset or []]))
    change_or_show(edit, dry_run=dry_run, as_json=as_json)


def enable(config: ConfigFile, target: TargetName, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Enable a disabled target: it gets what has waited for it."""
    change_or_show(Edit(config, target, "enabled", enabled(target)), dry_run=dry_run, as_json=as_json)


def disable(config: ConfigFile, target: TargetName, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Disable a target: it gets nothing, and keeps its position. Its changes wait in the queue.

    Status calls it disabled, which is no problem. To stop a target for a short time, with a problem in status for as
    long as it lasts, use pysync pause.
    """
    change = altered(target, [Setting(("enabled",), False)])
    change_or_show(Edit(config, target, "disabled", change), dry_run=dry_run, as_json=as_json)


def rename(
    config: ConfigFile,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Name of the target.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="New name of the target.")],
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Rename a target in pysync.toml and in the queue. Its position, parked events, pause and notes are kept.

    With both_ways, `cluster` is set to the old name, which was its default. If the target has a listener of its own
    that replicates back, but no both_ways, set `cluster` yourself. The command may run twice, and completes a rename
    that was made in pysync.toml by hand. pysync status --json records it (acts).
    """
    edit = Edit(config, new, f"renamed, was {old}", renamed(old, new), Act(old, new))
    if dry_run:
        edit.show(as_json=as_json)
        return
    done = edit.run()
    queued = done.backlog or _backlog_of(done.draft.config.queue.directory, new) or Backlog(new, 0, 0, None)
    if as_json:
        print_json(
            {"target": new, "was": old, "queued": queued.queued, "parked": queued.parked, "paused": queued.paused}
        )
    else:
        echo(f"target {old} renamed to {new}: {count(queued.queued, 'event')} waiting, {queued.parked:,} parked")


def remove(
    config: ConfigFile,
    target: Annotated[str, typer.Argument(metavar="NAME", help="Name of the target.")],
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Remove a target from pysync.toml and from the queue: its position, parked events, pause and notes.

    The target itself is not changed. If it is added again later, it starts as a new target. The command may run twice,
    and completes a removal that was made in pysync.toml by hand. pysync status --json records it (acts).
    """
    edit = Edit(config, target, "removed", removed(target), Act(target))
    if dry_run:
        edit.show(as_json=as_json)
        return
    text, directory = read_text(config), load_outline(config).directory
    drafted(config, edit.change)  # errors come before the question
    queued = _backlog_of(directory, target)
    if queued and not yes and not typer.confirm(_question(queued), err=True):
        raise typer.Exit(1)
    done = edit.run(decided=text)
    is_removed = queued is not None or done.written
    if as_json:
        print_json({"target": target, "removed": is_removed, **({} if queued is None else _counts(queued))})
    elif is_removed:
        echo(f"target {target} removed")
    else:
        hint = meant(target, names_in(text), "its targets")
        echo(f"the queue has no target {quoted(target)}: nothing to remove; {hint}")


def _backlog_of(directory: Path, name: str) -> Backlog | None:
    """What is kept of a target: by the running sidecar, or in the queue; None where that has none of the name."""
    status = ask_if_running(directory, "status")
    if status is None:
        return _backlog_at_rest(directory, name)
    it = next((it for it in status["targets"] if it["name"] == name), None)
    return it and Backlog(name, it["queued"], it["parked"], (it["paused"] or {}).get("reason"))


def _backlog_at_rest(directory: Path, name: str) -> Backlog | None:
    if name not in service.known_targets(directory):
        return None
    with service.resting(directory) as queue:
        return service.backlog_of(queue, name)


def _question(waiting: Backlog) -> str:
    queued, parked = count(waiting.queued, "event"), count(waiting.parked, "parked event")
    return _FOR_GOOD.format(target=waiting.target, queued=queued, parked=parked)


def _counts(queued: Backlog) -> dict[str, int]:
    return {"queued": queued.queued, "parked": queued.parked}
