"""The text of `pysync status`: the verdict first, a line for each target, no wider than the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from pysync.base.health import Problem, problems, target_of
from pysync.cli.grid import Cell, Column, Grid, Line, show
from pysync.cli.status_target import by_reason, detail
from pysync.cli.status_text import capture, overview, verdict
from tests.support.statuses import INSTANCE, LONG, NOW, error, everything_wrong, listener, printed, status, target

QUIET = """\
OK

target  state    lag  queued  parked
dr      running  0 s       0       0

listener  source  state  last report  waiting  lost      clock
7d1f8c52  onprem  heard     just now  nothing     0  not known

source onprem: pysync 0.1.0, pid 4711, up 2h 5m
bridge on port 25333: queued 1204
queue: 1,204 events kept, 9.4 GiB free"""

WRONG = """\
8 problems:
  worker drain-odd is failing: KeyError: 'x' (journalctl -u pysync)
  target lake has been waiting for 15m: connection refused (pysync check)
  listener 7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e of onprem is lost: it has not
  reported for 6m 40s, and its metastore did not report a shutdown; if the
  metastore is gone for good, remove the listener (pysync listener remove
  7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e)
  listener bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb of onprem cannot deliver: 5.0
  MiB waiting for 1h 6m (journalctl -u pysync)
  a gap is open: a spool was lost
  target dr is paused: by hand (pysync resume dr)
  target catalog has 3 parked events (pysync parked list catalog)
  target cold has drifted: 2 objects not as at the source (pysync verify
  --target cold)

target   state       lag  queued  parked
dr       paused    2h 5m  12,000       0  by hand
odd      failing     0 s       0       0  KeyError: 'x'
lake     waiting     0 s       7       0  connection refused
catalog  running  400 ms       0       3  AlreadyExistsException: sales.orders
cold     running     0 s       0       0  2 objects drifted
new      running     0 s       0       0  moving to a new scope

listener  source  state     last report  waiting  lost      clock
7d1f8c52  onprem  silent     6m 40s ago  nothing     0  not known
bbbbbbbb  onprem  heard        just now  5.0 MiB    12  not known
cccccccc  onprem  expected     none yet  nothing     0    -1.25 s

source onprem: pysync 0.1.0, pid 4711, up 2h 5m
bridge on port 25333: queued 1204
queue: 1,204 events kept, 9.4 GiB free
a gap is closing: dr is new"""

LATENCY = {
    "recent": {"p50": 0.084, "p90": 0.5, "p99": 2.0, "count": 1204},
    "day": {"p50": None, "p90": None, "p99": None, "count": 0},
    "parts": {"spool": {"p50": 0.01, "p99": 0.3}, "queue": {"p50": 0.02, "p99": 0.3}, "target": None},
    "worst": [{"object": "sales.orders", "seconds": 12.3, "at": NOW - 60}],
}
MEASURED = {
    "latency": LATENCY,
    "calls": {"get_table": 12, "alter_table": 3},
    "errors": {"unavailable": 0},
    "retries": 4,
    "backoff_seconds": 12.34,
    "rate": 3.21,
}
DETAIL = """\
1 problem:
  target dr has 4 parked events (pysync parked list dr)

target      dr, kind hms
state       running
position    48,213; 0 events queued after it
lag         0 s
latency     10 minutes: p50 84 ms, p90 500 ms, p99 2.0 s of 1,204 events
            24 hours:   no event
            in spools: p50 10 ms, p99 300 ms
            in the queue: p50 20 ms, p99 300 ms
            at the target: no event
slowest     12.3 s, 1m ago: sales.orders
rate        3.2 operations/s in the last minute
done        applied 12, unchanged 3
calls       get_table 12, alter_table 3
errors      none
retries     4, 12.3 s in backoff
parked      4 events of 3 tables
            3 events of 2 tables: it exists
            1 event of 1 table: no rights
            see: pysync parked list dr
last done   event 48,213, 12 s ago
contact     7 s ago
verify      no comparison yet"""
TABLES = [
    {"table": "a.b", "events": 1, "group": "no rights"},
    {"table": "a.c", "events": 1, "group": "it exists"},
    {"table": "a.d", "events": 2, "group": "it exists"},
]


def test_a_quiet_sidecar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(overview(status(), NOW), 80, monkeypatch) == QUIET.splitlines()


def test_everything_wrong_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(overview(everything_wrong(), NOW), 80, monkeypatch) == WRONG.splitlines()


def test_200_columns_hold_what_80_have_to_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "connection refused by thrift://dr-hms.example.com:9083, which is behind a firewall that nobody knows"
    found = status(target(state="waiting", waiting_since=NOW - 1, last_error=error(reason)))
    (narrow,) = (it for it in printed(overview(found, NOW), 80, monkeypatch) if it.startswith("dr "))
    (wide,) = (it for it in printed(overview(found, NOW), 200, monkeypatch) if it.startswith("dr "))
    assert (len(narrow), narrow[-1], wide.endswith(reason)) == (80, "…", True)


def test_12_targets_are_12_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"region-{number}" for number in range(12)]
    lines = printed(overview(status(*map(target, names)), NOW), 80, monkeypatch)
    assert [line.split()[0] for line in lines[3:15]] == names
    assert len(lines) == len(QUIET.splitlines()) + 11


def test_names_of_128_characters_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = target(LONG, queued=10**9, lag_seconds=1e8, parked=123456, last_error=error(LONG))
    found = status(bad, listeners=[listener(instance=LONG, source=LONG)])
    lines = printed(overview(found, NOW), 80, monkeypatch)
    assert max(map(len, lines)) <= 80
    assert sum("3y 62d  1,000,000,000  123,456" in line for line in lines) == 1
    lines = printed(detail(found, LONG, [{"table": LONG, "events": 1, "group": LONG}], NOW), 80, monkeypatch)
    assert max(map(len, lines)) <= 80
    assert LONG in "".join(line.strip() for line in lines), "what is wrapped is whole"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.text(max_size=300), st.integers(60, 200))
def test_no_text_from_outside_breaks_the_lines(monkeypatch: pytest.MonkeyPatch, text: str, width: int) -> None:
    found = status(target(state="waiting", waiting_since=NOW - 1e6, last_error=error(text), verify=None))
    for parts in (overview(found, NOW), detail(found, "dr", [], NOW)):
        lines = printed(parts, width, monkeypatch)
        assert max(map(cell_len, lines)) <= width
        assert "\x1b" not in "".join(lines)


def test_in_a_pipe_problems_are_whole_lines_for_grep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    file, found = io.StringIO(), everything_wrong()
    show(overview(found, NOW), Console(file=file, highlight=False))
    lines = file.getvalue().splitlines()
    assert lines[1 : 1 + len(found["problems"])] == [f"  {it}" for it in Problem.read(found)]
    assert "\x1b" not in file.getvalue()


@pytest.mark.parametrize(("variable", "has_colour"), [("", True), ("NO_COLOR", False)])
def test_colour_is_only_on_a_terminal_that_wants_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, has_colour: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if variable:
        monkeypatch.setenv(variable, "1")
    file = io.StringIO()
    show(overview(everything_wrong(), NOW), Console(file=file, force_terminal=True, highlight=False, width=80))
    red = "\x1b[1;31m" in file.getvalue()
    assert (red, "8 problems:" in file.getvalue()) == (has_colour, True)


def test_the_detail_of_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    found = status(target(parked=4, **MEASURED))
    assert printed(detail(found, "dr", TABLES, NOW), 80, monkeypatch) == DETAIL.splitlines()


def test_what_an_older_sidecar_does_not_measure_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(detail(status(), "dr", [], NOW), 80, monkeypatch)
    assert [line.split()[0] for line in lines if line.endswith(" not known")] == [
        "latency",
        "rate",
        "calls",
        "errors",
        "retries",
    ]


def test_the_detail_has_the_problems_of_the_target_and_counts_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = everything_wrong()
    assert printed(detail(found, "odd", [], NOW), 80, monkeypatch)[:3] == [
        "1 problem:",
        "  worker drain-odd is failing: KeyError: 'x' (journalctl -u pysync)",
        "7 other problems: see pysync status",
    ]
    assert printed(detail(found, "new", [], NOW), 80, monkeypatch)[:2] == ["OK", "8 other problems: see pysync status"]


def test_the_detail_tells_of_pause_error_comparison_scope_and_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    verify = {"began_at": NOW, "ended_at": NOW, "objects": 9, "drift": 22, "names": ["table a.b"]}
    scope = {"changed_at": NOW, "changes": ["include: a -> b"], "out_of_scope": "keep", "done": False}
    item = {"name": "dr", "in_scope": 9, "tables": 3, "partitions": 4, "partitions_per_second": 2.0, "seconds_left": 60}
    bootstrap = {"state": "running", "reason": None, "targets": [item, {**item, "name": "other"}]}
    copied = {"files": 1, "bytes": 2048, "files_left": 3}
    pause = {"reason": "to look", "at": NOW}
    dr = target(state="paused", paused=pause, last_error=error("gone", over=True), verify=verify, scope=scope)
    text = "\n".join(
        printed(detail(status(dr, bootstrap=bootstrap, copy={"dr": copied}), "dr", [], NOW), 99, monkeypatch)
    )
    for words in (": to look", "(recovered): gone", "9 objects, 22 drifted: table a.b and 21 more", "include: a -> b"):
        assert words in text
    assert "bootstrap of dr: 3 of 9 tables, 4 partitions, 2 partitions/s, 1m left" in text
    assert "copied      1 file, 2.0 KiB, 3 files left" in text
    assert "other" not in text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "7 transactional tables: 0 behind the source 12 s ago"),
        (
            {"behind": 2, "behind_since": NOW - 300},
            "7 transactional tables: 2 behind the source 12 s ago, the longest for 5m",
        ),
        ({"tables": 0, "looked_at": None}, "0 transactional tables: not known"),
    ],
)
def test_the_detail_says_how_old_the_rows_of_transactional_tables_are(
    values: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = {"tables": 7, "behind": 0, "behind_since": None, "looked_at": NOW - 12, **values}
    lines = printed(detail(status(target(snapshots=snapshots)), "dr", [], NOW), 120, monkeypatch)
    assert [it.split(maxsplit=1)[1] for it in lines if it.startswith("snapshots")] == [text]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "events 2 to 9: 10 of 40 objects refreshed; 5 objects/s, 6.0 s left"),
        ({"total": None, "seconds_left": None}, "events 2 to 9: 10 objects refreshed"),
        ({"state": "finished", "done": 40, "seconds_left": None}, "events 2 to 9: 40 objects refreshed"),
        ({"state": "waiting", "obstacle": "away"}, "refreshed; 5 objects/s, 6.0 s left; waiting: away"),
        ({"state": "failed", "obstacle": "gone", "seconds_left": None}, "10 of 40 objects refreshed; failed: gone"),
    ],
)
def test_a_resync_says_what_it_is_of_how_far_how_fast_and_until_when(
    values: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "trigger": "history",
        "reason": "events 2 to 9",
        "state": "running",
        "obstacle": None,
        "done": 10,
        "total": 40,
    }
    row |= {"per_second": 5.0, "seconds_left": 6.0, **values}
    shown = printed(detail(status(target(resyncs=[row])), "dr", [], NOW), 120, monkeypatch)
    assert any(line.startswith("resync") and line.endswith(text) for line in shown), shown


def test_parked_events_are_counted_by_reason() -> None:
    assert by_reason(TABLES) == [("it exists", (3, 2)), ("no rights", (1, 1))]
    many = [{"table": f"a.t{n}", "events": 1, "group": f"reason {n}"} for n in range(9)]
    lines = [it.text for it in detail(status(target(parked=9)), "dr", many, NOW) if isinstance(it, Line)]
    assert "and 4 other reasons" in lines


def test_a_bootstrap_is_told_of_beside_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    item = {"name": "dr", "in_scope": None, "tables": 0, "partitions": 0, "partitions_per_second": 0.0}
    item["seconds_left"] = None
    bootstrap = {"state": "running", "reason": None, "targets": [item]}
    lines = printed(overview(status(bootstrap=bootstrap), NOW), 80, monkeypatch)
    assert lines[3].endswith("bootstrap: counting tables")
    assert lines[-1] == "bootstrap of dr: counting tables"


def test_it_begins_with_ok_or_the_number_of_problems() -> None:
    assert [it.text for it in verdict([])] == ["OK"]


def test_a_target_that_waits_and_is_no_problem_yet_stands_below_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = target("lake", state="waiting", waiting_since=NOW - 90, last_error=error("connection refused"))
    lines = printed(overview(status(target(), waiting), NOW), 100, monkeypatch)[:3]
    assert lines == [
        "OK",
        "  not yet a problem: target lake has been waiting for 1m 30s: connection refused",
        "",
    ]
    worker = {**waiting, "name": "notification-log", "waiting_since": NOW - 3, "last_error": error("it refuses")}
    lines = printed(overview(status(workers=[worker]), NOW), 100, monkeypatch)[:2]
    assert lines == ["OK", "  not yet a problem: worker notification-log has been waiting for 3.0 s: it refuses"]
    late = printed(overview(status({**waiting, "waiting_since": NOW - 900}), NOW), 100, monkeypatch)
    assert (late[0], [line for line in late if "not yet" in line]) == ("1 problem:", [])
    gap, full = Problem("gap_open", "warning", "a gap is open"), Problem("queue_full", "critical", "full", hint="df")
    assert [it.label + it.text for it in verdict([gap])] == ["1 problem:", "  a gap is open"]
    assert [it.text for it in verdict([gap, full])] == ["2 problems:", "a gap is open", "full (df)"]


def test_a_watch_names_only_so_many_problems_that_the_targets_are_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    found = everything_wrong()
    lines = printed(overview(found, NOW, 3), 200, monkeypatch)
    assert lines[0] == "8 problems:"
    assert lines.index("  and 5 more: see pysync status") + 2 == next(at for at, it in enumerate(lines) if "lag" in it)
    two = Problem.read(found)[:2]
    assert list(verdict(two, 2)) == list(verdict(two))


def test_it_tells_what_is_read_of_the_notification_log() -> None:
    assert capture(None, {"state": "waiting", "position": None}) == "notification log: waiting, no event read yet"
    assert capture(None, {"state": "running", "position": 7}) == "notification log: running, read up to event 7"
    assert capture(None, None) == "no changes are captured"


@pytest.mark.parametrize(("at", "contact"), [(None, "no contact yet"), (NOW - 12, "last contact 12 s ago")])
def test_a_receiver_has_its_last_contact(at: float | None, contact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = {"name": "hook", "behind": 1200, "last_contact": at}
    lines = printed(overview(status(receivers=[receiver]), NOW), 80, monkeypatch)
    assert f"receiver hook: {contact}, 1,200 not sent yet" in lines


def test_without_a_listener_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(overview(status(listeners=[], no_listener_since=NOW), NOW), 80, monkeypatch)
    assert "no listener reports" in lines
    assert INSTANCE[:8] not in "".join(lines)


def test_brackets_are_no_markup_and_controls_are_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid([Column("a", widest=9), Column("[b]")], [[Cell("[red]"), Cell("x\x1b[2J\ny")]])
    assert printed([Line("[bold]", label="- "), grid], 80, monkeypatch) == [
        "- [bold]",
        "a      [b]",
        "[red]  x\\x1b[2J y",
    ]


@pytest.mark.parametrize("part", ["drain", "last-ids", "resync", "trash", "verify"])
def test_the_workers_of_a_target_are_known_by_their_names(part: str) -> None:
    assert (target_of(f"{part}-dr"), target_of(f"{part}-log-x")) == ("dr", "log-x")


@pytest.mark.parametrize("name", ["journal", "gap-resync", "notification-log"])
@pytest.mark.parametrize("state", ["failing", "stopped", "waiting"])
def test_what_ails_a_worker_that_serves_all_targets_ails_each(name: str, state: str) -> None:
    worker = {"name": name, "state": state, "waiting_since": NOW - 9999 if state == "waiting" else None}
    (found,) = problems(status(target("dr"), workers=[worker]), 60, NOW)
    assert (found.target, found.concerns("dr"), found.concerns("lake")) == ("", True, True)


@pytest.mark.parametrize("state", ["failing", "waiting"])
def test_a_receiver_that_is_away_is_no_problem_of_a_target(state: str) -> None:
    worker = {"name": "notify-hook", "state": state, "waiting_since": NOW - 9999 if state == "waiting" else None}
    found = Problem.read(
        {"problems": [it.as_json() for it in problems(status(target("dr"), workers=[worker]), 60, NOW)]}
    )
    assert [(it.about, it.concerns("dr")) for it in found] == [("notify-hook", False)]


@pytest.mark.parametrize("name", ["resync-dr", "trash-dr"])
def test_a_failing_worker_of_a_target_is_a_problem_of_it_alone(name: str) -> None:
    worker = {"name": name, "state": "failing", "waiting_since": None}
    (found,) = problems(status(target("dr"), target("lake"), workers=[worker]), 60, NOW)
    assert (found.concerns("dr"), found.concerns("lake")) == (True, False)
