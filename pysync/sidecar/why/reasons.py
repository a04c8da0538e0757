"""Reasons: what to say of an object at a target, the most important first. Pure: facts in, sentences out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.health import DISABLED, decide
from pysync.base.installation import start_sidecar
from pysync.base.text import count, last_line, local_time, span
from pysync.journal import Record
from pysync.sidecar.why.facts import Facts
from pysync.targets.apply.door import TRASHED

_LONGEST = 300
_AWAY = frozenset({"waiting", "failing", "starting", "stopped"})
_AT_ENDS_AFTER = {"applied": "at_both_ends", "dropped": "nowhere"}
"""By the code of what was done last: the code of where the object is then, unless others have changed that."""

_NOT_WRITTEN = {
    "foreign": "is not from this source, so it was left as it is",
    "conflict": "was changed at both ends; the target's state stays and is sent again",
    "unsupported": "is nothing that this kind of target can hold",
    "shadowed": 'was only logged: mode = "shadow" writes nothing',
}


@dataclass(frozen=True, slots=True)
class Reason:
    """`code` is one of those in docs/status.md, `hint` a command to type."""

    code: str
    text: str
    hint: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As in docs/status.md."""
        return {"code": self.code, "text": self.text, "hint": self.hint}


def reasons(facts: Facts) -> list[Reason]:
    """What there is to say; never empty. The first is the verdict."""
    if facts.rule is not None:
        return [Reason("out_of_scope", f"{facts.source} is out of scope: {facts.rule}", _settings(facts))]
    causes = [*_decided(facts), *_parked(facts), *_queued(facts)]
    under_way, done = list(_under_way(facts)), list(_state(facts))
    ends = list(_unlike(facts, done))
    # What may be on its way is the reason why only one end has it.
    is_at_one_end = {facts.ends.at_source, facts.ends.at_target} == {True, False}
    causes += [*under_way, *ends, *done] if is_at_one_end else [*ends, *done, *under_way]
    causes = causes or [_unknown(facts)]
    if not facts.waiting and facts.state == DISABLED:
        causes.append(_disabled(facts, "no event of it waits"))
    elif facts.paused is not None and not facts.waiting:
        causes.append(_paused(facts, "no event of it waits"))
    return [*causes, *_silent(facts)]


def _settings(facts: Facts) -> str:
    """Where a rule is, so that it can be changed: pysync target set."""
    return f"pysync target show {facts.target}"


def _decided(facts: Facts) -> Iterator[Reason]:
    """Whether a person has to decide about its drop, or has decided to keep it."""
    if facts.held:
        yield Reason("brake", f"the drop of {facts.object} is held: {facts.held}", decide(facts.target))
    elif facts.kept:
        text = f"{facts.object} was dropped at the source, and a person has decided that {facts.target} keeps it"
        yield Reason("kept", text, f"pysync kept release {facts.target} {facts.object}")


def _parked(facts: Facts) -> Iterator[Reason]:
    refused = next((it for it in facts.parked if it.kind != "waits"), None)
    if refused is not None and refused.kind == "held":
        yield Reason("brake", f"{refused.table}: {last_line(refused.reason, _LONGEST)}", decide(facts.target))
        return
    if refused is not None:
        yield Reason(
            "parked",
            f"event {refused.position} of {refused.table} is parked, {_since(refused.first_at_ms / 1000)}, after "
            f"{count(refused.attempts, 'attempt')}: {last_line(refused.reason, _LONGEST)}{_behind(refused.events)}",
            f"pysync parked show {facts.target} {refused.position}",
        )
        return
    for waits in facts.parked[:1]:
        behind, table = "a parked event", waits.table
        if facts.blocker is not None:
            behind = f"event {facts.blocker.position} of {facts.blocker.table}, which is parked"
            behind, table = f"{behind}: {last_line(facts.blocker.reason, _LONGEST)}", facts.blocker.table
        yield Reason(
            "waiting",
            f"{count(waits.events, 'event')} of {waits.table} from {waits.position} on wait behind {behind}",
            f"pysync parked retry {facts.target} --table {table}",
        )


def _queued(facts: Facts) -> Iterator[Reason]:
    """Why events of it that are in the queue are not replayed."""
    if not facts.waiting:
        return
    first, last = facts.waiting[0], facts.waiting[-1]
    what = f"{span('event', first.position, last.position)} ({last.kind})"
    waits = f"{what} of {facts.source} {'wait' if first is not last else 'waits'} in the queue"
    if facts.state == DISABLED:
        yield _disabled(facts, waits)
    elif facts.paused is not None:
        yield _paused(facts, waits)
    elif facts.state in _AWAY:
        error = f": {last_line(facts.error, _LONGEST)}" if facts.error else ""
        yield Reason("target_away", f"{waits}; {facts.target} is {facts.state}{error}", "pysync status")
    else:
        behind = f"{count(facts.queued, 'event')} to replay"
        yield Reason("waiting", f"{waits}; {facts.target} has {behind}", f"pysync plan --target {facts.target}")


def _disabled(facts: Facts, waits: str) -> Reason:
    return Reason("disabled", f"{waits}; {facts.target} is disabled", f"pysync target enable {facts.target}")


def _paused(facts: Facts, waits: str) -> Reason:
    by = f" by {facts.paused_by}" if facts.paused_by else ""
    return Reason("paused", f"{waits}; {facts.target} is paused{by}: {facts.paused}", f"pysync resume {facts.target}")


def _state(facts: Facts) -> Iterator[Reason]:
    """What the target has, as far as the journal shows."""
    last = facts.last
    if facts.ignored is not None and facts.last_event is not None and not facts.waiting:
        event = facts.last_event
        text = f"event {event.position} ({event.kind}) was not applied: {facts.ignored}"
        yield Reason("drop_suppressed", text) if event.drops else Reason("out_of_scope", text, _settings(facts))
    if last is not None:
        yield _written(facts, last)


def _written(facts: Facts, last: Record) -> Reason:
    """What the last operation came to."""
    at = _since(last.at, "at")
    if last.outcome == "kept":
        return Reason("kept", f"{last.object} was dropped at the source, and kept at {facts.target} {at}")
    if last.outcome in _NOT_WRITTEN:
        code = "shadowed" if last.outcome == "shadowed" else "foreign"
        hint = None if "(" in facts.source else f"pysync verify {facts.source} --target {facts.target}"
        return Reason(code, f"{last.object} {_NOT_WRITTEN[last.outcome]} ({last.operation} {at})", hint)
    if name := _name_in_trash(last, facts.object):
        return _trashed(facts, last, name)
    if _is_drop(last, facts.object):
        return Reason("dropped", f"{facts.object} was dropped at {facts.target} {at}, as at the source")
    if last.former == facts.object != last.object:
        return Reason("dropped", f"{facts.object} was renamed to {last.object} at {facts.target} {at}")
    how = {"applied": "was written", "unchanged": "was as it should be"}.get(last.outcome, "has a newer state")
    # The event of a drop may be gone from the queue by now.
    keeps = '; a drop at the source is not applied: drops = "suppress"' if facts.suppresses_drops else ""
    doing = f"it {how} ({last.operation} {at}){keeps}"
    has = {True: "has", False: "had", None: "should have"}[facts.ends.at_target]
    doubt = "" if facts.ends.at_target is not None else f"; {facts.target} could not be asked"
    lost = f"; not as at the source: {'; '.join(facts.ends.lost)}" if facts.ends.lost else ""
    return Reason("applied", f"{facts.target} {has} {last.object}: {doing}{doubt}{lost}")


def _unlike(facts: Facts, done: Sequence[Reason]) -> Iterator[Reason]:
    """Where the object is now, if that is not what the last operation (`done`, if any) came to."""
    expected = _AT_ENDS_AFTER.get(done[-1].code) if done else ""
    if expected is None or facts.held or facts.kept:
        return
    for it in _at_ends(facts):
        if it.code != expected and not (facts.suppresses_drops and it.code == "only_at_target"):
            yield it


def _under_way(facts: Facts) -> Iterator[Reason]:
    """Where changes of it may be that have not arrived."""
    for spool in facts.spools:
        since = f" {_since(spool.since)}" if spool.since else ""
        text = f"listener {spool.instance} holds {count(spool.events, 'event')} in its spool{since}; one may be of it"
        yield Reason("in_spool", text, "pysync status")
    for gap in facts.gaps:
        yield Reason(
            "gap_open",
            f"a gap is being closed, in which a change of it may be: {last_line(gap, _LONGEST)}",
            "pysync status",
        )


def _at_ends(facts: Facts) -> Iterator[Reason]:
    """Which of the ends has the object now."""
    ends, name, is_table = facts.ends, facts.source, "." in facts.source and "(" not in facts.source
    verify = f"pysync verify {name} --target {facts.target}"
    if ends.at_source is None or ends.at_target is None:
        return
    if ends.at_source and ends.at_target:
        yield Reason("at_both_ends", f"the source and {facts.target} have {name}", verify if is_table else None)
    elif ends.at_source:
        text = f"the source has {name}, and {facts.target} does not"
        yield Reason("only_at_source", text, _brings_back(facts) if is_table else None)
    elif ends.at_target:
        text = f"{facts.target} has {facts.object}, and the source does not have {name}"
        yield Reason("only_at_target", text, verify if is_table else None)
    else:
        near = f"; did you mean {ends.near}?" if ends.near else ""
        text = f"neither the source nor {facts.target} has {name}{near}"
        yield Reason("nowhere", text, f"pysync why {ends.near}" if ends.near else None)


def _brings_back(facts: Facts) -> str:
    """The command that writes a table which is absent; a refresh of it does not make its database."""
    if not facts.ends.lacks_database:
        return f"pysync refresh {facts.source}"
    return f"pysync verify {facts.source.partition('.')[0]} --target {facts.target} --repair"


def _silent(facts: Facts) -> Iterator[Reason]:
    """Which end was asked and did not answer."""
    for end, error in facts.ends.silent.items():
        yield Reason("not_looked_at", f"what {end} has now is not known: {last_line(error, _LONGEST)}", "pysync status")


def _unknown(facts: Facts) -> Reason:
    if not facts.running:
        text = f"the journal has nothing of {facts.object}, and no sidecar runs that could know more"
        return Reason("unknown", text, start_sidecar())
    return Reason(
        "unknown",
        f"neither the queue nor the journal has anything of {facts.source}",
        f"pysync refresh {facts.source}" if "." in facts.source and "(" not in facts.source else None,
    )


def _is_drop(record: Record, name: str) -> bool:
    """Whether the object was dropped, by itself, in a comparison or with its database."""
    if record.operation in {"DropTable", "DropDatabase", "DropFunction"}:
        return record.outcome in {"applied", "unchanged"}
    gone = {f"table {name}", f"database {name}"}
    return any(it.field in gone and it.new == "dropped" for it in record.differences)


def _name_in_trash(record: Record, name: str) -> str | None:
    """What the table is called in the trash, if the operation moved it there."""
    names = (it.new for it in record.differences if it.field == f"table {name}" and it.new)
    return next((it.removeprefix(TRASHED) for it in names if it.startswith(TRASHED)), None)


def _trashed(facts: Facts, drop: Record, name: str) -> Reason:
    """It is in the trash under that name, unless a person has restored it."""
    at = _since(drop.at, "at")
    text = f"{facts.object} was dropped at the source {at}, and moved to the trash of {facts.target}"
    acts = (it for it in facts.records if it.operation == "RestoreTrash" and it.outcome == "done")
    restored = next((it for it in acts if it.at >= drop.at), None)
    if restored is None:
        return Reason("dropped", text, f"pysync trash restore {facts.target} {name}")
    since = _since(restored.at, "at")
    return Reason("dropped", f"{text}; it was restored {since}, and does not follow the source since")


def _behind(events: int) -> str:
    if events < 2:
        return ""
    return f"; {count(events - 1, 'more event')} of it {'waits' if events == 2 else 'wait'} behind it"


def _since(seconds: float, word: str = "since") -> str:
    return f"{word} {local_time(seconds)}"
