"""Facts: what is known of an object at one target, gathered from the queue, the drain and the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pysync.base.errors import PysyncError
from pysync.journal import Query, Reader, Record
from pysync.model.change import decode_change
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, ParkedTable
from pysync.replay.drain import Drain
from pysync.replay.parking import related
from pysync.replay.window.order import EVERYTHING, database_of
from pysync.replay.window.policy import Policy
from pysync.sidecar.why.ends import Presence
from pysync.sidecar.why.events import SeenEvent
from pysync.sidecar.why.name_history import Span


@dataclass(frozen=True, slots=True)
class Spool:
    """What a listener holds that has not arrived."""

    instance: str
    events: int
    since: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of an object at a target; without a sidecar that is its scope and its `records`, newest first.

    `source` and `object` are its names at both ends. `rule` is the one that leaves it out, `ignored` the one by which
    the last event of it did not concern the target, though the object does. `suppresses_drops`: it may be gone at the
    source. `waiting` are the events of it that the target is not done with. `blocker` is what it waits behind, if it is
    parked only for that. `held` is why the brake holds its drop, if it does; `kept`: a person has kept it. `ends` is
    not asked of an object that is out of scope, or `is_pending`.
    """

    target: str
    source: str
    object: str
    rule: str | None = None
    ignored: str | None = None
    suppresses_drops: bool = False
    records: Sequence[Record] = ()
    running: bool = True
    mode: str = "apply"
    parked: Sequence[ParkedTable] = ()
    blocker: ParkedTable | None = None
    paused: str | None = None
    paused_by: str | None = None
    held: str = ""
    kept: bool = False
    state: str = "running"
    error: str | None = None
    queued: int = 0
    waiting: Sequence[SeenEvent] = ()
    last_event: SeenEvent | None = None
    spools: Sequence[Spool] = ()
    gaps: Sequence[str] = field(default=())
    ends: Presence = field(default=Presence())

    @property
    def is_pending(self) -> bool:
        """Whether the target is not done with its events."""
        return bool(self.parked or self.waiting)

    @property
    def last(self) -> Record | None:
        """The last record of an operation on it, not of an act nor of an event that was parked."""
        return next(
            (it for it in self.records if it.milliseconds is not None or it.outcome in {"shadowed", "kept"}), None
        )


def rule_against(policy: Policy, source: str) -> str | None:
    """The rule by which a target does not have an object of the source."""
    return policy.rule_against(_object(source))


def _object(source: str) -> TableName | str:
    database, dot, rest = source.partition(".")
    return database if not dot or rest.endswith("()") else TableName(database, rest)


def gathered(queue: EventQueue, drain: Drain, reader: Reader, known: Mapping[str, Any]) -> Facts:
    """The facts at the target of a drain.

    `known` are those that the caller has: `source`, `object`, `records`, `events`, `spools`, and `spans`: the keys by
    which its changes are parked.
    """
    target, policy = queue.target(drain.name), drain.translator.policy
    position = target.position()
    seen: Sequence[SeenEvent] = [it for it in known["events"] if it.is_for(drain.name)]
    pause, by_hand = drain.paused(), target.paused()
    progress = drain.progress.status()
    parked, blocker = _parked(queue, drain.name, known["spans"])
    last = seen[-1] if seen else None
    return Facts(
        target=drain.name,
        source=known["source"],
        object=known["object"],
        rule=rule_against(policy, known["source"]),
        ignored=_ignored(queue, policy, last) if last is not None else None,
        suppresses_drops=policy.deciding(_object(known["source"])).suppresses_drops,
        records=known["records"],
        mode=drain.settings.mode,
        parked=parked,
        blocker=blocker,
        paused=pause.reason if pause is not None else None,
        paused_by=_who_paused(reader, drain.name) if by_hand is not None else None,
        held=drain.brake.reason_of(known["object"]),
        kept=drain.brake.keeps(known["object"]),
        state=progress["state"],
        error=progress["last_error"] and progress["last_error"]["reason"],
        queued=target.depth().queued,
        waiting=[it for it in seen if it.position > position],
        last_event=last,
        spools=known["spools"],
        gaps=[gap.reason for gap in queue.gaps.unclosed() if gap.target in {None, drain.name}],
    )


def _ignored(queue: EventQueue, policy: Policy, event: SeenEvent) -> str | None:
    """The rule by which an event did not concern the target; None if there is none, or it is gone or unreadable."""
    for queued in queue.events(event.position - 1, 1, 1):
        try:
            change = decode_change(decode_event(queued.data), queued.position)
        except PysyncError:
            return None
        if change is not None and queued.position == event.position:
            return policy.rule_against_change(change)
    return None


def _parked(queue: EventQueue, target: str, spans: Sequence[Span]) -> tuple[Sequence[ParkedTable], ParkedTable | None]:
    """What is parked of the object or of its database, and what that waits behind if it was not refused itself."""
    parked = queue.target(target).parked
    tables = parked.tables()
    database = database_of(spans[0].name)
    of_database = {database, database + EVERYTHING}
    mine = [it for it in tables if it.table in of_database or any(span.holds(it.table, it.position) for span in spans)]
    if not mine or any(it.kind != "waits" for it in mine):
        return mine, None
    near = related([it.table for it in mine], parked.names().values())
    refused = [it for it in tables if it.kind != "waits" and it.table in near]
    return mine, min(refused, key=lambda it: it.position, default=None)


def _who_paused(reader: Reader, target: str) -> str | None:
    records = reader.records(Query(target=target, operation="Pause", outcome="done"), 1)
    return records[0].who if records else None
