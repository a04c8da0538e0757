"""`pysync status`: the whole sidecar, one target, or one object."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.health import DISABLED, Problem, hold_decisions
from pysync.base.text import count, duration, local_time, shortened
from pysync.cli.arguments import database_or_table
from pysync.cli.output import AsJson, ConfigFile, assert_target, counts, offered, print_json
from pysync.cli.progress import bootstrap_lines, replay_so_far
from pysync.cli.status_text import (
    STATES,
    Line,
    Part,
    Status,
    ago,
    is_late,
    overview,
    rendered,
    show,
    size,
    state_of,
    verdict,
)
from pysync.control.client import ask
from pysync.sections import load_outline

if TYPE_CHECKING:
    from rich.console import Console


# --- The text of `pysync status --object`: where a database or table is at each target. Pure


_WIDTH = 12
_MOST_PARKED = 5

Json = Mapping[str, Any]


def of_object(answer: Json) -> Iterator[Line]:
    """Yield the lines of the answer."""
    source = answer["source_event_id"]
    source_id = f"{source:,}" if source is not None else f"not known: {answer['no_event_id']}"
    yield Line(f"{answer['object']}; newest event id of the source's notification log: {source_id}")
    for target in answer["targets"]:
        yield Line()
        yield _line("target", f"{target['target']}, as {target['name']}, {target['state']}")
        yield from _where(target)
        yield from _problems(target)


def has_problem(target: Json) -> bool:
    """Whether something keeps the object from being at the target."""
    return any(target[key] for key in ("hindered", "parked", "gap", "paused"))


def _where(target: Json) -> Iterator[Line]:
    event_id = target["event_id"]
    known = "event id not known" if event_id is None else f"event id {event_id:,}"
    yield _line("position", f"{target['position']:,} of {target['last']:,}; {known}")
    more = "" if target["waiting_whole"] else " at least"
    waiting = f"{count(target['waiting'], 'event')}{more} to apply"
    yield _line("lag", f"{duration(target['lag_seconds'])}; {waiting}")
    if target["held"]:
        yield _line("held", "its database is held at a consistent point")


def _problems(target: Json) -> Iterator[Line]:
    if target["hindered"]:
        yield _line("problem", target["hindered"], bad=True)
    if target["paused"]:
        yield _line("paused", target["paused"], bad=True)
    for parked in target["parked"][:_MOST_PARKED]:
        yield _line("parked", f"event {parked['position']} of {', '.join(parked['tables'])}", bad=True)
    if more := target["parked"][_MOST_PARKED:]:
        yield _line("", f"and {count(len(more), 'more event')}; see: pysync parked list {target['target']}")
    if target["gap"]:
        yield _line("gap", target["gap"], bad=True)


def _line(label: str, text: str, *, bad: bool = False) -> Line:
    return Line(text, "bad" if bad else "", label.ljust(_WIDTH))


# --- The text of `pysync status TARGET`: everything that the sidecar knows of one target. Pure.
#
# What the status does not have is `not known`.

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


def _progress(target: Status, now: float) -> Iterator[Line]:
    paused, waiting, lag = target["paused"], target["waiting_since"], target["lag_seconds"]
    state = state_of(target)
    if paused and state != DISABLED:
        state += f" since {local_time(paused['at'])}: {paused['reason']}"
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
        yield _line("", hold_decisions(target["name"]))


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


def _quantiles(quantiles: Status | None) -> str:
    """`p50 0.1 s, p99 2.0 s of 120 events`."""
    if quantiles is None or quantiles.get("p50") is None:
        return "no event"
    values = ", ".join(
        f"{key} {_short(quantiles[key])}" for key in ("p50", "p90", "p99") if quantiles.get(key) is not None
    )
    return values + (f" of {count(quantiles['count'], 'event')}" if "count" in quantiles else "")


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


def _counted(tally: Mapping[str, int] | None) -> str:
    return _NOT_KNOWN if tally is None else counts({kind: it for kind, it in tally.items() if it}) or "none"


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
    reasons: dict[str, tuple[int, int]] = {}
    for it in tables:
        events, of_tables = reasons.get(it["group"], (0, 0))
        reasons[it["group"]] = (events + it["events"], of_tables + 1)
    return sorted(reasons.items(), key=lambda it: (-it[1][0], it[0]))


def _history(target: Status, now: float) -> Iterator[Line]:
    done, error = target["last_done"], target["last_error"]
    if done:
        yield _line("last done", f"event {done['position']:,}, {ago(done['at'], now)}")
    if error:
        over = " (recovered)" if error["over"] else ""
        yield _line("last error", f"at {local_time(error['at'])}{over}: {error['reason']}", bad=not error["over"])
    verify, scope = target["verify"], target["scope"]
    text = "no comparison yet" if verify is None else f"at {local_time(verify['ended_at'])}: {_verified(verify)}"
    yield _line("verify", text, bad=bool(verify and verify["drift"]))
    if scope:
        how = "done" if scope["done"] else f"under way, out of scope: {scope['out_of_scope']}"
        yield _line("scope", f"changed at {local_time(scope['changed_at'])}, {how}")
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
        yield from (_line("", line) for line in bootstrap_lines({**bootstrap, "targets": own}))
    if replay := target.get("replay"):
        yield _line("replay", replay_so_far(replay), bad=replay["state"] == "failed")
    copied = status["copy"].get(target["name"])
    if copied:
        left = f", {copied['files_left']:,} files left" if copied.get("files_left") else ""
        yield _line("copied", f"{count(copied['files'], 'file')}, {size(copied['bytes'])}{left}")


# --- `pysync status`: the state of the running sidecar, or of one of its targets

_SECONDS = 2.0
_MOST_PROBLEMS = 8
"""A terminal cannot scroll while it is redrawn, and the targets have to be in sight."""

Target = Annotated[
    str | None,
    typer.Argument(metavar="TARGET", autocompletion=offered, help="Show everything about this target only."),
]
Object = Annotated[
    str | None,
    typer.Option(
        "--object",
        metavar="DB|DB.TABLE",
        parser=database_or_table,
        help="Show where this database or table is at the targets, or at TARGET.",
    ),
]
Watch = Annotated[bool, typer.Option("--watch", help="Repeat every 2 seconds, until Ctrl-C.")]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(status)


def status(
    config: ConfigFile, target: Target = None, name: Object = None, watch: Watch = False, as_json: AsJson = False
) -> None:
    """Show the state of the running sidecar: problems, and each target's state, lag, backlog and parked events.

    With TARGET: the position, latency, rate, calls, errors, parked events and comparisons of that target.

    With --object: the event id of the source's notification log, the event up to which the database or table is at each
    target, its lag, and what it waits for. The name is that at the source.

    Exit code 0 if there is no problem, 1 if there is one or if no sidecar runs, 2 for a wrong configuration. With
    TARGET only the problems of that target count, with --object only those of the object. With --watch: 0 after Ctrl-C.

    The first lines name the problems: a target is paused, has parked events, fails, or has been waiting for longer than
    `status_grace`; a gap is open; a listener is lost, cannot deliver, or is refused; no listener has reported for
    `status_grace`; the disk of the queue is full.

    A listener is lost if it has not reported for [source] silence_seconds and its metastore did not report a shutdown.
    The lag of a target counts from the commit at the source, and includes changes that still wait in the listener.
    JSON format: docs/status.md.
    """
    outline = load_outline(config)
    assert_target(config, target, outline.targets)
    if watch and (as_json or name):
        raise UsageError(f"--watch and {'--json' if as_json else '--object'} exclude each other", "give one of them")
    if name is not None:
        _object(ask(outline.directory, "object", object=name, target=target), as_json)
        return
    if watch:
        _watch(lambda: _parts(outline.directory, ask(outline.directory, "status"), target, most=_MOST_PROBLEMS))
        return
    answer = ask(outline.directory, "status")
    if as_json:
        print_json(answer if target is None else _of(answer, target))
    else:
        show(_parts(outline.directory, answer, target))
    if any(target is None or it.concerns(target) for it in Problem.read(answer)):
        raise typer.Exit(1)


def _object(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        show(list(of_object(answer)))
    if any(map(has_problem, answer["targets"])):
        raise typer.Exit(1)


def _of(answer: dict[str, Any], target: str) -> dict[str, Any]:
    """The target of that name. Raises PysyncError if the sidecar was started before the target was added."""
    for it in answer["targets"]:
        if it["name"] == target:
            return dict(it)
    raise PysyncError(f"the running sidecar has no target {target!r}", "restart it: it runs with an older pysync.toml")


def _parts(directory: Path, answer: dict[str, Any], target: str | None, most: int | None = None) -> list[Part]:
    if target is None:
        return list(overview(answer, time.time(), most))
    parked = _of(answer, target)["parked"]
    tables = ask(directory, "parked list", target=target)["tables"] if parked else []
    return list(detail(answer, target, tables, time.time()))


def _watch(parts: Callable[[], Iterable[Part]]) -> None:
    """Show the parts again and again: on a terminal in place, elsewhere one after the other. Ends with Ctrl-C."""
    from rich.console import Console  # noqa: PLC0415 - slow to load

    console = Console(highlight=False)
    try:
        if console.is_terminal and not console.is_dumb_terminal:
            _redraw(parts, console)
        while True:
            show([*_now(parts), Line()], console)
            sys.stdout.flush()
            time.sleep(_SECONDS)
    except KeyboardInterrupt:
        return


def _redraw(parts: Callable[[], Iterable[Part]], console: Console) -> NoReturn:
    from rich.console import Group  # noqa: PLC0415 - slow to load
    from rich.live import Live  # noqa: PLC0415

    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(Group(*(rendered(it, wraps=True) for it in _now(parts))), refresh=True)
            time.sleep(_SECONDS)


def _now(parts: Callable[[], Iterable[Part]]) -> list[Part]:
    """The parts as they are now, or why there are none: a sidecar that is restarted comes back."""
    title = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}  pysync status --watch, Ctrl-C ends"
    try:
        return [Line(title, "faint"), *parts()]
    except UsageError:
        raise
    except PysyncError as error:
        return [Line(title, "faint"), Line(str(error), "bad")]
