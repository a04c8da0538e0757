"""`pysync plan`, `pause`, `resume`: what a target would do next, and whether it may."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import typer

from pysync.base.health import decide
from pysync.base.text import count
from pysync.cli.arguments import line, table
from pysync.cli.comparison_wait import wait_for
from pysync.cli.output import (
    AsJson,
    ConfigFile,
    TargetName,
    ask_about,
    echo,
    offered_tables,
    one_target,
    print_json,
    print_table,
    progress,
)
from pysync.model.names import TableName


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    app.command()(plan)
    app.command()(pause)
    app.command()(resume)
    app.command()(refresh)


def plan(
    config: ConfigFile,
    target: Annotated[str | None, one_target("Show only this target. Default: all targets.")] = None,
    scope: Annotated[
        bool,
        typer.Option(
            "--scope", help="Show the effect of changed scope settings (include, renames and others) in FILE."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the operations that each target applies next, in order. Changes nothing.

    The plan covers the events that a target takes from its queue next, at most `window` of them. Operations on
    different tables run in parallel. JSON format: docs/status.md.

    With --scope: show which databases and tables each target would put, keep and drop if the sidecar started with FILE
    as it is now (docs/scope.md). The sidecar may run or not. Source and targets are only read.
    """
    if scope:
        from pysync.cli.scope_plan import show_scope  # noqa: PLC0415 - it reads metastores, which takes long to load

        show_scope(config, target, as_json=as_json)
        return
    answer = ask_about(config, target, "plan")
    if as_json:
        print_json(answer)
        return
    for target_plan in answer["targets"]:
        _print_plan(target_plan)


def pause(
    config: ConfigFile,
    target: TargetName,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", parser=line, help="Why. `pysync status` shows it.")
    ] = "by hand",
) -> None:
    """Stop applying changes to a target until `pysync resume`. A restart keeps the pause; events stay in the queue."""
    answer = ask_about(config, target, "pause", reason=reason)
    echo(f"{target} is paused: {answer['paused']}")


def resume(config: ConfigFile, target: TargetName) -> None:
    """Resume a paused target. What the brake holds is decided by `pysync held`."""
    was = ask_about(config, target, "resume")["was"]
    echo(f"{target} is resumed; it was paused: {was}" if was else f"{target} was not paused")


def refresh(
    config: ConfigFile,
    tables: Annotated[
        list[TableName] | None,
        typer.Argument(
            metavar="DB.TABLE",
            parser=table,
            autocompletion=offered_tables,
            help="Compare only these tables. Default: everything in scope.",
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every target has applied the result.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare all targets with the current source, and repair them: some tables, or everything in scope.

    The sidecar does this itself for a new target, and after it may have missed changes (`pysync status`: gaps). A table
    that is neither at the source nor at a target is refused. With --wait: exit code 1 if a target holds drops, has
    parked events or is paused.
    """
    answer = ask_about(config, None, "refresh", tables=[str(it) for it in tables or ()])
    if wait:
        with progress(answer["gap"]) as on_progress:
            wait_for(partial(ask_about, config), answer["gap"], on_progress)
    if as_json:
        print_json(answer)
    else:
        echo(f"{answer['gap']}: {'done' if wait else 'started; see: pysync status'}")


def _print_plan(plan_: dict[str, Any]) -> None:
    rows = list(_rows(plan_["works"]))
    if rows:
        print_table(f"plan for {plan_['target']}", ("events", "keys", "operation"), rows)
    parts = [f"{plan_['target']}: {count(plan_['events'], 'event')} -> {count(plan_['operations'], 'operation')}"]
    if plan_["skipped"]:
        parts.append(f"{count(plan_['skipped'], 'event')} not for this target")
    if plan_["refused"]:
        parts.append(f"{count(len(plan_['refused']), 'event')} to be parked")
    if plan_["queued"] > plan_["events"]:
        parts.append(f"{count(plan_['queued'] - plan_['events'], 'more event')} in the queue")
    parts.append(f"{count(plan_['drops'], 'drop')} (limit: {plan_['max_drops_per_window'] or 'none'})")
    if plan_["mode"] == "shadow":
        parts.append("shadow mode: operations are only logged")
    echo("; ".join(parts))
    if plan_["removes_files"]:
        echo(
            "copied data files that the source no longer has are removed first, and do not count as drops: "
            f"pysync copy --target {plan_['target']} --delete --dry-run"
        )
    if plan_["brake"]:
        echo(f"{plan_['target']} holds the drop of {plan_['brake']['summary']}: {plan_['brake']['reason']}")
        echo(decide(plan_["target"]))
    if plan_["paused"]:
        echo(f"{plan_['target']} is paused: {plan_['paused']}")


def _rows(works: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """One row an operation; what its work has in common stands at the first."""
    for work in works:
        common: tuple[Any, ...] = (work["events"], ", ".join(work["keys"]))
        for operation in work["operations"]:
            yield (*common, operation["text"])
            common = (None, None)
