"""`pysync replay`: what a target has lost of a part of the history, once more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base.errors import PysyncError
from pysync.base.resync_text import resync_so_far
from pysync.base.text import count, span
from pysync.cli.arguments import Bound, bound
from pysync.cli.arguments import table as parsed_table
from pysync.cli.asking import by_sidecar_or_here, until_sidecar_is_done, until_stopped
from pysync.cli.output import (
    AsJson,
    ConfigFile,
    TargetName,
    ask_about,
    echo,
    offered_tables,
    print_json,
    print_table,
    progress,
)
from pysync.cli.progress import refusals
from pysync.control.client import NoSidecar
from pysync.model.names import TableName

_POLL_SECONDS = 0.5
_MOST = 50
_BOUND = "POSITION|TIME"

Ask = Callable[[Mapping[str, Any]], dict[str, Any]]
OnProgress = Callable[[str], None]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(replay)


def replay(
    config: ConfigFile,
    target: TargetName,
    *,
    begin: Annotated[
        Bound,
        typer.Option("--from", metavar=_BOUND, parser=bound, help="The first event, or when it arrived."),
    ],
    end: Annotated[
        Bound | None,
        typer.Option("--to", metavar=_BOUND, parser=bound, help="The last event. Default: the newest one."),
    ] = None,
    table: Annotated[
        TableName | None,
        typer.Option(
            metavar="DB.TABLE",
            parser=parsed_table,
            autocompletion=offered_tables,
            help="Replay only events of this table of the source.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be refreshed. Changes nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Apply a part of the history to a target again, for example after a backup of the target was restored.

    pysync reads every database and table that these events touched at the source, as it is now, and writes what the
    target lacks: nothing is undone that came later. The limits for drops apply. Positions and arrival times are those
    of `pysync events`; [queue] retain sets how far they reach back.

    A running sidecar does the work. If none runs, this process does it. After a kill, run the command again. Exit code
    1 if the brake holds drops, or if events were parked.
    """
    request = {
        **_bound_fields("from", begin),
        **_bound_fields("to", end),
        "source_table": str(table) if table else None,
    }
    if dry_run:
        _show(_counted(config, target, request), as_json=as_json)
        return
    status = by_sidecar_or_here(
        lambda: _by_the_sidecar(config, target, request), lambda _: _here(config, target, request)
    )
    _print(target, status, as_json=as_json)


def _bound_fields(name: str, bound: Bound | None) -> dict[str, Any]:
    return {} if bound is None else {name: bound.position, f"{name}_time": bound.time}


def _by_the_sidecar(config: Path, target: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the running sidecar, and follow it to the end. Raises NoSidecar when none runs."""
    ask_about(config, target, "replay", **request)
    shown = progress(f"replay at {target}")
    with until_sidecar_is_done("replay", see=f"pysync status {target}"), shown as on_progress:
        while not _is_over(target_status := _of(ask_about(config, None, "status"), target)):
            on_progress(_so_far(target_status))
            time.sleep(_POLL_SECONDS)
    return target_status


def _here(config: Path, target: str, request: Mapping[str, Any]) -> dict[str, Any]:
    from pysync.base import logs  # noqa: PLC0415 - only a process without a sidecar needs the targets' clients
    from pysync.config import load_config  # noqa: PLC0415
    from pysync.jobs.oneoff import replay_once  # noqa: PLC0415

    loaded = load_config(config)
    logs.configure("error", loaded.log.format)  # the progress line shows the rest
    with until_stopped(), progress(f"replay at {target}") as on_progress:
        return _of(replay_once(loaded, target, request, partial(_follow, target, on_progress)), target)


def _follow(target: str, on_progress: OnProgress, status: Mapping[str, Any]) -> None:
    on_progress(_so_far(_of(status, target)))


def _of(status: Mapping[str, Any], target: str) -> dict[str, Any]:
    """The replay of a target in a status, with the target's state."""
    target_status = next((it for it in status["targets"] if it["name"] == target), None)
    resyncs = () if target_status is None else target_status["resyncs"]
    replay = next((it for it in resyncs if it["trigger"] == "history"), None)
    if target_status is None or replay is None:
        raise PysyncError("the replay is gone from the queue", "if the queue was removed, the history is gone, too")
    return {"target": target, **replay, **{key: target_status[key] for key in ("brake", "parked", "paused")}}


def _is_over(target_status: Mapping[str, Any]) -> bool:
    return target_status["state"] in {"finished", "failed"}


def _so_far(target_status: Mapping[str, Any]) -> str:
    return f"paused: {target_status['paused']['reason']}" if target_status["paused"] else resync_so_far(target_status)


def _print(target: str, result: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json({key: value for key, value in result.items() if key != "paused"})
    elif result["state"] == "finished":
        echo(f"replay at {target}: {resync_so_far(result)}")
        for line in refusals({"name": target, **result}):
            echo(line)
    if result["state"] == "failed" and not as_json:
        raise PysyncError(result["obstacle"])
    if result["parked"] or result["state"] == "failed":
        raise typer.Exit(1)


def _counted(config: Path, target: str, request: Mapping[str, Any]) -> dict[str, Any]:
    def here(_: NoSidecar) -> dict[str, Any]:
        from pysync.config import load_config  # noqa: PLC0415 - as above
        from pysync.jobs.offline_plan import offline_planner  # noqa: PLC0415

        with offline_planner(load_config(config), target) as ask:
            return _gathered(ask, request)

    return by_sidecar_or_here(
        lambda: _gathered(lambda it: ask_about(config, target, "replay plan", **it), request), here
    )


def _gathered(ask: Ask, request: Mapping[str, Any]) -> dict[str, Any]:
    """One answer out of as many as it takes: each covers a part of the range."""
    objects, unreadable, events = Counter[str](), 0, 0
    with progress("reading the history") as on_progress:
        result = answer = ask(request)
        while True:
            objects.update(answer["objects"])
            events, unreadable = events + answer["events"], unreadable + answer["unreadable"]
            if answer["next"] is None:
                break
            on_progress(f"position {answer['next']} of {answer['last']}")
            rest = {"from": answer["next"], "to": result["last"], "source_table": request.get("source_table")}
            answer = ask(rest)
    listed = [{"name": name, "events": number} for name, number in sorted(objects.items())]
    same = {key: result[key] for key in ("target", "first", "last")}
    return {**same, "events": events, "objects": listed, "unreadable": unreadable}


def _show(result: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    objects = result["objects"]
    rows = [(it["name"], it["events"]) for it in objects[:_MOST]]
    if rows:
        print_table(f"replay at {result['target']}", ("database or table", "events"), rows)
    if len(objects) > _MOST:
        echo(f"and {len(objects) - _MOST} more: --json")
    events = span("event", result["first"], result["last"])
    echo(f"{result['target']}: {count(len(objects), 'object')} to refresh, of {events}")
    if result["unreadable"]:
        echo(f"{count(result['unreadable'], 'event')} cannot be read: what they touched is not known")
