"""Why, answered: the object's names, what the source did to it, and what happened to it at each target."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import meant, quoted
from pysync.journal import Query, Reader, Record
from pysync.model.names import TableName
from pysync.queue import EventQueue, note_of
from pysync.replay.drain import Drain
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.order import database_of
from pysync.replay.window.translate import Translator
from pysync.sidecar.journal_pages import query_of
from pysync.sidecar.parked import parked_table
from pysync.sidecar.why.ends import SILENT, EndsReader
from pysync.sidecar.why.events import Scan, SeenEvent, scan
from pysync.sidecar.why.facts import Facts, Spool, gathered, rule_against
from pysync.sidecar.why.name_history import Span
from pysync.sidecar.why.naming import candidates, requested_name, spans_of
from pysync.sidecar.why.reasons import reasons

_MOST_RECORDS = 200
_MOST_EVENTS = 100
_NOTHING = Scan((), 0, True)

Request = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Why:
    """Answers `why` beside a running sidecar. `listeners` says what `pysync status` has of them.

    `ends` reads source and target.
    """

    queue: EventQueue
    drains: Mapping[str, Drain]
    reader: Reader
    listeners: Callable[[], Sequence[Mapping[str, Any]]]
    ends: EndsReader

    def __call__(self, request: Request) -> dict[str, Any]:
        """The answer, as in docs/status.md. Raises PysyncError for a name that is none, or an unknown target."""
        requested, target = requested_name(request), request.get("target")
        if target is not None and target not in self.drains:
            raise PysyncError(f"the sidecar has no target {quoted(str(target))}", meant(str(target), self.drains))
        drains = [it for it in self.drains.values() if target in {None, it.name}]
        mappings = [it.translator.mapping for it in self.drains.values()]
        scanned, spans = self._history_of(requested, mappings)
        events = [
            it
            for it in scanned.events
            if any(it.concerns(span.name) and span.holds(span.name, it.position) for span in spans)
        ]
        spools = [
            Spool(it["instance"], it["waiting_events"], it["waiting_since"])
            for it in self.listeners()
            if it["waiting_events"] or it["waiting_since"]
        ]
        known = {"source": spans[0].name, "events": events, "spools": spools}
        gathered = [self._gathered(drain, spans, known, request) for drain in drains]
        targets = [_target(it, self._verified(it.target, it)) for it in self._with_ends(gathered)]
        return _answer(spans, events, scanned, targets)

    def _history_of(self, requested: str, mappings: Sequence[NameMapping]) -> tuple[Scan, Sequence[Span]]:
        """What the queue has of the object, and its names."""
        databases = frozenset(database_of(name) for name in candidates(requested, mappings))
        scanned = scan(self.queue, databases)
        spans = spans_of(requested, mappings, self.reader, scanned)
        others = {database_of(span.name) for span in spans} - databases
        if not others:
            return scanned, spans
        # It was renamed from one database to another.
        scanned = scan(self.queue, databases | others)
        return scanned, spans_of(requested, mappings, self.reader, scanned)

    def _gathered(self, drain: Drain, spans: Sequence[Span], known: Mapping[str, Any], request: Request) -> Facts:
        """What queue and journal have of the object at a target."""
        mapping = drain.translator.mapping
        records = _records(self.reader, drain.name, mapping, spans, request)
        keyed = [replace(span, name=_order_key(mapping, span.name)) for span in spans]
        here = {"object": mapping.key(spans[0].name), "spans": keyed, "records": records}
        return gathered(self.queue, drain, self.reader, {**known, **here})

    def _with_ends(self, of_targets: Sequence[Facts]) -> list[Facts]:
        """The facts with what both ends have now, for the targets that are done with the object's events.

        A target that fails is not asked.
        """
        at_rest = [it for it in of_targets if it.rule is None and not it.is_pending]
        if not at_rest:
            return list(of_targets)
        asked = [(self.drains[it.target].settings, it.object) for it in at_rest if it.state not in SILENT]
        ends = self.ends.read(at_rest[0].source, asked, [it.target for it in at_rest if it.state in SILENT])
        return [replace(it, ends=ends.get(it.target, it.ends)) for it in of_targets]

    def _verified(self, target: str, facts: Facts) -> dict[str, Any] | None:
        """What the last comparison by the sidecar found; `drifted` is null if its list is too short to know."""
        result = json.loads(self.queue.notes.get(note_of(target, "verify")) or "null")
        if not result:
            return None
        named = any(it.partition(" ")[2] == facts.object for it in result["names"])
        unsure = not named and result["drift"] > len(result["names"])
        return {"at": result["ended_at"], "objects": result["objects"], "drifted": None if unsure else named}


def why_offline(reader: Reader, translators: Mapping[str, Translator], request: Request) -> dict[str, Any]:
    """The same where no sidecar runs: what the journal and the configuration have. Raises PysyncError as `Why` does."""
    requested, target = requested_name(request), request.get("target")
    spans = spans_of(requested, [it.mapping for it in translators.values()], reader, _NOTHING)
    targets = []
    for name, translator in translators.items():
        if target in {None, name}:
            known = translator.mapping.key(spans[0].name)
            records = _records(reader, name, translator.mapping, spans, request)
            rule = rule_against(translator.policy, spans[0].name)
            facts = Facts(target=name, source=spans[0].name, object=known, rule=rule, records=records, running=False)
            targets.append(_target(facts, None))
    return _answer(spans, (), _NOTHING, targets)


def _answer(
    spans: Sequence[Span], events: Sequence[SeenEvent], scanned: Scan, targets: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "object": spans[0].name,
        "names": list(dict.fromkeys(it.name for it in spans)),
        "source": {
            "events": [it.as_json() for it in reversed(events[-_MOST_EVENTS:])],
            "looked_from": scanned.first,
            "whole": scanned.whole,
        },
        "targets": targets,
    }


def _target(facts: Facts, verified: Mapping[str, Any] | None) -> dict[str, Any]:
    causes = reasons(facts)
    return {
        "target": facts.target,
        "object": facts.object,
        "verdict": causes[0].text,
        "reasons": [it.as_json() for it in causes],
        "records": [it.as_json() for it in facts.records],
        "parked": [parked_table(it) for it in facts.parked],
        "verify": verified,
        "not_looked_at": facts.ends.not_looked_at(),
    }


def _records(
    reader: Reader, target: str, mapping: NameMapping, spans: Sequence[Span], request: Request
) -> list[Record]:
    """The records of the object at a target, by all its names at both ends, each within its time."""
    names = [*(it.name for it in spans), *(mapping.key(it.name) for it in spans)]
    since = query_of({"since": request.get("since")}).since
    own = reader.records(Query(target=target, names=list(dict.fromkeys(names)), since=since), _MOST_RECORDS)
    databases = [database_of(name) for name in names if "." in name]
    drops = Query(target=target, names=list(dict.fromkeys(databases)), since=since, operation="DropDatabase")
    with_database = reader.records(drops, _MOST_RECORDS) if databases else []
    records = [it for it in own if _is_of(it, spans, mapping)] + [it for it in with_database if _drops(it, spans)]
    return sorted(records, key=lambda it: -it.id)[:_MOST_RECORDS]


def _order_key(mapping: NameMapping, name: str) -> str:
    """The key by which changes of an object of the source are parked."""
    _, dot, rest = name.partition(".")
    is_table = dot and rest != "*" and not rest.endswith("()")
    return mapping.order_key(TableName.parse(name)) if is_table else mapping.key(name)


def _drops(record: Record, spans: Collection[Span]) -> bool:
    """Whether the drop of a database took the object along."""
    return any(
        span.holds(span.name, record.last_position) for span in spans if database_of(span.name) == record.source_object
    )


def _is_of(record: Record, spans: Collection[Span], mapping: NameMapping) -> bool:
    sources = {record.source_object, record.source_former} - {""}
    if not sources:  # of an act
        return any(record.object == mapping.key(span.name) for span in spans)
    return any(span.holds(name, record.last_position) for span in spans for name in sources)
