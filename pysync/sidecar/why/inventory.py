"""The inventory: every table of the source with its state at each target, in pages.

There is no list of its own. The source has the names; the queue, the parked events, the journal and the last comparison
have what is known of each, and `why` has the rules by which that becomes a state. An answer costs a bounded time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import merge
from itertools import groupby, islice
from typing import Any, TypeVar

from pysync.base.errors import PysyncError
from pysync.base.text import count, meant, quoted
from pysync.journal import Query, Reader, Record
from pysync.metastore.reads import Reads
from pysync.metastore.source import SOURCE, SourceNotSet
from pysync.model.names import TableName
from pysync.queue import EventQueue, ParkedTable
from pysync.replay.drain import Drain
from pysync.replay.window.order import EVERYTHING, database_of
from pysync.sidecar.why.ends import SILENT, EndsReader
from pysync.sidecar.why.events import Scan, SeenEvent, scan_after
from pysync.sidecar.why.facts import Facts, rule_against
from pysync.sidecar.why.reasons import Reason, reasons
from pysync.sidecar.why.table_filter import Request, TableFilter, place

_URGENCY = (
    *("held", "parked", "drifted", "foreign", "behind", "pinned", "kept"),
    *("unknown", "dropped", "in_sync", "out_of_scope"),
)
"""The states, what a person has to look at first."""

T = TypeVar("T")

_SECONDS = 2.0  # of one answer: whoever wants more asks again
_LONGEST_SECONDS = 6.0  # where one database takes so long, or the source hangs
_CHUNK = 200
_KNOWN_BY_NAME = frozenset({"parked", "drifted"})
"""States whose objects are known without a look at the source."""

_OF_CODES: Mapping[str, str] = {
    "out_of_scope": "out_of_scope",
    "parked": "parked",
    "brake": "held",
    **dict.fromkeys(("waiting", "paused", "disabled", "target_away"), "behind"),
    "foreign": "foreign",
    "applied": "in_sync",
    "kept": "kept",
    **dict.fromkeys(("dropped", "drop_suppressed"), "dropped"),
}

LastResult = Callable[[], Mapping[str, Any]]
"""What the last comparison of a target found, as the command `verified` answers."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A table by its name at the source; None for `at_source`: that was not looked at.

    `is_continuation`: no table, but where another answer has to begin, as the time of this one is over.
    """

    name: str
    at_source: bool | None
    definition: Any = None
    is_continuation: bool = False

    @property
    def place(self) -> tuple[str, str]:
        """Its place in the order of all."""
        return place(self.name)


@dataclass(frozen=True, slots=True)
class _Target:
    """What is known of one target, for all rows of an answer."""

    drain: Drain
    parked: Mapping[str, ParkedTable]
    common: Mapping[str, Any]
    """The facts that are the same for all objects."""
    pinned: frozenset[str]
    position: int
    waiting: Mapping[str, Sequence[SeenEvent]]
    """Events by their objects, from the position of the target that is furthest behind on."""
    is_whole: bool
    """Whether these are all events that wait."""
    drifted: frozenset[str]
    """By their names at the source."""
    verified_at: float | None
    all_drift_is_named: bool
    as_of: float

    def keys_of(self, name: str) -> list[str]:
        """The keys under which events of the object may be parked."""
        mapping, database, dot, table = self.drain.translator.mapping, *name.partition(".")
        own = [mapping.order_key(TableName(database, table))] if dot else []
        return [*own, mapping.database(database), mapping.database(database) + EVERYTHING]

    def row(self, listed: Listed, last: Record | None) -> dict[str, Any]:
        """The object's state here; `last` is the last record of it."""
        facts = self._facts(listed, last)
        first = reasons(facts)[0]
        state, text, as_of = self._state(facts, first, last)
        return {
            "target": self.drain.name,
            "object": facts.object,
            "state": state,
            "text": text,
            "as_of": as_of,
            "done_at": None if last is None else last.at,
        }

    def _facts(self, listed: Listed, last: Record | None) -> Facts:
        translator = self.drain.translator
        rule = rule_against(translator.policy, listed.name)
        if rule is None and listed.definition is not None:
            rule = translator.policy.rule_against_definition(listed.definition)
        events = {it for key in (listed.name, f"{database_of(listed.name)}.*") for it in self.waiting.get(key, ())}
        mine = (it for it in events if it.position > self.position and it.is_for(self.drain.name))
        waiting = sorted(mine, key=lambda it: it.position)
        return Facts(
            source=listed.name,
            object=translator.mapping.key(listed.name),
            rule=rule,
            suppresses_drops=translator.policy.deciding(_named(listed.name)).suppresses_drops,
            records=() if last is None else (last,),
            parked=[self.parked[key] for key in self.keys_of(listed.name) if key in self.parked],
            waiting=waiting,
            held=self.drain.brake.reason_of(translator.mapping.key(listed.name)),
            kept=self.drain.brake.keeps(translator.mapping.key(listed.name)),
            **self.common,
        )

    def _state(self, facts: Facts, first: Reason, last: Record | None) -> tuple[str, str, float | None]:
        """The state, what there is to say of it, and since when or up to when it is known."""
        state = _OF_CODES.get(first.code, "unknown")
        if facts.parked and first.code == "waiting":
            return "parked", first.text, None
        if facts.waiting and state == "behind":
            return self._waits(facts), first.text, facts.waiting[0].committed_at or facts.waiting[0].at
        compared_since = self.verified_at is not None and (last is None or last.at < self.verified_at)
        if compared_since and facts.source in self.drifted and state in {"in_sync", "unknown", "dropped"}:
            text = f"it differed at the last comparison: pysync verify {facts.source} --target {facts.target}"
            return "drifted", text, self.verified_at
        if state in {"in_sync", "unknown"} and not self.is_whole and facts.queued:
            text = f"{facts.target} has {count(facts.queued, 'event')} to replay; whether one is of it is not known"
            return "unknown", text, None
        if state == "unknown" and compared_since and self.all_drift_is_named:
            return "in_sync", "it was as at the source at the last comparison", self.as_of
        return state, first.text, self.as_of if state == "in_sync" else None

    def _waits(self, facts: Facts) -> str:
        return "pinned" if database_of(facts.object) in self.pinned else "behind"

    def known(self) -> Iterator[str]:
        """The names at the source of what waits for a person here, or has drifted: the source may not have them."""
        yield from self.drifted
        brake = self.drain.brake
        keys = [*self.parked, *(it.table for it in (*brake.held(), *brake.kept()))]
        mapping = self.drain.translator.mapping
        for key in filter(None, keys):
            name, dot, rest = key.partition(".")
            is_table = dot and rest != "*" and not rest.endswith("()")
            yield str(mapping.source_of(key)) if is_table else _of_database(mapping.source_database(name), rest)


def _of_database(database: str, rest: str) -> str:
    """A database, or a function of it."""
    return database if rest in {"", "*"} else f"{database}.{rest}"


def _named(name: str) -> TableName | str:
    database, dot, table = name.partition(".")
    return TableName(database, table) if dot else database


@dataclass(frozen=True, slots=True)
class Inventory:
    """Answers `tables` beside a running sidecar. `listeners` says what `pysync status` has of them."""

    queue: EventQueue
    drains: Mapping[str, Drain]
    reader: Reader
    verified: Mapping[str, LastResult]
    listeners: Callable[[], Sequence[Mapping[str, Any]]]
    ends: EndsReader
    clock: Callable[[], float] = field(default=time.time)

    def __call__(self, request: Request) -> dict[str, Any]:
        """A page, as in docs/status.md: `objects` in the order of their names, and where the `next` page begins.

        With `sort` "last_done" those come first at which something was done last, as far as the journal has it.
        With "urgency" those come first that a person has to look at, and `counts`, `databases` and `counted_to` count;
        with "match" those whose names are nearest to `part`, on one page. In both a name that is `part` is the first.
        With `look` the targets are asked for what is in sync, before it is counted; `not_looked_at` names those that do
        not answer.
        It may have fewer than were asked for, or none, before the end: what a filter leaves out takes time, too. Raises
        PysyncError for arguments that make no sense, and where the source cannot be read.
        """
        wanted, name = TableFilter.of(request), request.get("target")
        if name is not None and name not in self.drains:
            raise PysyncError(f"the sidecar has no target {quoted(str(name))}", meant(str(name), self.drains))
        now = self.clock()
        if wanted.sort == "urgency":
            return {"as_of": now, **self._by_urgency(wanted, name, self._targets([*self.drains.values()], now))}
        orders = {"name": self._by_name, "last_done": self._by_last_done, "match": self._by_match}
        targets = self._targets([it for it in self.drains.values() if name in {None, it.name}], now)
        answer = self._in_time(wanted, partial(orders[wanted.sort], wanted, targets))
        return {"as_of": now, **answer, **(self._looked_at(answer["objects"]) if wanted.look else {})}

    def _in_time(self, wanted: TableFilter, job: Callable[[], T]) -> T:
        """What `job` returns. Raises PysyncError if it reads the source and that hangs."""
        if wanted.sort != "urgency" and (wanted.sort == "last_done" or wanted.state in _KNOWN_BY_NAME):
            return job()
        return self.ends.questions.begin(SOURCE, job, _LONGEST_SECONDS).answer()

    def _by_name(self, wanted: TableFilter, targets: Sequence[_Target]) -> dict[str, Any]:
        """The page of tables in the order of their names."""
        rows, begin = list[dict[str, Any]](), None
        until = time.monotonic() + _SECONDS
        listed = self._listed(wanted, targets, until)
        while chunk := list(islice(listed, _CHUNK)):
            begin = chunk.pop() if chunk[-1].is_continuation else None
            rows += [it for it in self._rows(chunk, targets) if _has(it, wanted.state)]
            if len(rows) > wanted.limit or time.monotonic() > until:
                begin = begin or next(listed, None)
                break
        listed.close()
        after = rows[wanted.limit]["object"] if len(rows) > wanted.limit else begin and begin.name
        return {"objects": rows[: wanted.limit], "next": after}

    # --- what is at the targets

    def _looked_at(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """`not_looked_at`: the targets that did not say of all these tables whether they are there.

        What is in sync by all that is known, and is not there, has drifted, unless something was done meanwhile.
        """
        cells: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
        for row in rows:
            for it in row["targets"]:
                if it["state"] == "in_sync":
                    cells.setdefault(it["target"], []).append((row, it))
        databases = {name: sorted({database_of(it["object"]) for _, it in own}) for name, own in cells.items()}
        drains = [self.drains[it] for it in cells]
        there = self.ends.tables_at(
            (it.settings, databases[it.name]) for it in drains if it.progress.state not in SILENT
        )
        for name, own in cells.items():
            self._drifted(name, [(row, it) for row, it in own if _is_absent(it["object"], there.get(name, {}))])
        return {"not_looked_at": [it for it in cells if len(there.get(it, ())) < len(databases[it])]}

    def _drifted(self, target: str, absent: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        """Say of tables that a target does not have that they have drifted, where nothing was done meanwhile."""
        now = self.clock()
        listed = [Listed(row["object"], at_source=row["at_source"]) for row, _ in absent]
        again = self._rows(listed, self._targets([self.drains[target]], now)) if absent else ()
        for (_, cell), row in zip(absent, again, strict=True):
            (known,) = row["targets"]
            if known["state"] == cell["state"] and known["done_at"] == cell["done_at"]:
                text = f"the target does not have it: pysync why {row['object']} --target {target}"
                cell.update(state="drifted", text=text, as_of=now)

    # --- what is listed

    def _listed(self, wanted: TableFilter, targets: Sequence[_Target], until: float) -> Generator[Listed]:
        """The tables, in order, as many as there is time for. Raises PysyncError if the source cannot be read."""
        known = _known(targets, wanted)
        if wanted.state in _KNOWN_BY_NAME:
            yield from (Listed(name, at_source=None) for name in known)
            return
        if self.ends.source is None:
            raise SourceNotSet("set it in pysync.toml; what is parked or has drifted: --state parked, --state drifted")
        defines = any(not policy.traits.are_any for it in targets for policy in it.drain.translator.policy.all)
        with self.ends.source() as source:
            there = self._of_source(source, wanted, until, defines=defines)
            every = merge(there, (Listed(name, at_source=False) for name in known), key=lambda it: it.place)
            for _, same in groupby(every, key=lambda it: it.place):
                listed = max(same, key=lambda it: (it.is_continuation, bool(it.at_source)))
                yield listed
                if listed.is_continuation:
                    return

    def _of_source(self, source: Reads, wanted: TableFilter, until: float, *, defines: bool) -> Iterator[Listed]:
        """Database by database: names only, with definitions where a target chooses tables by these."""
        names = filter(wanted.takes_database, source.databases())
        for at, database in enumerate(it for it in sorted(names) if it >= database_of(wanted.begin)):
            if at and time.monotonic() > until:
                yield Listed(database, at_source=None, is_continuation=True)
                return
            tables = (f"{database}.{it}" for it in sorted(source.tables(database)))
            taken = filter(wanted.takes, tables)
            while chunk := list(islice(taken, _CHUNK)):
                definitions = {}
                if defines:
                    bare = [it.partition(".")[2] for it in chunk]
                    definitions = {f"{database}.{it.tableName}": it for it in source.tables_by_name(database, bare)}
                yield from (Listed(name, at_source=True, definition=definitions.get(name)) for name in chunk)

    def _by_last_done(self, wanted: TableFilter, targets: Sequence[_Target]) -> dict[str, Any]:
        """The page of tables by their last records, the newest first. A table without a record is not in it."""
        names = {it.drain.name for it in targets}
        chosen = list[tuple[int, dict[str, Any]]]()
        before: int | None = wanted.number
        until = time.monotonic() + _SECONDS
        while len(chosen) <= wanted.limit and time.monotonic() < until:
            records = self.reader.records(Query(before=before), _CHUNK)
            if not records:
                before = None
                break
            before = records[-1].id
            fitting = [it for it in records if it.target in names and _is_table(it) and wanted.takes(it.source_object)]
            newest = self._newest([it.source_object for it in fitting], targets)
            latest = [it for it in fitting if newest.get(it.source_object) == it.id]
            listed = [Listed(it.source_object, at_source=None) for it in latest]
            rows = self._rows(listed, targets)
            chosen += [(it.id, row) for it, row in zip(latest, rows, strict=True) if _has(row, wanted.state)]
        if len(chosen) > wanted.limit:
            before = chosen[wanted.limit - 1][0]
        objects = [row for _, row in chosen[: wanted.limit]]
        return {"objects": objects, "next": None if before is None else str(before)}

    def _newest(self, names: Sequence[str], targets: Sequence[_Target]) -> dict[str, int]:
        """The id of the last record of each object."""
        newest = dict[str, int]()
        for it in targets:
            for name, record in self.reader.latest(it.drain.name, list(dict.fromkeys(names))).items():
                newest[name] = max(record.id, newest.get(name, 0))
        return newest

    def _by_urgency(self, wanted: TableFilter, name: str | None, targets: Sequence[_Target]) -> dict[str, Any]:
        """The page of all tables by their states, as many as there is time for; counts of any state, at all targets."""
        rows, counted_to = self._in_time(wanted, partial(self._counted, replace(wanted, state=None), targets))
        looked_at = self._looked_at(rows) if wanted.look else {}
        counts: dict[str, Counter[str]] = {it.drain.name: Counter() for it in targets}
        for row in rows:
            for it in row["targets"]:
                counts[it["target"]][it["state"]] += 1
            row["targets"] = [it for it in row["targets"] if name in {None, it["target"]}]
        fitting = [it for it in rows if _has(it, wanted.state)]
        fitting.sort(key=lambda it: (wanted.nearness(it["object"]) > 0, _urgency(it), place(it["object"])))
        end = wanted.number + wanted.limit
        return {
            "objects": fitting[wanted.number : end],
            "next": str(end) if end < len(fitting) else None,
            "counts": {target: dict(numbers) for target, numbers in counts.items()},
            "databases": dict(Counter(database_of(it["object"]) for it in fitting)),
            "counted_to": counted_to,
            **looked_at,
        }

    def _counted(self, wanted: TableFilter, targets: Sequence[_Target]) -> tuple[list[dict[str, Any]], str | None]:
        """The rows up to where the time ended, None if that is the end, and those behind it that need a person."""
        until, rows = time.monotonic() + _SECONDS, list[dict[str, Any]]()
        listed = self._listed(wanted, targets, until)
        while chunk := list(islice(listed, _CHUNK)):
            begin = chunk.pop() if chunk[-1].is_continuation else None
            rows += self._rows(chunk, targets)
            if begin is None and time.monotonic() > until:
                begin = next(listed, None)
            if begin is not None:
                listed.close()
                behind = _known(targets, replace(wanted, begin=begin.name))
                rows += self._rows([Listed(it, at_source=None) for it in behind], targets)
                return rows, begin.name
        return rows, None

    def _by_match(self, wanted: TableFilter, targets: Sequence[_Target]) -> dict[str, Any]:
        """The tables whose names are nearest to the part that is looked for, of as many as there is time for."""
        listed = self._listed(wanted, targets, time.monotonic() + _SECONDS)
        found = [it for it in listed if not it.is_continuation]
        found.sort(key=lambda it: (wanted.nearness(it.name), it.place))
        rows = [it for it in self._rows(found[: wanted.limit], targets) if _has(it, wanted.state)]
        return {"objects": rows, "next": None}

    # --- their states

    def _rows(self, listed: Sequence[Listed], targets: Sequence[_Target]) -> Iterator[dict[str, Any]]:
        names = [it.name for it in listed]
        last = {it.drain.name: self.reader.latest(it.drain.name, names) for it in targets}
        for it in listed:
            rows = [target.row(it, last[target.drain.name].get(it.name)) for target in targets]
            yield {"object": it.name, "at_source": it.at_source, "targets": rows}

    def _targets(self, drains: Sequence[Drain], now: float) -> list[_Target]:
        positions = {it.name: self.queue.target(it.name).position() for it in drains}
        scanned = scan_after(self.queue, min(positions.values(), default=self.queue.last))
        waiting: dict[str, list[SeenEvent]] = {}
        for event in scanned.events:
            for name in event.objects:
                waiting.setdefault(name, []).append(event)
        spooled = min((it["waiting_since"] for it in self.listeners() if it["waiting_since"]), default=now)
        return [self._target(it, positions[it.name], scanned, waiting, spooled) for it in drains]

    def _target(
        self, drain: Drain, position: int, scanned: Scan, waiting: Mapping[str, Sequence[SeenEvent]], as_of: float
    ) -> _Target:
        target, progress, pause = self.queue.target(drain.name), drain.progress.status(), drain.paused()
        compared = self.verified[drain.name]()
        drifted = [it for it in compared.get("differences") or () if it["drift"]]
        gaps = [it.found_at_ms / 1000 for it in self.queue.gaps.unclosed() if it.target in {None, drain.name}]
        return _Target(
            drain=drain,
            parked={it.table: it for it in target.parked.tables()},
            common={
                "target": drain.name,
                "mode": drain.settings.mode,
                "paused": pause and pause.reason,
                "state": progress["state"],
                "error": progress["last_error"] and progress["last_error"]["reason"],
                "queued": target.depth().queued,
            },
            pinned=frozenset(drain.pins.databases()),
            position=position,
            waiting=waiting,
            is_whole=scanned.whole,
            drifted=frozenset(str(it["source"]) for it in drifted),
            verified_at=compared.get("ended_at"),
            all_drift_is_named=len(drifted) >= int(compared.get("drift") or 0),
            as_of=min([as_of, *gaps]),
        )


def _known(targets: Sequence[_Target], wanted: TableFilter) -> list[str]:
    """What is known without a look at the source, in order."""
    return sorted({name for it in targets for name in it.known() if wanted.takes(name)}, key=place)


def _urgency(row: Mapping[str, Any]) -> int:
    """The place of its most urgent state in the order of these."""
    return min((_URGENCY.index(it["state"]) for it in row["targets"]), default=len(_URGENCY))


def _is_table(record: Record) -> bool:
    return "." in record.source_object and "(" not in record.source_object


def _is_absent(name: str, there: Mapping[str, frozenset[str]]) -> bool:
    database, _, table = name.partition(".")
    return database in there and table not in there[database]


def _has(row: Mapping[str, Any], state: str | None) -> bool:
    return state is None or any(it["state"] == state for it in row["targets"])
