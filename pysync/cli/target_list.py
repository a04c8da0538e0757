"""`pysync target list` and `show`: what pysync.toml says of targets, beside what runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.base.text import duration
from pysync.base.toml_file import read_text, tables_in
from pysync.cli.output import AsJson, ConfigFile, TargetName, assert_target, echo, print_json, print_table
from pysync.config_file.edits import rendered
from pysync.control.client import ask_if_running
from pysync.sections import load_outline

_TOLD = {
    "changed": "changed in the file, waits for: pysync reload",
    "new": "only in the file, waits for: pysync reload",
    "removed": "no longer in the file; it runs until: pysync reload",
}


def show_all(config: ConfigFile, as_json: AsJson = False) -> None:
    """List the targets of pysync.toml, and how they differ from what runs.

    The column `file` says whether the sidecar runs with what the file says, or waits for a reload. The column `state`
    is that of the running sidecar (docs/status.md). The sidecar may run or not. JSON format: docs/targets.md.
    """
    states = _gathered(config)
    if as_json:
        print_json(states)
        return
    columns = ("target", "kind", "state", "file", "lag", "queued", "parked")
    print_table("targets", columns, [_row(it) for it in states["targets"]])
    if states["problem"]:
        echo(f"the file is wrong, and the sidecar does not take it: {states['problem']}")
    if not states["running"]:
        echo("no sidecar runs")


def show(config: ConfigFile, target: TargetName, as_json: AsJson = False) -> None:
    """Show the settings of a target in pysync.toml, and how they differ from what runs."""
    states = _gathered(config)
    assert_target(config, target, [it["name"] for it in states["targets"]])
    it = next(it for it in states["targets"] if it["name"] == target)
    if as_json:
        print_json(it)
        return
    for word, value in it["settings"].items():
        echo(f"{word} = {rendered(value)}")
    echo("")
    echo(f"state: {it['state'] or 'no sidecar runs'}")
    if it["file"]:
        echo(f"file: {_TOLD.get(it['file'], 'as it runs')}")
    for name in it["changes"]:
        echo(f"  {name}")


def _gathered(config: ConfigFile) -> dict[str, Any]:
    """The targets of the file, and those that run beside, as JSON values (docs/targets.md)."""
    directory = load_outline(config).directory
    tables = {it["name"]: it for it in tables_in(read_text(config), config)["targets"]}
    status = ask_if_running(directory, "status")
    file = status["config"] if status else None
    states = {it["name"]: it["state"] for it in file.get("targets", ())} if file else {}
    running = {it["name"]: it for it in status["targets"]} if status else {}
    names = list(dict.fromkeys([*tables, *states]))
    return {
        "running": status is not None,
        "problem": file["problem"] if file else None,
        "targets": [_target(it, tables.get(it), running.get(it), states.get(it), file) for it in names],
    }


def _target(
    name: str,
    table: Mapping[str, Any] | None,
    runs: Mapping[str, Any] | None,
    file: str | None,
    config: Mapping[str, Any] | None,
) -> dict[str, Any]:
    begins = f"targets.{name}."
    changes = config["changes"] if config and file == "changed" else []
    return {
        "name": name,
        "kind": table["kind"] if table and "kind" in table else (runs or {}).get("kind"),
        "enabled": None if table is None else table.get("enabled", True),
        "file": file,
        "changes": [it.removeprefix(begins) for it in changes if it.startswith(begins)],
        "settings": dict(table or {}),
        **{key: (runs or {}).get(key) for key in ("state", "lag_seconds", "queued", "parked", "position")},
    }


def _row(it: Mapping[str, Any]) -> tuple[Any, ...]:
    lag = it["lag_seconds"]
    state = it["state"] or ("disabled" if it["enabled"] is False else None)
    file = it["file"] and _TOLD.get(it["file"], "as it runs")
    changes = f" ({', '.join(it['changes'])})" if it["changes"] else ""
    settings = (file or "") + changes
    return it["name"], it["kind"], state, settings, None if lag is None else duration(lag), it["queued"], it["parked"]
