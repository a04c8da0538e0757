"""What people ask the sidecar for: arguments are checked, and what they have changed goes into the journal."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import shortened, shown
from pysync.config import Config
from pysync.control.server import WHO, Command
from pysync.journal import Journal, Query, Reader, Record
from pysync.journal.file import FILE
from pysync.journal.record import OUTCOMES, reason_of
from pysync.queue import EventQueue

# --- Arguments: what a request of the control socket may carry, whatever its command. Commands check what they mean

_LONGEST = 1000
_LARGEST = 2**63 - 1  # of a number in SQLite

Request = Mapping[str, Any]


def checked(command: Command) -> Command:
    """The command; a request with an argument of a wrong type is refused before it. Other keys are not looked at."""

    def run(request: Request) -> Mapping[str, Any]:
        for key, value in request.items():
            is_fit, wanted = _KINDS.get(key, _ANY)
            if value is not None and not is_fit(value):
                raise PysyncError(f"{shortened(key, 80)} must be {wanted}, not {shortened(shown(value), 80)}")
        return command(request)

    return run


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_act(value: Any) -> bool:
    return isinstance(value, dict) and all(it is None or isinstance(it, bool) or _is_text(it) for it in value.values())


def _is_bounded(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= _LARGEST


_Kind = tuple[Callable[[Any], bool], str]

_ANY: _Kind = _is_bounded, f"a number of at most {_LARGEST}"
_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(
        ("target", "table", "source_table", "reason", "instance", "why", "name", "as", "object", "wait"),
        (_is_text, f"a text of at most {_LONGEST} characters"),
    ),
    **dict.fromkeys(
        ("tables", "databases", "named", "names"), (_is_list, f"a list of texts of at most {_LONGEST} characters")
    ),
    "act": (_is_act, "an object of texts"),
}


# --- Acts: what people do to the running sidecar, and who did it, goes into the journal

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
    table = request.get("table")
    if isinstance(table, str):
        return [{"object": table.strip().lower()}]
    one = request.get("source_table")
    named = [
        *([one] if isinstance(one, str) else ()),
        *(request.get("tables") or ()),
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


# --- Actions: the records of the journal, as JSON values, page by page. The form is a promise, see docs/status.md

MOST = 1000
"""Records in one answer."""
_LIMIT = 100


def listed(reader: Reader, request: Mapping[str, Any]) -> dict[str, Any]:
    """`records`: the newest first, up to `limit`; `next`: where to go on, as `before`, null at the end.

    Each of `target`, `outcome`, `database`, `table` (`db.table`, or the table of `database`), `since`, `until` (seconds
    since 1970), `before` and `after` (ids) narrows them, `notable` (true) to acts and failures. Names are those at the
    target or at the source. Raises PysyncError for arguments that make no sense.
    """
    limit = min(int(_number(request, "limit", 1) or _LIMIT), MOST)
    records = reader.records(query_of(request), limit + 1)
    page = records[:limit]
    return {"records": [it.as_json() for it in page], "next": page[-1].id if len(records) > limit else None}


def query_of(request: Mapping[str, Any]) -> Query:
    """The query that a request asks for. Raises PysyncError."""
    outcome = _text(request, "outcome")
    if outcome is not None and outcome not in OUTCOMES:
        raise PysyncError(f"there is no outcome {shown(shortened(outcome, 80))}", f"outcomes: {', '.join(OUTCOMES)}")
    database, table = _name(request, "database"), _name(request, "table")
    if database and table and "." not in table:
        table = f"{database}.{table}"
    name = table or database
    before, after = _number(request, "before"), _number(request, "after")
    return Query(
        target=_text(request, "target"),
        outcome=outcome,
        notable=request.get("notable") is True,
        names=[name] if name else [],
        since=_number(request, "since"),
        until=_number(request, "until"),
        before=None if before is None else int(before),
        after=None if after is None else int(after),
    )


def _text(request: Mapping[str, Any], name: str) -> str | None:
    value = request.get(name)
    if value is not None and not isinstance(value, str):
        raise PysyncError(f"{name} must be a text, not {shortened(shown(value), 80)}")
    return value or None


def _name(request: Mapping[str, Any], name: str) -> str | None:
    value = _text(request, name)
    return value.strip().lower() if value else None


def _number(request: Mapping[str, Any], name: str, least: int = 0) -> float | None:
    value = request.get(name)
    if value is None:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= _LARGEST:  # also of nan
        raise PysyncError(f"{name} must be a number of at least {least}, not {shortened(shown(value), 80)}")
    return float(value) if isinstance(value, float) else value
