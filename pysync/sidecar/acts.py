"""Acts: what people do to the running sidecar, and who did it, goes into the journal."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from typing import Any

from pysync.base.errors import PysyncError
from pysync.config import Config
from pysync.control.server import WHO, Command
from pysync.journal import Journal, Record
from pysync.journal.file import FILE
from pysync.journal.record import reason_of
from pysync.queue import EventQueue
from pysync.sidecar.arguments import Request

_MIB = 1024 * 1024
_MOST_NAMED = 10

ACTS: Mapping[str, str] = {
    "pause": "Pause",
    "resume": "Resume",
    "held decide": "Decide",
    "kept release": "Release",
    "refresh": "Refresh",
    "bootstrap": "Bootstrap",
    "replay": "Replay",
    "trash restore": "RestoreTrash",
    "trash empty": "EmptyTrash",
    "verify": "Verify",
    "listener remove": "RemoveListener",
    "reload": "Reload",
    "parked retry": "Retry",
    "parked skip": "Skip",
    "parked adopt": "Adopt",
}
"""The commands that change something, and the name of each in the journal."""


def journal_of(config: Config, is_tight: Callable[[], bool]) -> Journal:
    """The journal beside the queue; nothing is written while the disk `is_tight`."""
    settings, file = config.journal, config.queue.directory / FILE
    return Journal(file, keep=settings.keep, max_bytes=settings.max_mb * _MIB, is_tight=is_tight)


def note_of_target(queue: EventQueue, operation: str, target: str, former: str = "") -> None:
    """Record what a person does to a target while no sidecar runs; the records of one that is renamed go along.

    The queue has such acts on record, too, so a journal that cannot be written is no reason to refuse them.
    """
    journal = Journal(queue.room.file.with_name(FILE), keep=math.inf, max_bytes=sys.maxsize)
    record: dict[str, Any] = {"at": time.time(), "operation": operation, "outcome": "done", "target": target}
    with closing(journal), suppress(PysyncError):
        if former:
            journal.rename_target(former, target)
        journal.append(Record(**record, reason=former or None, who=f"uid {os.getuid()} (command line)"))


def recorded(commands: Mapping[str, Command], append: Callable[[Record], object]) -> Mapping[str, Command]:
    """The commands; of those that change something the journal has a record, also when one is refused."""
    return {
        name: _recorded(ACTS[name], command, append) if name in ACTS else command for name, command in commands.items()
    }


def _recorded(operation: str, command: Command, append: Callable[[Record], object]) -> Command:
    def run(request: Request) -> Mapping[str, Any]:
        try:
            answer = command(request)
        except PysyncError as error:
            for record in _records(operation, request, "refused", error.message):
                append(record)
            raise
        named = {**request, "table": answer["restored"]} if "restored" in answer else request
        for record in _records(operation, named, "done", _result_text(request, answer)):
            append(record)
        return answer

    return run


def _records(operation: str, request: Request, outcome: str, reason: str | None) -> list[Record]:
    """A record for each object that the request names; one if it names none."""
    target, who = request.get("target"), request.get(WHO)
    common: dict[str, Any] = {
        "at": time.time(),
        "operation": operation,
        "outcome": outcome,
        "target": target if isinstance(target, str) else "",
        "first_position": _position(request),
        "last_position": _position(request),
        "reason": reason_of(reason),
        "who": str(who) if who else None,
    }
    return [Record(**{**common, **names}) for names in _objects(request) or [{}]]


def _objects(request: Request) -> list[dict[str, str]]:
    """A table of the parking is one at the target; what is refreshed is named as at the source."""
    table, tables = request.get("table"), request.get("tables")
    if isinstance(table, str):
        return [{"object": table.strip().lower()}]
    if tables and request.get("target"):
        return [{"object": str(it).strip().lower()} for it in tables]
    one = request.get("source_table")
    named = [
        *([one] if isinstance(one, str) else ()),
        *(tables or ()),
        *(request.get("databases") or ()),
    ]
    return [{"source_object": str(it).strip().lower()} for it in named]


def _position(request: Request) -> int | None:
    value = request.get("position")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _result_text(request: Request, answer: Mapping[str, Any]) -> str | None:
    """The text for an act that was done: what it came to, or the reason that was given for it."""
    if "tried" in answer:
        left = f"; {answer['left']} left: {answer['reason']}" if answer["reason"] else ""
        adopted = f"{answer['adopted']} adopted, " if "adopted" in answer else ""
        return f"{adopted}{answer['skipped']} skipped, {answer['tried']} tried{left}"
    if "objects" in answer:
        return _decision_text(answer)
    if "restored" in answer:
        return f"{answer['name']} is {answer['restored']} again"
    if "removed" in answer and "left" in answer:
        return f"{answer['removed']} removed"
    if "first" in answer:
        return f"events {answer['first']} to {answer['last']}"
    requested = request.get("instance") or request.get("why")
    text = answer.get("paused") or answer.get("was") or answer.get("gap") or requested
    return str(text) if text else None


def _decision_text(answer: Mapping[str, Any]) -> str:
    """`kept: hr.t1, hr.t2`, and how many more."""
    names = [str(it["object"]) for it in answer["objects"]]
    what = {True: "kept", False: "dropped"}.get(answer.get("kept", None), "no longer kept")
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f"{what}: {', '.join(names[:_MOST_NAMED])}{more}"
