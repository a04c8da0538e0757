"""Repairing: drift becomes refreshes, which the running sidecar makes good through queue, plan and lanes.

So order, ownership, suppressed drops and the brake hold for a repair as for any event.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.health import DISABLED
from pysync.base.text import count
from pysync.config import Config
from pysync.control.client import ask
from pysync.verify.findings import EQUAL, ComparedObject
from pysync.verify.report import Report, numbers_of

_NAMES_PER_REQUEST = 200  # the sidecar looks at each before it answers
_LONGEST_REQUEST = 60_000  # characters of JSON
_POLL_SECONDS = 0.3
_LOOKS = 4
_PAUSE_SECONDS = 2.0  # as long as what was parked waits for its first retry

OnProgress = Callable[[str], None]


def repair(config: Config, target: str, drift: Sequence[ComparedObject], on_progress: OnProgress) -> None:
    """Have the sidecar bring what has drifted to what the source has, and wait until the target is done with it.

    Raises PysyncError when no sidecar runs, or when the target is paused.
    """
    for databases, tables in _requests(drift):
        ask(config.queue.directory, "refresh", databases=databases, tables=tables, seen=True)
        _wait_for(config, target, on_progress)


def wait_for_repair(config: Config, target: str) -> Iterator[int]:
    """Count the looks that are worth while after a repair: more than one while something is parked.

    A foreign key, say, whose table came before the one that it refers to, is tried again by itself.
    """
    for number in range(_LOOKS):
        yield number
        if not _status_of(config, target)["parked"]:
            return
        time.sleep(_PAUSE_SECONDS)


def have_compared_again(config: Config, target: str) -> None:
    """Have the sidecar compare the target again if its last comparison found drift, which status shows until then."""
    known = _status_of(config, target)["verify"]
    if known is not None and known["drift"]:
        ask(config.queue.directory, "verify", target=target)


def have_recorded(config: Config, report: Report, seconds: tuple[float, float]) -> None:
    """Have the sidecar, if one runs, keep as its own what a comparison of a whole target found; `seconds`: from, until.

    What differs it looks at again by itself, when nothing is on its way. What does not fit into a request it compares.
    """
    numbers = numbers_of(report.compared)
    unequal = sorted({it.source for it in report.compared if it.result != EQUAL and it.source})
    result: dict[str, Any] = {"numbers": numbers, "unequal": unequal, "began_at": seconds[0], "ended_at": seconds[1]}
    is_short = len(json.dumps(result)) < _LONGEST_REQUEST
    # The comparison is good without that: the target may be disabled, the sidecar busy, or another user's.
    with suppress(PysyncError):
        ask(config.queue.directory, "verify", target=report.target, **(result if is_short else {}))


def _requests(drift: Sequence[ComparedObject]) -> Iterator[tuple[list[str], list[str]]]:
    """Databases first, and tables with constraints last: what a foreign key refers to is there by then."""
    databases = sorted({item.source for item in drift if "." not in item.source})
    last = {item.source for item in drift if item.kind == "constraint"}
    tables = sorted({item.source for item in drift if "." in item.source}, key=lambda name: (name in last, name))
    for names in _chunks(databases):
        yield names, []
    for names in _chunks(tables):
        yield [], names


def _chunks(names: Sequence[str]) -> Iterable[list[str]]:
    return (list(names[at : at + _NAMES_PER_REQUEST]) for at in range(0, len(names), _NAMES_PER_REQUEST))


def _wait_for(config: Config, target: str, on_progress: OnProgress) -> None:
    """Wait until this target is done with what is queued now, whatever other targets do."""
    target_status = _status_of(config, target)
    upto = target_status["position"] + target_status["queued"]
    while target_status["position"] < upto:
        if target_status["state"] == DISABLED:
            raise PysyncError(f"target {target!r} is disabled", f"first run: pysync target enable {target}")
        if target_status["paused"]:
            reason = target_status["paused"]["reason"]
            raise PysyncError(f"target {target!r} is paused: {reason}", f"first run: pysync resume {target}")
        waits = (
            f", {target_status['state']}: {target_status['last_error']['reason']}"
            if target_status["state"] == "waiting"
            else ""
        )
        on_progress(f"{count(upto - target_status['position'], 'event')} to apply{waits}")
        time.sleep(_POLL_SECONDS)
        target_status = _status_of(config, target)


def _status_of(config: Config, target: str) -> dict[str, Any]:
    status: dict[str, Any] = next(it for it in ask(config.queue.directory, "status")["targets"] if it["name"] == target)
    return status
