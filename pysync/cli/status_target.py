"""The text of `pysync status TARGET`: everything that the sidecar knows of one target. Pure.

What the status does not have is `not known`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pysync.base.health import DISABLED, Problem, hold_decisions
from pysync.base.resync_text import resync_so_far
from pysync.base.text import UNKNOWN, ago, count, duration, local_time, number, shortened, size
from pysync.cli.grid import Line, Part
from pysync.cli.output import counts
from pysync.cli.progress import bootstrap_lines
from pysync.cli.status_object import labelled
from pysync.cli.status_text import STATES, Status, is_late, state_of, verdict

_BOOTSTRAPS = frozenset({"bootstrap", "load"})  # shown with their tables and partitions
_MOST_REASONS = 5
_PARTS = (("spool", "in spools"), ("queue", "in the queue"), ("target", "at the target"))


def detail(status: Status, name: str, parked: Sequence[Status], now: float) -> Iterator[Part]:
    """Yield the parts of `pysync status TARGET`. `parked` are the tables of `pysync parked list`."""
    target = next(it for it in status["targets"] if it["name"] == name)
    problems = [it for it in Problem.read(status) if it.concerns(name)]
    yield from verdict(problems)
    if others := len(status["problems"]) - len(problems):
        yield Line(f"{count(others, 'other problem')}: see pysync status", "warning")
    yield Line()
    yield labelled("target", f"{name}, kind {target['kind']}")
    yield from _progress(target, now)
    yield from _latency(target.get("latency"), now)
    yield from _snapshots(target.get("snapshots"), now)
    yield from _work(target)
    yield from _parked(target, parked)
    yield from _history(target, now)
    yield from _jobs(status, target)


def _progress(target: Status, now: float) -> Iterator[Line]:
    paused, waiting, lag = target["paused"], target["waiting_since"], target["lag_seconds"]
    state = state_of(target)
    if paused and state != DISABLED:
        state += f" since {local_time(paused['at'])}: {paused['reason']}"
    elif waiting is not None:
        state += f" for {duration(now - waiting)}"
    yield labelled("state", state, bad=STATES.get(target["state"]) == "bad")
    yield from _held(target)
    if pinned := target.get("pinned"):
        yield labelled("pinned", f"{', '.join(pinned)}, at a consistent point: pysync wait", bad=True)
    yield labelled("position", f"{target['position']:,}; {count(target['queued'], 'event')} queued after it")
    yield labelled("lag", duration(lag), bad=is_late(target))


def _held(target: Status) -> Iterator[Line]:
    """What the brake holds, and what can be done."""
    if brake := target["brake"]:
        yield from (labelled("" if at else "drops held", it, bad=True) for at, it in enumerate(brake["objects"]))
        if brake["more"]:
            yield labelled("", f"and {brake['more']:,} more", bad=True)
        yield labelled("", hold_decisions(target["name"]))


def _latency(latency: Status | None, now: float) -> Iterator[Line]:
    if latency is None:
        yield labelled("latency", UNKNOWN)
        return
    yield labelled("latency", f"10 minutes: {_quantiles(latency['recent'])}")
    yield labelled("", f"24 hours:   {_quantiles(latency['day'])}")
    for key, words in _PARTS:
        yield labelled("", f"{words}: {_quantiles(latency['parts'].get(key))}")
    for at, worst in enumerate(latency["worst"]):
        text = f"{duration(worst['seconds'])}, {ago(worst['at'], now)}: {worst['object']}"
        yield labelled("" if at else "slowest", text)


def _quantiles(quantiles: Status | None) -> str:
    """`p50 100 ms, p99 2.0 s of 120 events`."""
    if quantiles is None or quantiles.get("p50") is None:
        return "no event"
    values = ", ".join(
        f"{key} {duration(quantiles[key])}" for key in ("p50", "p90", "p99") if quantiles.get(key) is not None
    )
    return values + (f" of {count(quantiles['count'], 'event')}" if "count" in quantiles else "")


def _snapshots(snapshots: Status | None, now: float) -> Iterator[Line]:
    """How old the rows of transactional tables are."""
    if snapshots is None:
        return
    looked_at = snapshots["looked_at"]
    when = UNKNOWN if looked_at is None else f"{snapshots['behind']:,} behind the source {ago(looked_at, now)}"
    since = snapshots["behind_since"]
    oldest = "" if since is None else f", the longest for {duration(now - since)}"
    yield labelled("snapshots", f"{count(snapshots['tables'], 'transactional table')}: {when}{oldest}")


def _work(target: Status) -> Iterator[Line]:
    rate, retries = target.get("rate"), target.get("retries")
    yield labelled("rate", UNKNOWN if rate is None else f"{number(rate)} operations/s in the last minute")
    yield labelled("done", counts(target["counts"]) or "nothing yet")
    yield labelled("calls", _counted(target.get("calls")))
    if (throttle := target.get("throttle")) and (throttle["limit"] or throttle["seconds"]):
        limit = f"{throttle['limit']:g} calls/s" if throttle["limit"] else "no limit now"
        waits = ", throttled now" if throttle["waiting"] else ""
        yield labelled("throttle", f"{limit}, {duration(throttle['seconds'])} waited{waits}")
    yield labelled("errors", _counted(target.get("errors")))
    backoff = duration(target.get("backoff_seconds") or 0.0)
    yield labelled("retries", UNKNOWN if retries is None else f"{retries:,}, {backoff} in backoff")


def _counted(tally: Mapping[str, int] | None) -> str:
    return UNKNOWN if tally is None else counts({kind: it for kind, it in tally.items() if it}) or "none"


def _parked(target: Status, tables: Sequence[Status]) -> Iterator[Line]:
    if not target["parked"]:
        yield labelled("parked", "none")
        return
    yield labelled("parked", f"{count(target['parked'], 'event')} of {count(len(tables), 'table')}", bad=True)
    reasons = by_reason(tables)
    for reason, (events, of_tables) in reasons[:_MOST_REASONS]:
        yield labelled("", f"{count(events, 'event')} of {count(of_tables, 'table')}: {shortened(reason, 200)}")
    if rest := reasons[_MOST_REASONS:]:
        yield labelled("", f"and {count(len(rest), 'other reason')}")
    yield labelled("", f"see: pysync parked list {target['name']}")


def by_reason(tables: Sequence[Status]) -> list[tuple[str, tuple[int, int]]]:
    """Return the reasons of parked tables, each with its number of events and tables; the most events first."""
    reasons: dict[str, tuple[int, int]] = {}
    for it in tables:
        events, of_tables = reasons.get(it["group"], (0, 0))
        reasons[it["group"]] = (events + it["events"], of_tables + 1)
    return sorted(reasons.items(), key=lambda it: (-it[1][0], it[0]))


def _history(target: Status, now: float) -> Iterator[Line]:
    done, error = target["last_done"], target["last_error"]
    if done:
        yield labelled("last done", f"event {done['position']:,}, {ago(done['at'], now)}")
    if target["last_contact"] is not None:
        yield labelled("contact", ago(target["last_contact"], now))
    if error:
        over = " (recovered)" if error["over"] else ""
        yield labelled("last error", f"at {local_time(error['at'])}{over}: {error['reason']}", bad=not error["over"])
    verify, scope = target["verify"], target["scope"]
    text = "no comparison yet" if verify is None else f"at {local_time(verify['ended_at'])}: {_verified(verify)}"
    yield labelled("verify", text, bad=bool(verify and verify["drift"]))
    if scope:
        how = "done" if scope["done"] else f"under way, out of scope: {scope['out_of_scope']}"
        yield labelled("scope", f"changed at {local_time(scope['changed_at'])}, {how}")
        yield from (labelled("", change) for change in scope["changes"])


def _verified(verify: Status) -> str:
    more = verify["drift"] - len(verify["names"])
    names = ", ".join(verify["names"]) + (f" and {more} more" if more > 0 else "")
    drift = f"{verify['drift']} drifted: {names}" if verify["drift"] else "no drift"
    return f"{count(verify['objects'], 'object')}, {drift}"


def _jobs(status: Status, target: Status) -> Iterator[Line]:
    """The bootstrap, the resyncs and the copy of the target."""
    if bootstrap := status["bootstrap"]:
        own = [it for it in bootstrap["targets"] if it["name"] == target["name"]]
        yield from (labelled("", line) for line in bootstrap_lines({**bootstrap, "targets": own}))
    for resync in (it for it in target["resyncs"] if it["trigger"] not in _BOOTSTRAPS):
        yield labelled("resync", resync_so_far(resync), bad=resync["state"] == "failed")
    copied = status["copy"].get(target["name"])
    if copied:
        left = f", {copied['files_left']:,} files left" if copied.get("files_left") else ""
        yield labelled("copied", f"{count(copied['files'], 'file')}, {size(copied['bytes'])}{left}")
