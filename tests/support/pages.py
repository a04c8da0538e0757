"""A sidecar's answers for the page, without a sidecar: the status, and commands in the form that they promise."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.health import problems
from pysync.base.latency import Latency
from pysync.queue import ParkedTable
from pysync.sidecar.parked import group_reason, grouped, is_adoptable
from pysync.targets.base import ERRORS
from pysync.web.views.tables import TONES

NOW = 1_795_000_000.0
LONG = "warehouse." + "a_table_whose_name_is_as_long_as_a_metastore_takes_it_" * 2 + "abcdefghij"
CONFLICT = 'a table of this name is not from this source; drop it, or set on_conflict = "adopt" or "skip"'
EVIL = "shop.<script>alert(1)</script>"
assert len(LONG.partition(".")[2]) in range(118, 129)


def a_target(name: str, now: float = NOW, **values: Any) -> dict[str, Any]:
    """A target of the status, with what today's latency tells."""
    return {
        "name": name,
        "kind": "hms",
        "state": "running",
        "paused": None,
        "brake": None,
        "position": 48213,
        "queued": 0,
        "parked": 0,
        "parked_by_brake": 0,
        "lag_seconds": 0.0,
        "waiting_since": None,
        "counts": {"applied": 41873, "unchanged": 310, "skipped": 5120},
        "last_done": {"position": 48213, "at": now - 4, "seconds_after": 0.2},
        "last_contact": now - 4,
        "stale_since": None,
        "other_queue": None,
        "last_error": None,
        "scope": None,
        "snapshots": None,
        "verify": {"began_at": now - 3700, "ended_at": now - 3600, "objects": 1204, "drift": 0, "names": []},
        "latency": {
            **Latency().status(now),
            "recent": {"p50": 0.21, "p90": 0.6, "p99": 1.9, "count": 318},
            "day": {"p50": 0.25, "p90": 0.9, "p99": 12.0, "count": 41873},
            "parts": {
                "spool": {"p50": 0.03, "p99": 0.2},
                "queue": {"p50": 0.02, "p99": 9.1},
                "target": {"p50": 0.14, "p99": 2.2},
            },
            "worst": [
                {"object": EVIL, "seconds": 312.0, "at": now - 9000},
                {"object": LONG, "seconds": 44.0, "at": now - 20000},
            ],
        },
        "calls": {"get_table": 41020, "alter_table": 12033, "add_partitions": 8011},
        "errors": {**dict.fromkeys(ERRORS, 0), "unavailable": 3},
        "retries": 3,
        "backoff_seconds": 12.5,
        "throttle": {"limit": None, "waiting": 0, "seconds": 0.0},
        "rate": 5.2,
        **values,
    }


def a_status(now: float = NOW, **values: Any) -> dict[str, Any]:
    """The status of a sidecar that has nothing to complain about, but for these values."""
    found = {
        "version": "0.1.0",
        "source": "onprem",
        "pid": 4711,
        "started_at": now - 90_000,
        "config": {"file": "/etc/pysync/pysync.toml", "changes": [], "problem": None},
        "bridge": {
            "port": 25333,
            "connections": 1,
            "refused_connections": 0,
            "refused_last_at": None,
            "answers": {},
            "differing": 0,
        },
        "notification_log": None,
        "listeners": [listener(now)],
        "no_listener_since": None,
        "source_last_contact": None,
        "credentials": [],
        "journal": {"file": "/var/lib/pysync/journal.db", "waiting": 0, "dropped": 0},
        "receivers": [
            {"name": "lineage", "delivered": 812, "skipped": 0, "failed": 3, "behind": 2, "last_contact": now - 12}
        ],
        "queue": {
            "directory": "/var/lib/pysync",
            "epoch": 1,
            "events": 1204,
            "history": {"retain_seconds": 0, "events": 0, "bytes": 0, "oldest_at": None},
            "free_bytes": 81 * 2**30,
            "min_free_bytes": 256 * 2**20,
            "unreadable": 0,
        },
        "workers": [{"name": "notify-lineage", "state": "running", "waiting_since": None, "last_error": None}],
        "acts": [],
        "gaps": [],
        "instances": [
            {
                "instance": "jvm-1",
                "source": "onprem",
                "received": 48213,
                "highest": 48213,
                "missing": [],
                "last_at": now - 4,
            }
        ],
        "bootstrap": None,
        "copy": {},
        "targets": [a_target("dr", now), a_target("lake", now, kind="glue")],
        **values,
    }
    wrong = problems(found, 300, now)
    return {"well": not wrong, "problems": [it.as_json() for it in wrong], **found}


def listener(now: float = NOW, **values: Any) -> dict[str, Any]:
    """One that has delivered everything."""
    plain = {"instance": "jvm-1", "source": "onprem", "state": "heard", "heard_at": now - 1, "lost": 0}
    plain |= {"clock_offset_seconds": 0.001}
    return {**plain, "waiting_bytes": 0, "waiting_events": 0, "waiting_since": None, **values}


def in_trouble(now: float = NOW) -> dict[str, Any]:
    """The status at a bad night: a listener is lost, a target is paused, another has parked tables and is behind."""
    paused = {"reason": "4,120 drops in one window (limit: 1,000)", "at": now - 1500}
    found = {
        "began_at": now - 7300,
        "ended_at": now - 7200,
        "objects": 1204,
        "drift": 3,
        "names": ["table shop.orders"],
    }
    error = {"reason": "table shop.orders exists and is not ours", "at": now - 80, "over": False}
    listeners = [listener(now, state="silent", heard_at=now - 312, waiting_bytes=91_000, waiting_events=310)]
    listeners[0] |= {"waiting_since": now - 305, "instance": "7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e"}
    gap = {"reason": "listener 7d1f8c52 is lost", "target": None, "state": "open", "upto": None}
    gap |= {"found_at": now - 300, "closed_at": None}
    away = {"state": "waiting", "waiting_since": now - 2523, "queued": 9120, "lag_seconds": 2523.0, "verify": None}
    return a_status(
        now,
        listeners=listeners,
        gaps=[gap],
        targets=[
            a_target("dr", now, state="paused", paused=paused, queued=4312, lag_seconds=1505.2),
            a_target(
                "lake", now, kind="glue", parked=1004, lag_seconds=61.4, queued=12, verify=found, last_error=error
            ),
            a_target("archive", now, **away, last_error={"reason": "connection refused", "at": now - 3, "over": False}),
        ],
    )


def holding(now: float = NOW) -> dict[str, Any]:
    """The status after a mistaken DROP DATABASE at the source: the brake holds it at one target, another is done."""
    named = ["database hr2", *(f"table hr2.people_{it:02}" for it in range(19))]
    summary, reason = "database hr2 with 40 tables", "40 of the 40 tables of hr2 would be gone, max_drop_share is 0.5"
    held = {"at": now - 130, "drops": 41, "summary": summary, "reason": reason, "objects": named, "more": 21}
    held |= {"databases": [{"database": "hr2", "objects": 41, "summary": summary, "reason": reason}]}
    dr = a_target("dr", now, brake=held, queued=45, lag_seconds=131.0, parked=43, parked_by_brake=40)
    return a_status(now, targets=[dr, a_target("lake", now, kind="glue")])


def held_objects() -> list[dict[str, Any]]:
    """The objects of an answer of `held list` that `holding` counts."""
    tables = [{"object": f"hr2.people_{it:02}", "kind": "table", "count": 1} for it in range(40)]
    return [{"object": "hr2", "kind": "database", "count": 1}, *tables]


def a_record(number: int, now: float = NOW, **values: Any) -> dict[str, Any]:
    """A record of the journal."""
    return {
        "id": number,
        "at": now - 3 * (1000 - number),
        "target": "dr",
        "operation": "PutPartitions",
        "object": "dr_shop.orders",
        "source_object": "shop.orders",
        "partitions": [f"day=2026-11-{it:02}" for it in range(1, 11)],
        "partition_count": 130,
        "first_position": number * 4,
        "last_position": number * 4 + 3,
        "events": 4,
        "committed_at": now - 3 * (1000 - number) - 0.4,
        "captured_at": now - 3 * (1000 - number) - 0.3,
        "outcome": "applied",
        "attempts": 1,
        "milliseconds": 12.3,
        "reason": None,
        "differences": [],
        "who": None,
        **values,
    }


def some_records(now: float = NOW) -> list[dict[str, Any]]:
    """A few of each sort, the newest first."""
    location = {"field": "sd.location", "old": "hdfs://old/warehouse/orders", "new": "s3a://lake/warehouse/orders"}
    none: dict[str, Any] = {"partitions": [], "partition_count": 0}
    act: dict[str, Any] = {**none, "object": None, "source_object": None, "first_position": None, "last_position": None}
    act |= {"events": 0, "committed_at": None, "captured_at": None, "milliseconds": None, "outcome": "done"}
    return [
        a_record(999, now),
        a_record(
            998, now, operation="PutTable", differences=[location, {**location, "field": "parameters.x", "old": None}]
        ),
        a_record(
            997,
            now,
            operation="PutTable",
            object=EVIL,
            source_object=EVIL,
            outcome="parked",
            reason="exists already",
            **none,
        ),
        a_record(
            996, now, operation="DropTable", object=LONG, source_object=LONG, outcome="stale", target="lake", **none
        ),
        a_record(995, now, operation="Pause", who="alice (page)", reason="night", **act),
        a_record(
            994, now, operation="PutTable", outcome="conflict", reason="changed at both ends; west's stays", **none
        ),
        *(a_record(it, now, outcome="unchanged" if it % 7 == 0 else "applied") for it in range(993, 900, -1)),
    ]


def parked_tables(number: int, now: float = NOW) -> list[dict[str, Any]]:
    """An answer of `parked list`: names that must look right come first."""
    names = [EVIL, LONG, *(f"shop.table_{it:04}" for it in range(number - 2))]
    kinds = ("rejected", "bug", "waits")
    return [
        {
            "table": name,
            "events": 1 + at % 3,
            "position": 40_000 + at,
            "kind": kinds[at % 3 if at > 1 else at],
            "reason": CONFLICT
            if at != 1
            else "Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'x'",
            "attempts": 3,
            "first_at": now - 7200 + at,
            "last_at": now - 40,
        }
        for at, name in enumerate(names)
    ]


def parked_answer(target: str, tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """An answer of `parked list` with its groups."""
    keys = ("table", "events", "position", "kind", "reason", "attempts")
    values: list[tuple[Any, ...]] = [(*(it[key] or "" for key in keys), *_times(it)) for it in tables]
    known = [ParkedTable(*it) for it in values]
    rows = [
        {**it, "group": group_reason(table), "adoptable": is_adoptable(table)}
        for it, table in zip(tables, known, strict=True)
    ]
    return {"target": target, "tables": rows, "groups": grouped(known)}


def _times(table: Mapping[str, Any]) -> tuple[int, int]:
    return int(table["first_at"] * 1000), int(table["last_at"] * 1000)


def a_history(now: float = NOW, hours: int = 24) -> dict[str, Any]:
    """A day with a peak, and an hour in which the sidecar did not run; of more than a day half hours."""
    points: list[dict[str, Any]] = []
    if hours > 24:
        for at in range(int(now) - hours * 3600, int(now), 1800):
            lag = 1.0 + at // 1800 % 48 * 0.3 + (900 if at // 1800 % 331 == 0 else 0)
            points.append({"at": at, "lag_seconds": lag, "applied": 900 + at // 1800 % 48 * 40, "parked": 0})
        return {"step_seconds": 1800, "points": points}
    for minute in range(hours * 60):
        at = now - hours * 3600 + minute * 60
        if 300 < minute < 360:
            continue
        lag = 0.3 + (minute % 17) * 0.05 + max(0.0, 90 - abs(minute - 900) * 1.5)
        points.append({"at": at, "lag_seconds": lag, "applied": 20 + minute % 60, "parked": 0})
    return {"step_seconds": 60, "points": points}


def a_why(name: str, now: float = NOW) -> dict[str, Any]:
    """The life of a table that was renamed, whose last change is parked at one target."""
    records = [a_record(it, now, object=f"dr_{name}", source_object=name) for it in (990, 700, 300)]
    records[1]["differences"] = [{"field": "sd.cols", "old": "id bigint", "new": "id bigint, note string"}]
    parked = a_record(
        989, now, target="lake", outcome="parked", reason="exists already", object=name, source_object=name
    )
    events = [
        {"position": it["first_position"], "at": it["committed_at"], "kind": "ALTER_TABLE", "object": name}
        for it in records
    ]
    return {
        "object": name,
        "names": [name, "shop.orders_old"],
        "source": {"events": events},
        "targets": [
            {
                "target": "dr",
                "object": f"dr_{name}",
                "verdict": "dr has it as the source has it.",
                "reasons": [{"code": "applied", "text": "applied 30 s ago", "hint": None}],
                "records": records,
                "parked": [],
                "verify": {"at": now - 3600, "objects": 1204, "drifted": False},
            },
            {
                "target": "lake",
                "object": name,
                "verdict": "lake lacks the last change: it is parked.",
                "reasons": [
                    {"code": "parked", "text": "a table of this name is not ours", "hint": "pysync parked list lake"}
                ],
                "records": [parked],
                "parked": [{**parked_tables(2, now)[0], "table": name}],
                "verify": None,
            },
        ],
    }


MANY_TABLES = sorted([EVIL, LONG, *(f"shop_{it // 1000:03}.orders_{it % 1000:03}" for it in range(100_000))])
COUNTED = 2000
_STATES = ("in_sync", "behind", "parked", "foreign", "out_of_scope", "drifted", "dropped", "unknown", "held", "pinned")


def some_tables(request: Mapping[str, Any], targets: Sequence[str], now: float = NOW) -> dict[str, Any]:
    """An answer of `tables` of a source with a hundred thousand, of which it can count some."""
    part, limit, sort = request.get("part") or "", request["limit"], request.get("sort")
    names = [it for it in MANY_TABLES if part.lower() in it]
    if sort == "urgency":
        return _by_urgency(names, request, targets, now)
    names = [it for it in names if it >= (request.get("begin") or "")]
    if sort == "match":
        names.sort(key=lambda it: it.partition(".")[2] != part)
    rows = [_table_row(name, _shown(request, targets), request.get("state"), now) for name in names[:limit]]
    return {"as_of": now, "objects": rows, "next": names[limit] if len(names) > limit else None}


def _shown(request: Mapping[str, Any], targets: Sequence[str]) -> list[str]:
    return [it for it in targets if request.get("target") in {None, it}]


def _by_urgency(names: Sequence[str], request: Mapping[str, Any], targets: Sequence[str], now: float) -> dict[str, Any]:
    state, begin, shown = request.get("state"), int(request.get("begin") or 0), _shown(request, targets)
    every = [_table_row(name, targets, None, now) for name in names[:COUNTED]]
    counts = {target: Counter(row["targets"][at]["state"] for row in every) for at, target in enumerate(targets)}
    rows = [{**row, "targets": [it for it in row["targets"] if it["target"] in shown]} for row in every]
    rows = [row for row in rows if state is None or any(it["state"] == state for it in row["targets"])]
    rows.sort(key=lambda row: min(list(TONES).index(it["state"]) for it in row["targets"]))
    end = begin + request["limit"]
    return {
        "as_of": now,
        "objects": rows[begin:end],
        "next": str(end) if len(rows) > end else None,
        "counts": counts,
        "databases": Counter(row["object"].partition(".")[0] for row in rows),
        "counted_to": names[COUNTED] if len(names) > COUNTED else None,
    }


def _table_row(name: str, targets: Sequence[str], state: str | None, now: float) -> dict[str, Any]:
    number = sum(map(ord, name))
    each = [
        {
            "target": target,
            "object": name,
            "state": state or ("in_sync" if (number + at) % 4 else _STATES[(number + at) // 4 % len(_STATES)]),
            "text": "event 12 of it waits in the queue",
            "as_of": now - 100,
            "done_at": now - number * 7,
        }
        for at, target in enumerate(targets)
    ]
    return {"object": name, "at_source": bool(number % 5), "targets": each}


def a_plan(target: str) -> dict[str, Any]:
    """An answer of `plan`."""
    texts = [
        "put table shop.orders",
        f"drop table {EVIL}",
        *(f"put 500 partitions of shop.orders ({it})" for it in range(30)),
    ]
    works = [{"keys": [], "events": 1, "operations": [{"text": it} for it in texts]}]
    numbers = {"queued": 4312, "events": 1000, "drops": 412, "operations": len(texts), "skipped": 3}
    return {"targets": [{"target": target, **numbers, "max_drops_per_window": 1000, "refused": [], "works": works}]}


def verified(target: str, now: float = NOW) -> dict[str, Any]:
    """An answer of `verified`: one of a few databases has drifted."""
    fields = [
        "sd.location: 'hdfs://old/orders' instead of 's3a://lake/orders'",
        "partition day=1 is missing",
        "and 3 more",
    ]
    found = {"kind": "table", "name": "dr_shop.orders", "source": "shop.orders", "excuse": None, "drift": True}
    differences = [
        {**found, "result": "different", "fields": fields},
        {**found, "name": EVIL, "source": EVIL, "result": "missing", "fields": []},
        {
            **found,
            "name": "shop.view",
            "source": "shop.view",
            "result": "extra",
            "fields": [],
            "drift": False,
            "excuse": "drops are suppressed",
        },
    ]
    databases = [{"name": f"db_{it:02}", "objects": 40 + it, "drift": 0} for it in range(12)]
    return {
        "target": target,
        "began_at": now - 3700,
        "ended_at": now - 3600,
        "objects": 1204,
        "drift": 2,
        "databases": [*databases, {"name": "shop", "objects": 31, "drift": 2}],
        "differences": differences,
    }


_FATES: Mapping[str, tuple[int, dict[str, Any]]] = {
    "translated": (150, {}),
    "failing": (12, {"fails_without": ["json-text"], "helps": 'accept "json-text" in views_accept'}),
    "accepted": (8, {"differences": ["double-text", "percentile"]}),
    "refused": (
        30,
        {
            "reason": "the function unix_timestamp: its result depends on the time zone of the session",
            "helps": "set [source] hive_time_zone",
        },
    ),
    "kept": (2, {}),
}


def some_views(now: float) -> dict[str, Any]:
    """The answer of `views`: two hundred of one target, in all states, with names that are hard to show."""
    rows = []
    for state, (number, values) in _FATES.items():
        for place in range(number):
            name = (EVIL, LONG)[place] if state == "refused" and place < 2 else f"mart.{state}_{place:03}"
            row = {"target": "lake", "view": name, "object": name, "differences": [], "fails_without": []}
            row |= {"reason": None, "difference": None, "helps": None, **values}
            rows.append({**row, "state": "translated" if state == "failing" else state})
    counts = Counter(it["state"] for it in rows)
    settings = [{"setting": "[source] hive_time_zone", "views": 21}, {"setting": 'views_accept = ["odd"]', "views": 4}]
    summary = {"target": "lake", "views": len(rows), **counts, "failing": 12, "settings": settings}
    return {"views": rows, "targets": [summary], "as_of": now - 12}


class FakeSidecar:
    """A status and commands that remember what they were asked; both can be changed."""

    def __init__(self, status: dict[str, Any] | None = None, tables: int = 120, now: float = NOW) -> None:
        self.now = now
        self.answer = status or a_status(now)
        self.tables = parked_tables(tables, now)
        self.records = some_records(now)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refuses: str | None = None
        released = {"skipped": 0, "tried": 2, "left": 0, "reason": None, "finished": True}
        self.answers: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "actions": self._actions,
            "history": lambda it: a_history(self.now, it["hours"]),
            "why": lambda it: a_why(it["table"], self.now),
            "tables": lambda it: some_tables(it, [it["name"] for it in self.answer["targets"]], self.now),
            "plan": lambda it: a_plan(it["target"]),
            "verified": lambda it: verified(it["target"], self.now),
            "views": lambda _: some_views(self.now),
            "parked list": lambda it: parked_answer(it["target"], self.tables),
            "parked show": self._parked_show,
            "parked retry": lambda _: released,
            "parked adopt": lambda _: {**released, "adopted": 2, "refused": {}, "more": 0},
            "parked skip": lambda _: {**released, "skipped": 1, "tried": 0},
            "pause": lambda it: {"target": it["target"], "paused": it.get("reason") or "by hand"},
            "resume": lambda it: {"target": it["target"], "was": "by hand"},
            "held list": lambda it: {"target": it["target"], "objects": held_objects()},
            "held decide": lambda it: {"target": it["target"], "kept": it.get("keep") is True, "objects": [{}]},
            "refresh": lambda it: {"gap": f"refresh of {len(it.get('tables') or ()) or 'all'} tables"},
            "verify": lambda it: {"target": it["target"], "begun": True},
        }

    def status(self) -> dict[str, Any]:
        return self.answer

    def commands(self) -> dict[str, Callable[[Mapping[str, Any]], Any]]:
        return {name: self._recorded(name) for name in self.answers}

    def _recorded(self, name: str) -> Callable[[Mapping[str, Any]], Any]:
        def asked(request: Mapping[str, Any]) -> Any:
            self.asked.append((name, dict(request)))
            if self.refuses == name:
                raise PysyncError("the target has stopped", "retry when it runs again")
            return self.answers[name](request)

        return asked

    def _actions(self, request: Mapping[str, Any]) -> dict[str, Any]:
        kept = [it for it in self.records if it["id"] < request.get("before", 10**18)]
        for key in ("target", "outcome"):
            kept = [it for it in kept if request.get(key) in {None, it[key]}]
        kept = [it for it in kept if request.get("table") in {None, it["source_object"]}]
        if request.get("notable"):
            kept = [it for it in kept if it["outcome"] not in {"applied", "unchanged"}]
        page = kept[: request["limit"]]
        return {"records": page, "next": page[-1]["id"] if len(kept) > len(page) else None}

    def _parked_show(self, request: Mapping[str, Any]) -> dict[str, Any]:
        event = {"kind": "CREATE_TABLE", "source": "onprem", "id": "jvm-1:12", "time": self.now - 7300, "bytes": 4096}
        return {"position": request["position"], "tables": [], "event": {**event, "attributes": {}, "visited": []}}


def fresh(status: Callable[[float], dict[str, Any]] = a_status, tables: int = 120) -> FakeSidecar:
    """One whose times are those of now, for a page in a browser."""
    now = time.time()
    return FakeSidecar(status(now), tables, now)
