"""`pysync status`: what the running sidecar does."""

from __future__ import annotations

from typing import Any

import typer

from pysync.cli.output import AsJson, ConfigFile, counts, moment, print_json, print_table, say
from pysync.cli.told import told
from pysync.sections import load_outline
from pysync.service.asking import ask


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(status)


def status(config: ConfigFile, as_json: AsJson = False) -> None:
    """Show what the running sidecar does: each target's state, backlog, lag and last error.

    The sidecar itself answers. The JSON is described in docs/status.md.
    """
    answer = ask(load_outline(config).directory, "status")
    if as_json:
        print_json(answer)
        return
    _print_status(answer)


def _print_status(answer: dict[str, Any]) -> None:
    bridge, queue = answer["bridge"], answer["queue"]
    say(f"source {answer['source']}, pid {answer['pid']}, pysync {answer['version']}")
    say(
        f"{_capture(bridge, answer['notification_log'])}; "
        f"queue: {queue['events']} events kept{_history(queue['history'])}, {queue['free_bytes'] // 2**20} MiB free"
    )
    for gap in answer["gaps"]:
        if gap["state"] != "closed":
            say(f"gap, {gap['state']}: {gap['reason']}")
    if answer["bootstrap"]:
        for line in told(answer["bootstrap"]):
            say(line)
    columns = ("target", "kind", "state", "queued", "parked", "lag s", "done", "last error")
    print_table("targets", columns, [_target_row(target) for target in answer["targets"]])
    for target in answer["targets"]:
        if target["paused"]:
            say(f"{target['name']} is paused: {target['paused']['reason']}")
        if target["verify"]:
            say(f"{target['name']} verified {_verified(target['verify'])}")


def _history(history: dict[str, Any]) -> str:
    """What is kept only because of [queue] retain."""
    if not history["retain_seconds"] or not history["events"]:
        return ""
    size = history["bytes"] / 2**20
    return f" ({history['events']} of them, {size:.1f} MiB, as history since {moment(history['oldest_at'])})"


def _verified(found: dict[str, Any]) -> str:
    more = found["drift"] - len(found["names"])
    names = ", ".join(found["names"]) + (f" and {more} more" if more else "")
    drift = f"{found['drift']} drifted: {names}" if found["drift"] else "no drift"
    return f"at {moment(found['ended_at'])}: {found['objects']} objects, {drift}"


def _capture(bridge: dict[str, Any] | None, log: dict[str, Any] | None) -> str:
    if bridge:
        return f"bridge on port {bridge['port']}: {counts(bridge['answers']) or 'no event yet'}"
    if log:
        return f"notification log: {log['state']}, at event {log['position']}"
    return "nothing comes in"


def _target_row(target: dict[str, Any]) -> tuple[Any, ...]:
    error = target["last_error"]
    return (
        target["name"],
        target["kind"],
        target["state"],
        target["queued"],
        target["parked"],
        target["lag_seconds"],
        counts(target["counts"]),
        error and error["reason"],
    )
