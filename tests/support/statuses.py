"""Answers of a sidecar to `status`, as values: a quiet one, one with everything wrong, and what they are made of."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

import pytest
from rich.console import Console

from pysync.base.health import problems
from pysync.cli.grid import Part, show

NOW = 1_800_000_000.0
GRACE = 300.0
LONG = "x" * 128
INSTANCE = "7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e"


def target(name: str = "dr", **values: Any) -> dict[str, Any]:
    """A target that has all changes."""
    return {
        "name": name,
        "kind": "hms",
        "state": "running",
        "waiting_since": None,
        "counts": {"applied": 12, "unchanged": 3},
        "last_done": {"position": 48213, "at": NOW - 12, "seconds_after": 0.1},
        "last_contact": NOW - 7,
        "stale_since": None,
        "other_queue": None,
        "last_error": None,
        "paused": None,
        "brake": None,
        "position": 48213,
        "queued": 0,
        "parked": 0,
        "parked_by_brake": 0,
        "lag_seconds": 0.0,
        "scope": None,
        "snapshots": None,
        "verify": None,
        "resyncs": [],
        **values,
    }


def listener(**values: Any) -> dict[str, Any]:
    """A listener that reports and has delivered everything."""
    return {
        "instance": INSTANCE,
        "source": "onprem",
        "state": "heard",
        "heard_at": NOW - 1.2,
        "waiting_bytes": 0,
        "waiting_events": 0,
        "waiting_since": None,
        "lost": 0,
        **values,
    }


def status(*targets: dict[str, Any], **values: Any) -> dict[str, Any]:
    """The status with these targets (none: a quiet one), with the problems that it has."""
    history = {"retain_seconds": 0, "events": 0, "bytes": 0, "oldest_at": None}
    queue = {"events": 1204, "history": history, "free_bytes": 9_575 * 2**20, "min_free_bytes": 2**28}
    bridge = {"port": 25333, "refused_connections": 0, "refused_last_at": None, "answers": {"queued": 1204}}
    found = {
        "version": "0.1.0",
        "source": "onprem",
        "pid": 4711,
        "started_at": NOW - 7500,
        "config": {"file": "/etc/pysync/pysync.toml", "changes": [], "problem": None},
        "bridge": bridge,
        "notification_log": None,
        "credentials": [],
        "listeners": [listener()],
        "no_listener_since": None,
        "source_last_contact": None,
        "receivers": [],
        "queue": queue,
        "workers": [],
        "gaps": [],
        "bootstrap": None,
        "copy": {},
        "targets": list(targets or [target()]),
        **values,
    }
    wrong = problems(found, GRACE, NOW)
    return {"well": not wrong, "problems": [it.as_json() for it in wrong], **found}


def error(reason: str, *, over: bool = False) -> dict[str, Any]:
    """The last error of a target."""
    return {"reason": reason, "at": NOW - 60, "over": over}


def everything_wrong() -> dict[str, Any]:
    """A status in which every part has a problem."""
    return status(
        target("dr", state="paused", paused={"reason": "by hand", "at": NOW - 3600}, queued=12_000, lag_seconds=7500),
        target("lake", state="waiting", waiting_since=NOW - 900, last_error=error("connection refused"), queued=7),
        target("catalog", parked=3, last_error=error("AlreadyExistsException: sales.orders"), lag_seconds=0.4),
        target("cold", verify={"began_at": NOW, "ended_at": NOW, "objects": 9, "drift": 2, "names": ["table a.b"]}),
        target("new", scope={"changed_at": NOW, "changes": ["include: a"], "out_of_scope": "keep", "done": False}),
        target("odd", state="failing", last_error=error("KeyError: 'x'")),
        listeners=[
            listener(state="silent", heard_at=NOW - 400),
            listener(instance="b" * 36, waiting_bytes=5 * 2**20, waiting_since=NOW - 4000, lost=12),
            listener(instance="c" * 36, state="expected", heard_at=None, clock_offset_seconds=-1.25),
        ],
        gaps=[
            {"state": "open", "reason": "a spool was lost", "target": None},
            {"state": "closing", "reason": "dr is new", "target": None},
            {"state": "closed", "reason": "long ago", "target": None},
        ],
        workers=[
            {"name": "drain-odd", "state": "failing", "waiting_since": None, "last_error": error("KeyError: 'x'")}
        ],
    )


def printed(parts: Iterable[Part], width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines as they stand on a terminal of that width, without colours and without spaces at the end."""
    file = io.StringIO()
    monkeypatch.setenv("COLUMNS", str(width))
    show(parts, Console(file=file, width=width, highlight=False, color_system=None))
    return [line.rstrip() for line in re.sub("\x1b.*?m", "", file.getvalue()).splitlines()]
