"""`pysync bootstrap`: everything that a living source has, to a target that has none of it or only some."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from pysync.base import logs
from pysync.base.text import duration, plain
from pysync.cli.asking import by_sidecar_or_here, until_sidecar_is_done, until_stopped
from pysync.cli.ends import assert_ends_answer
from pysync.cli.output import AsJson, ConfigFile, ask_about, chosen, echo, one_target, print_json, print_table
from pysync.cli.progress import bootstrap_so_far, is_in_vain, left_out, refusals
from pysync.config import load_config
from pysync.jobs.oneoff import is_finished, run_once

_POLL_SECONDS = 0.5

OnProgress = Callable[[Mapping[str, Any]], None]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(bootstrap)


def bootstrap(
    config: ConfigFile,
    target: Annotated[str | None, one_target("Bootstrap only this target. Default: all targets.")] = None,
    as_json: AsJson = False,
) -> None:
    """Copy all metadata in scope from the source to the targets. New changes are applied afterwards.

    A running sidecar does the work, at the pace of each target. If no sidecar runs, this process copies everything once
    and does not wait for a listener: use that for a migration. After a kill, run the command again: it continues where
    it stopped, and writes only differences. Exit code 1 if the brake holds drops, if events were parked, or if a target
    gets no table because all of them came from its own cluster.
    """
    result = _result(by_sidecar_or_here(lambda: _by_the_sidecar(config, target), lambda _: _here(config, target)))
    if as_json:
        print_json(result)
    else:
        _print(result)
    if any(item["parked"] for item in result["targets"]) or is_in_vain(result):
        raise typer.Exit(1)


def _by_the_sidecar(config: Path, target: str | None) -> Mapping[str, Any]:
    """Ask the running sidecar, and follow it to the end. Raises NoSidecar when none runs."""
    ask_about(config, target, "bootstrap")
    with until_sidecar_is_done("bootstrap", see="pysync status"), shown() as show:
        while not is_finished(status := ask_about(config, None, "status")):
            show(status)
            time.sleep(_POLL_SECONDS)
        show(status)
    return status


def _here(config: Path, target: str | None) -> Mapping[str, Any]:
    loaded = load_config(config)
    logs.configure("error", loaded.log.format)  # the progress bar shows the rest
    targets = chosen(config, target, loaded.targets)
    assert_ends_answer(loaded, targets)
    names = [it.name for it in targets]
    with until_stopped(), shown() as show:
        return run_once(loaded, names, show)


@contextmanager
def shown() -> Iterator[OnProgress]:
    """A bar for every target on standard error; what is to be called with each new status."""
    name, state = (TextColumn(f"{{task.{it}}}", markup=False) for it in ("description", "fields[so_far]"))
    with Progress(name, BarColumn(), state, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def show(status: Mapping[str, Any]) -> None:
            states = {target["name"]: target for target in status["targets"]}
            bootstrap = status["bootstrap"]
            for item in bootstrap["targets"]:
                name = item["name"]
                if name not in tasks:
                    tasks[name] = bars.add_task(name, total=None, so_far="")
                line = bootstrap_so_far(item) + _trouble(bootstrap, states[name])
                bars.update(tasks[name], total=item["in_scope"], completed=item["tables"], so_far=plain(line))

        yield show


def _trouble(bootstrap: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    """Why it does not go on, if so."""
    error = target["last_error"]
    if target["paused"]:
        return f"; paused: {target['paused']['reason']}"
    if target["state"] in {"waiting", "failing"} and error:
        return f"; {target['state']}: {error['reason']}"
    return f"; waiting: {bootstrap['reason']}" if bootstrap["reason"] else ""


def _result(status: Mapping[str, Any]) -> dict[str, Any]:
    """The bootstrap of a status, with what the brake of each target holds and what was parked."""
    refused = {it["name"]: {key: it[key] for key in ("brake", "parked")} for it in status["targets"]}
    bootstrap = status["bootstrap"]
    return {**bootstrap, "targets": [{**item, **refused[item["name"]]} for item in bootstrap["targets"]]}


def _print(bootstrap: Mapping[str, Any]) -> None:
    columns = ("target", "tables", "partitions", "partitions/s", "parked")
    rows = [
        (it["name"], it["tables"], it["partitions"], f"{it['partitions_per_second']:,.0f}", it["parked"])
        for it in bootstrap["targets"]
    ]
    print_table(f"bootstrap: {duration(bootstrap['seconds'])}", columns, rows)
    for item in bootstrap["targets"]:
        for line in refusals(item):
            echo(line)
    for line in left_out(bootstrap):
        echo(line)
