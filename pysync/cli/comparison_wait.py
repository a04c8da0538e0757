"""Waiting until a comparison that was asked for is over, or cannot be."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.health import DISABLED, decide, hold
from pysync.base.text import count

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0
"""What is parked is tried again by itself after two seconds."""
_MOST_NAMED = 5
_REQUESTED = "comparison of "

Ask = Callable[..., dict[str, Any]]
"""Asks the sidecar about a target (None: all): `ask(target, command)`."""


def wait_for(ask: Ask, gap: str, on_progress: Callable[[str], None]) -> None:
    """Wait until the newest gap of that name is closed; `on_progress` gets how far it is.

    Disabled targets are not waited for. Raises PysyncError when a target is paused, or is done with it and keeps it
    open with what the brake holds or what is parked.
    """
    held_since: float | None = None
    while True:
        status = ask(None, "status")
        left = _unclosed(status["gaps"], gap)
        enabled = [target for target in status["targets"] if target["state"] != DISABLED]
        behind = [target for target in enabled if any(map(partial(_is_behind, target), left))]
        _refuse_pauses(behind)
        held_since = None if behind else held_since or time.monotonic()
        if not left or (held_since is not None and time.monotonic() - held_since > _PATIENCE_SECONDS):
            _refuse_parked(ask, enabled)
            if len(enabled) < len(status["targets"]):
                return  # a disabled target keeps the gap open, for as long as somebody wants
        if not left:
            return
        on_progress("; ".join([str(left[0]["state"]), *map(_backlog, behind)]))
        time.sleep(_POLL_SECONDS)


def _unclosed(gaps: list[dict[str, Any]], reason: str) -> list[dict[str, Any]]:
    """The newest gap of that name and the comparisons asked for before it, unless closed.

    What those had to wait for may be parked again by this one, and then holds them up, and this one no more.
    """
    newest = next((at for at, gap in enumerate(gaps) if gap["reason"] == reason), len(gaps))
    requested = [gap for gap in gaps[newest:] if gap["reason"].startswith(_REQUESTED)]
    return [gap for gap in requested if gap["state"] != "closed"]


def _is_behind(target: dict[str, Any], gap: dict[str, Any]) -> bool:
    return bool(gap["upto"] is None or target["position"] < gap["upto"])


def _backlog(target: dict[str, Any]) -> str:
    waits = f", {target['state']}: {target['last_error']['reason']}" if target["state"] == "waiting" else ""
    return f"{target['name']}: {count(target['queued'], 'event')} to apply{waits}"


def _refuse_pauses(behind: list[dict[str, Any]]) -> None:
    for target in behind:
        if target["paused"]:
            name, reason = target["name"], target["paused"]["reason"]
            raise PysyncError(f"target {name!r} is paused: {reason}", f"pysync resume {name}")


def _refuse_parked(ask: Ask, targets: list[dict[str, Any]]) -> None:
    for target in targets:
        name = target["name"]
        if text := hold(target):
            raise PysyncError(text, decide(name))
        if target["parked"]:
            tables = [it["table"] for it in ask(name, "parked list")["tables"]]
            more = f" and {len(tables) - _MOST_NAMED} more" if len(tables) > _MOST_NAMED else ""
            named = ", ".join(tables[:_MOST_NAMED]) + more
            raise PysyncError(
                f"target {name!r} has parked events of {named}: these tables may still differ from the source",
                f"see: pysync parked list {name}",
            )
