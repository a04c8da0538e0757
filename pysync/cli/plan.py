"""`pysync plan`, `pause`, `resume`: what a target would do next, and whether it may."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import typer

from pysync.cli.output import AsJson, ConfigFile, TargetName, ask_about, print_json, print_table, progress, say
from pysync.cli.waiting import wait_for


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    app.command()(plan)
    app.command()(pause)
    app.command()(resume)
    app.command()(refresh)


def plan(
    config: ConfigFile,
    target: Annotated[str | None, typer.Option("--target", help="Only of this target.")] = None,
    scope: Annotated[
        bool, typer.Option("--scope", help="What include, renames, … in FILE come to, before they are done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show exactly what would be done next: the operations of each target's next window, in order. Touches nothing.

    Works of different tables go in parallel. The JSON is described in docs/status.md.

    With --scope: which databases and tables would be put, kept and dropped at each target if the sidecar were started
    with FILE as it is now (docs/scope.md). The sidecar may run or not; source and targets are only read.
    """
    if scope:
        from pysync.cli.scope import show_scope  # noqa: PLC0415 - it reads metastores, which takes long to load

        show_scope(config, target, as_json=as_json)
        return
    answer = ask_about(config, target, "plan")
    if as_json:
        print_json(answer)
        return
    for found in answer["targets"]:
        _print_plan(found)


def pause(
    config: ConfigFile,
    target: TargetName,
    reason: Annotated[str, typer.Option(help="Why; shown by `pysync status`.")] = "by hand",
) -> None:
    """Let a target apply nothing more until `pysync resume`, also after a restart; its events stay in the queue."""
    answer = ask_about(config, target, "pause", reason=reason)
    say(f"{target} is paused: {answer['paused']}")


def resume(config: ConfigFile, target: TargetName) -> None:
    """Let a paused target go on; where the brake held drops back, let go all of them that have come by now.

    What follows in the same databases without a pause of a minute goes, too: one mistake, one resume. The limits are
    max_drops_per_window, max_drops and max_drop_share. See what it would do before: pysync plan.
    """
    answer = ask_about(config, target, "resume")
    was = answer["was"]
    say(f"{target} goes on; it was paused: {was}" if was else f"{target} was not paused")


def refresh(
    config: ConfigFile,
    tables: Annotated[list[str] | None, typer.Argument(metavar="[DB.TABLE]...", help="Only these.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until every target is done with it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare all targets with the source as it is now, and bring them to that: some tables, or everything in scope.

    The sidecar does so by itself for a new target and wherever changes may have been missed (`pysync status`: gaps).
    Exit code 1 if a table is neither at the source nor at a target; with --wait also if a target has parked something,
    or is paused.
    """
    answer = ask_about(config, None, "refresh", tables=tables or [])
    if wait:
        with progress(answer["gap"]) as tell:
            wait_for(partial(ask_about, config), answer["gap"], tell)
    if as_json:
        print_json(answer)
    else:
        say(f"{answer['gap']}: {'done' if wait else 'see pysync status'}")


def _print_plan(plan_: dict[str, Any]) -> None:
    rows = list(_rows(plan_["works"]))
    if rows:
        print_table(f"plan for {plan_['target']}", ("events", "keys", "operation"), rows)
    parts = [f"{plan_['target']}: {plan_['events']} events -> {plan_['operations']} operations"]
    if plan_["skipped"]:
        parts.append(f"{plan_['skipped']} events not for this target")
    if plan_["refused"]:
        parts.append(f"{len(plan_['refused'])} events to be parked")
    if plan_["queued"] > plan_["events"]:
        parts.append(f"{plan_['queued'] - plan_['events']} more events in the queue")
    parts.append(f"{plan_['drops']} drops, allowed {plan_['max_drops_per_window'] or 'any number'}")
    if plan_["mode"] == "shadow":
        parts.append("shadow: only logged")
    say("; ".join(parts))
    if plan_["paused"]:
        say(f"{plan_['target']} is paused: {plan_['paused']}")


def _rows(works: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """One row an operation; what its work has in common stands at the first."""
    for work in works:
        common: tuple[Any, ...] = (work["events"], ", ".join(work["keys"]))
        for operation in work["operations"]:
            yield (*common, operation["text"])
            common = (None, None)
