"""The text of `pysync status TARGET`: everything that the sidecar knows of one target. Pure.

An older sidecar does not measure latency, calls and rate: then the text says `not known`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pysync.cli.bootstrap_progress import told
from pysync.cli.lines import Line, Part
from pysync.cli.output import counts, moment
from pysync.cli.replay_progress import so_far
from pysync.cli.status_text import STATES, Status, ago, is_late, size, state_of, verdict
from pysync.health import DISABLED, Problem, ways_out
from pysync.text import count, duration, shortened

_WIDTH = 12
_MOST_REASONS = 5
_NOT_KNOWN = "not known"
_PARTS = (("spool", "in spools"), ("queue", "in the queue"), ("target", "at the target"))


def detail(status: Status, name: str, parked: Sequence[Status], now: float) -> Iterator[Part]:
    """Yield the parts of `pysync status TARGET`. `parked` are the tables of `pysync parked list`."""
    target = next(it for it in status["targets"] if it["name"] == name)
    problems = [it for it in Problem.read(status) if it.concerns(name)]
    yield from verdict(problems)
    if others := len(status["problems"]) - len(problems):
        yield Line(f"{count(others, 'other problem')}: see pysync status", "warning")
    yield Line()
    yield _line("target", f"{name}, kind {target['kind']}")
    yield from _progress(target, now)
    yield from _latency(target.get("latency"), now)
    yield from _work(target)
    yield from _parked(target, parked)
    yield from _history(target, now)
    yield from _jobs(status, target)


def _line(label: str, text: str, *, bad: bool = False) -> Line:
    return Line(text, "bad" if bad else "", label.ljust(_WIDTH))


def _progress(target: Status, now: float) -> Iterator[Line]:
    paused, waiting, lag = target["paused"], target["waiting_since"], target["lag_seconds"]
    state = state_of(target)
    if paused and state != DISABLED:
        state += f" since {moment(paused['at'])}: {paused['reason']}"
    elif waiting is not None:
        state += f" for {duration(max(0.0, now - waiting))}"
    yield _line("state", state, bad=STATES.get(target["state"]) == "bad")
    yield from _held(target)
    if held := target.get("held"):
        yield _line("held", f"{', '.join(held)}, at a consistent point: pysync wait", bad=True)
    yield _line("position", f"{target['position']:,}; {count(target['queued'], 'event')} queued after it")
    yield _line("lag", _NOT_KNOWN if lag is None else duration(lag), bad=is_late(target))


def _held(target: Status) -> Iterator[Line]:
    """What the brake holds, and what can be done."""
    if brake := target["brake"]:
        yield from (_line("" if at else "drops held", it, bad=True) for at, it in enumerate(brake["objects"]))
        if brake["more"]:
            yield _line("", f"and {brake['more']:,} more", bad=True)
        yield _line("", ways_out(target["name"]))


def _latency(latency: Status | None, now: float) -> Iterator[Line]:
    if latency is None:
        yield _line("latency", _NOT_KNOWN)
        return
    yield _line("latency", f"10 minutes: {_quantiles(latency['recent'])}")
    yield _line("", f"24 hours:   {_quantiles(latency['day'])}")
    for key, words in _PARTS:
        yield _line("", f"{words}: {_quantiles(latency['parts'].get(key))}")
    for at, worst in enumerate(latency["worst"]):
        text = f"{_short(worst['seconds'])}, {ago(worst['at'], now)}: {worst['object']}"
        yield _line("" if at else "slowest", text)


def _quantiles(found: Status | None) -> str:
    """`p50 0.1 s, p99 2.0 s of 120 events`."""
    if found is None or found.get("p50") is None:
        return "no event"
    values = ", ".join(f"{key} {_short(found[key])}" for key in ("p50", "p90", "p99") if found.get(key) is not None)
    return values + (f" of {count(found['count'], 'event')}" if "count" in found else "")


def _short(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else duration(seconds)


def _work(target: Status) -> Iterator[Line]:
    rate, retries = target.get("rate"), target.get("retries")
    yield _line("rate", _NOT_KNOWN if rate is None else f"{rate:,.1f} operations/s in the last minute")
    yield _line("done", counts(target["counts"]) or "nothing yet")
    yield _line("calls", _counted(target.get("calls")))
    if (throttle := target.get("throttle")) and (throttle["limit"] or throttle["seconds"]):
        limit = f"{throttle['limit']:g} calls/s" if throttle["limit"] else "no limit now"
        waits = ", throttled now" if throttle["waiting"] else ""
        yield _line("throttle", f"{limit}, {duration(throttle['seconds'])} waited{waits}")
    yield _line("errors", _counted(target.get("errors")))
    backoff = duration(target.get("backoff_seconds") or 0.0)
    yield _line("retries", _NOT_KNOWN if retries is None else f"{retries:,}, {backoff} in backoff")


def _counted(found: Mapping[str, int] | None) -> str:
    return _NOT_KNOWN if found is None else counts({kind: it for kind, it in found.items() if it}) or "none"


def _parked(target: Status, tables: Sequence[Status]) -> Iterator[Line]:
    if not target["parked"]:
        yield _line("parked", "none")
        return
    yield _line("parked", f"{count(target['parked'], 'event')} of {count(len(tables), 'table')}", bad=True)
    reasons = by_reason(tables)
    for reason, (events, of_tables) in reasons[:_MOST_REASONS]:
        yield _line("", f"{count(events, 'event')} of {count(of_tables, 'table')}: {shortened(reason, 200)}")
    if rest := reasons[_MOST_REASONS:]:
        yield _line("", f"and {count(len(rest), 'other reason')}")
    yield _line("", f"see: pysync parked list {target['name']}")


def by_reason(tables: Sequence[Status]) -> list[tuple[str, tuple[int, int]]]:
    """Return the reasons of parked tables, each with its number of events and tables; the most events first."""
    found: dict[str, tuple[int, int]] = {}
    for it in tables:
        events, of_tables = found.get(it["reason"], (0, 0))
        found[it["reason"]] = (events + it["events"], of_tables + 1)
    return sorted(found.items(), key=lambda it: (-it[1][0], it[0]))


def _history(target: Status, now: float) -> Iterator[Line]:
    done, error = target["last_done"], target["last_error"]
    if done:
        yield _line("last done", f"event {done['position']:,}, {ago(done['at'], now)}")
    if error:
        over = " (recovered)" if error["over"] else ""
        yield _line("last error", f"at {moment(error['at'])}{over}: {error['reason']}", bad=not error["over"])
    verify, scope = target["verify"], target["scope"]
    text = "no comparison yet" if verify is None else f"at {moment(verify['ended_at'])}: {_verified(verify)}"
    yield _line("verify", text, bad=bool(verify and verify["drift"]))
    if scope:
        how = "done" if scope["done"] else f"under way, out of scope: {scope['out_of_scope']}"
        yield _line("scope", f"changed at {moment(scope['changed_at'])}, {how}")
        yield from (_line("", change) for change in scope["changes"])


def _verified(verify: Status) -> str:
    more = verify["drift"] - len(verify["names"])
    names = ", ".join(verify["names"]) + (f" and {more} more" if more > 0 else "")
    drift = f"{verify['drift']} drifted: {names}" if verify["drift"] else "no drift"
    return f"{count(verify['objects'], 'object')}, {drift}"


def _jobs(status: Status, target: Status) -> Iterator[Line]:
    """The bootstrap, the replay and the copy of the target."""
    if bootstrap := status["bootstrap"]:
        own = [it for it in bootstrap["targets"] if it["name"] == target["name"]]
        yield from (_line("", line) for line in told({**bootstrap, "targets": own}))
    if replay := target.get("replay"):
        yield _line("replay", so_far(replay), bad=replay["state"] == "failed")
    copied = status["copy"].get(target["name"])
    if copied:
        left = f", {copied['files_left']:,} files left" if copied.get("files_left") else ""
        yield _line("copied", f"{count(copied['files'], 'file')}, {size(copied['bytes'])}{left}")
