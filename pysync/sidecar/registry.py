"""Targets by name: what the queue keeps of a target that pysync.toml names no more, and what happens to it.

A position, parked events, a pause and notes hang on the name. A name that is gone from pysync.toml may be a mistake, a
rename or a removal: only a person knows which, so nothing runs until a person decides.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import meant, nearest, quoted
from pysync.control.client import ask_if_running
from pysync.model.event import Kind
from pysync.model.wire import decode_event, encode_event
from pysync.queue import EventQueue, ParkedEvents, queue_at_rest
from pysync.resync.rescoping import drop_what_leaves
from pysync.sidecar.acts import note_of_target

_AT_ONCE = 1000
_MAX_BYTES = 16 * 1024 * 1024
_ACT = "act_on_target"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a queue keeps of a target: events that wait for it, how many are parked, and why it is paused, if it is."""

    target: str
    queued: int
    parked: int
    paused: str | None


@dataclass(frozen=True, slots=True)
class Act:
    """What a person decided of a target; the next start of the sidecar carries it out.

    A target with the name `to` is what `target` was. With `drops`, what leaves the target's scope by the next change of
    it is dropped, whatever out_of_scope says. Without either, `target` is forgotten. With a `digest`, all of that only
    if the configuration file has it: the act belongs to a change of the file, which may never have been made.
    """

    target: str
    to: str | None = None
    drops: bool = False
    digest: str | None = None

    @property
    def removes(self) -> bool:
        """Whether the target is forgotten."""
        return self.to is None and not self.drops

    @classmethod
    def of(cls, value: Any) -> Act | None:
        """The act in a request, or in a note. Raises PysyncError for what is none."""
        if value is None:
            return None
        try:
            return cls(**value)
        except TypeError:
            raise PysyncError("the act on a target cannot be read", "use the pysync of the sidecar's release") from None


def assert_acted(queue: EventQueue, named: Collection[str], act: Act | None) -> None:
    """Raises UsageError where the queue would know a target that is not `named`, once `act` was carried out."""
    known = set(queue.positions())
    if act is not None and act.to is not None:
        _renamable(queue, named, act.target, act.to)
        known = known - {act.target} | {act.to}
    elif act is not None and act.removes:
        _assert_gone(named, act.target)
        known -= {act.target}
    assert_named(queue.room.file.parent, known, named)


def request_at_start(queue: EventQueue, act: Act) -> None:
    """Have the next start of the sidecar carry it out."""
    queue.notes.put(_ACT, json.dumps(asdict(act)))


def carry_out(queue: EventQueue, named: Collection[str], digest: str | None = None) -> None:
    """Carry out what was asked for, if anything was, once. What the configuration contradicts by now is only logged.

    `digest` is that of the configuration's file.
    """
    act = Act.of(json.loads(queue.notes.get(_ACT) or "null"))
    if act is None:
        return
    try:
        _assert_written(act, digest)
        if act.drops:
            drop_what_leaves(queue, act.target)
        elif act.to is None:
            remove(queue, named, act.target)
        else:
            rename(queue, named, act.target, act.to)
    except PysyncError as error:
        log.warning("act_refused", target=act.target, to=act.to, reason=error.message, hint=error.hint)
    # Last: a kill comes before it, and both acts may be repeated.
    queue.notes.put(_ACT, "null")


def _assert_written(act: Act, digest: str | None) -> None:
    if act.digest not in {None, digest}:
        raise PysyncError("the configuration file has not become what it was meant to be", "run the command again")


def assert_named(directory: Path, known: Collection[str], named: Collection[str]) -> None:
    """Raises UsageError where the queue in `directory` knows a target that is not `named` in the configuration."""
    former = sorted(set(known) - set(named))
    if not former:
        return
    new = sorted(set(named) - set(known))
    names = ", ".join(map(repr, former))
    to = new[0] if len(former) == len(new) == 1 else "NEW"
    raise UsageError(
        f"the queue in {directory} keeps the position and the parked events of {names}, but the configuration has no "
        "such target",
        f"if the target was renamed: pysync target rename {former[0]} {to} -c FILE; if it is no longer needed: pysync "
        f"target remove {former[0]} -c FILE",
    )


def known_targets(directory: Path) -> list[str]:
    """The targets that the queue in `directory` knows, or the sidecar that runs on it; none where there is no queue.

    Raises PysyncError for a queue that cannot be read.
    """
    if status := ask_if_running(directory, "status"):
        return [target["name"] for target in status["targets"]]
    with queue_at_rest(directory) as queue:
        return sorted(queue.positions()) if queue else []


@contextmanager
def resting(directory: Path) -> Iterator[EventQueue]:
    """The queue in `directory`, on which nothing may run meanwhile. Raises PysyncError where something does."""
    # Asked first, so that the error names the process; the lock would only say that somebody has it.
    if status := ask_if_running(directory, "status"):
        running = f"a sidecar runs on the queue in {directory}, pid {status['pid']}"
        raise PysyncError(running, "stop the sidecar first")
    with queue_at_rest(directory) as queue:
        if queue is None:
            raise PysyncError(f"there is no queue in {directory}", "check [queue] directory")
        yield queue


def backlog_of(queue: EventQueue, target: str) -> Backlog | None:
    """What is kept of a target; None if the queue does not know it."""
    if target not in queue.positions():
        return None
    there = queue.target(target)
    pause = there.paused()
    return Backlog(target, there.depth().queued, there.parked.count(), pause.reason if pause else None)


def rename(queue: EventQueue, named: Collection[str], old: str, new: str) -> Backlog:
    """Keep under the name `new` what is kept of `old`; returns that.

    Idempotent: a target stays as it is where this very rename is on record. Raises UsageError where the configuration,
    which has the targets `named`, does not say the same, and PysyncError where both names are known, or `old` is not.
    """
    there, is_done = _renamable(queue, named, old, new)
    if is_done:
        return there
    # First: after a crash in between `old` is still known, and the rename can be asked for again.
    _address(queue, old, new)
    queue.target(old).rename(new, {"act": "renamed", "target": old, "to": new})
    note_of_target(queue, "RenameTarget", new, former=old)
    log.warning("target_renamed", target=old, to=new, queued=there.queued, parked=there.parked)
    return replace(there, target=new)


def _renamable(queue: EventQueue, named: Collection[str], old: str, new: str) -> tuple[Backlog, bool]:
    """What is kept of the target, and whether it is under the name `new` already. Raises what `rename` does."""
    if new not in named or old in named:
        if old not in named and (near := nearest(new, named)):
            raise UsageError(f"the configuration has no target {quoted(new)}", f"did you mean {near}?")
        what = f"still has a target {quoted(old)}" if old in named else f"has no target {quoted(new)}"
        raise UsageError(f"the configuration {what}", f"first rename the target there from {old!r} to {new!r}")
    there, other = backlog_of(queue, old), backlog_of(queue, new)
    if there is not None and other is not None:
        raise PysyncError(
            f"the queue has both targets, {old!r} and {new!r}",
            f"if {old!r} is no longer needed: pysync target remove {old} -c FILE",
        )
    if there is None:
        if other is None or not _is_on_record(queue, old, new):
            raise PysyncError(
                f"the queue has no target {quoted(old)} to rename", meant(old, sorted(queue.positions()), "its targets")
            )
        return other, True
    return there, False


def remove(queue: EventQueue, named: Collection[str], target: str) -> Backlog | None:
    """Forget what is kept of a target for good; returns what that was, None if there was nothing.

    Idempotent. Raises UsageError where the configuration names it still: it would begin again.
    """
    _assert_gone(named, target)
    there = backlog_of(queue, target)
    if there is not None:
        act = {"act": "removed", "target": target, "queued": there.queued, "parked": there.parked}
        queue.target(target).forget(act)
        note_of_target(queue, "RemoveTarget", target)
        log.warning("target_removed", target=target, queued=there.queued, parked=there.parked)
    return there


def _assert_gone(named: Collection[str], target: str) -> None:
    if target in named:
        raise UsageError(f"the configuration still has a target {target!r}", "first remove its [[targets]] table")


def _is_on_record(queue: EventQueue, old: str, new: str) -> bool:
    """Whether the last act on either name was this rename: the target `new` is then what `old` was."""
    names = {old, new}
    last = next((act for act in queue.notes.acts() if names & {act["target"], act.get("to")}), None)
    return last is not None and (last["act"], last["target"], last.get("to")) == ("renamed", old, new)


def _address(queue: EventQueue, old: str, new: str) -> None:
    """Address refreshes that are for `old` to `new` as well. Idempotent."""
    after = queue.target(old).position()
    for batch in (*_parked(queue.target(old).parked), *_events(queue, after)):
        if changed := {at: data for at, it in batch.items() if (data := _readdressed(it, old, new)) is not None}:
            queue.amend(changed)


def _events(queue: EventQueue, after: int) -> Iterator[dict[int, bytes]]:
    while events := queue.events(after, _AT_ONCE, _MAX_BYTES):
        after = events[-1].position
        yield {event.position: event.data for event in events}


def _parked(parked: ParkedEvents) -> Iterator[dict[int, bytes]]:
    last = None
    while rows := parked.events(after=last, limit=_AT_ONCE):
        last = rows[-1]
        yield {row.position: row.data for row in rows}


def _readdressed(data: bytes, old: str, new: str) -> bytes | None:
    """The event with `new` beside `old` among those it is for; None where it needs no change."""
    # Cheap, for all events: few are refreshes for some targets.
    if b"targets" not in data or old.encode() not in data:
        return None
    try:
        event = decode_event(data)
    except PysyncError:
        return None
    attributes: dict[str, Any] = dict(event.attributes)
    names = attributes.get("targets", "").split("\n")
    if event.kind is not Kind.REFRESH or old not in names or new in names:
        return None
    # `old` stays among them: until it is renamed the target has that name.
    return encode_event(replace(event, attributes={**attributes, "targets": "\n".join([*names, new])}))
