"""`pysync status`: what the running sidecar does."""

from __future__ import annotations

from typing import Any

import typer

from pysync.cli.bootstrap_progress import told
from pysync.cli.output import AsJson, ConfigFile, counts, moment, print_json, print_table, say
from pysync.control.client import ask
from pysync.sections import load_outline
from pysync.text import count, duration

_LISTENER_COLUMNS = ("listener", "source", "state", "last report", "waiting", "lost")


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(status)


def status(config: ConfigFile, as_json: AsJson = False) -> None:
    """Show the state of the running sidecar: problems, listeners, and each target's state, backlog, lag and last error.

    Exit code 0 if there is no problem, 1 if there is one or if no sidecar runs, 2 for a wrong configuration.

    The first lines name the problems: a target is paused, has parked events, fails, or has been waiting for longer than
    `status_grace`; a gap is open; a listener is lost, cannot deliver, or is refused; no listener has reported for
    `status_grace`; the disk of the queue is full.

    A listener is lost if it has not reported for [source] silence_seconds and its metastore did not report a shutdown.
    The lag of a target counts from the commit at the source, and includes changes that still wait in the listener.
    JSON format: docs/status.md.
    """
    answer = ask(load_outline(config).directory, "status")
    if as_json:
        print_json(answer)
    else:
        _print_status(answer)
    if not answer["well"]:
        raise typer.Exit(1)


def _print_status(answer: dict[str, Any]) -> None:
    for line in _verdict(answer["problems"]):
        say(line)
    bridge, queue = answer["bridge"], answer["queue"]
    say(f"source {answer['source']}, pid {answer['pid']}, pysync {answer['version']}")
    say(
        f"{_capture(bridge, answer['notification_log'])}; queue: {count(queue['events'], 'event')} "
        f"kept{_history(queue['history'])}, {queue['free_bytes'] // 2**20} MiB free"
    )
    for gap in answer["gaps"]:
        if gap["state"] != "closed":
            say(f"gap, {gap['state']}: {gap['reason']}")
    if answer["bootstrap"]:
        for line in told(answer["bootstrap"]):
            say(line)
    if answer["listeners"]:
        print_table("listeners", _LISTENER_COLUMNS, [_listener_row(it) for it in answer["listeners"]])
    columns = ("target", "kind", "state", "queued", "parked", "lag", "done")
    print_table("targets", columns, [_target_row(target) for target in answer["targets"]])
    for target in answer["targets"]:
        if target["last_error"]:
            say(f"{target['name']}: {_error(target['last_error'])}")
        if target["paused"]:
            say(f"{target['name']} is paused: {target['paused']['reason']}")
        if target["verify"]:
            say(f"{target['name']} verified {_verified(target['verify'])}")


def _verdict(problems: list[str]) -> list[str]:
    """`OK`, or the number of problems and a line for each."""
    return [f"{count(len(problems), 'problem')}:", *(f"  {line}" for line in problems)] if problems else ["OK"]


def _history(history: dict[str, Any]) -> str:
    """What is kept only because of [queue] retain."""
    if not history["retain_seconds"] or not history["events"]:
        return ""
    size = history["bytes"] / 2**20
    return f" ({history['events']:,} of them as history since {moment(history['oldest_at'])}, {size:.1f} MiB)"


def _verified(found: dict[str, Any]) -> str:
    more = found["drift"] - len(found["names"])
    names = ", ".join(found["names"]) + (f" and {more} more" if more else "")
    drift = f"{found['drift']} drifted: {names}" if found["drift"] else "no drift"
    return f"at {moment(found['ended_at'])}: {count(found['objects'], 'object')}, {drift}"


def _capture(bridge: dict[str, Any] | None, log: dict[str, Any] | None) -> str:
    if bridge:
        refused = bridge["refused_connections"]
        last = f"; refused logins: {refused}, the last at {moment(bridge['refused_last_at'])}" if refused else ""
        return f"bridge on port {bridge['port']}: {counts(bridge['answers']) or 'no event yet'}{last}"
    if log:
        read = "no event read yet" if log["position"] is None else f"read up to event {log['position']}"
        return f"notification log: {log['state']}, {read}"
    return "no changes are captured"


def _listener_row(listener: dict[str, Any]) -> tuple[Any, ...]:
    heard, size = listener["heard_at"], listener["waiting_bytes"]
    return (
        listener["instance"],
        listener["source"],
        listener["state"],
        "not since the sidecar started" if heard is None else moment(heard),
        f"{count(listener['waiting_events'], 'event')}, {count(size, 'byte')}" if size else "nothing",
        count(listener["lost"], "event") if listener["lost"] else "none",
    )


def _error(error: dict[str, Any]) -> str:
    return f"last error at {moment(error['at'])}{' (recovered)' if error['over'] else ''}: {error['reason']}"


def _target_row(target: dict[str, Any]) -> tuple[Any, ...]:
    lag = target["lag_seconds"]
    return (
        target["name"],
        target["kind"],
        target["state"],
        target["queued"],
        target["parked"],
        None if lag is None else duration(lag),
        counts(target["counts"]),
    )
