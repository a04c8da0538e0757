"""The verdict: what is a problem, and what is not (yet)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pysync.base import health
from pysync.base.health import Problem, failing, listening, problems

NOW = 1_000_000.0
GRACE = 300.0
DOCS = Path(__file__).parents[2] / "docs" / "status.md"


def target(**values: Any) -> dict[str, Any]:
    plain = {
        "name": "dr",
        "state": "running",
        "paused": None,
        "brake": None,
        "parked": 0,
        "parked_by_brake": 0,
        "queued": 0,
        "lag_seconds": 0.0,
        "waiting_since": None,
        "last_error": None,
        "stale_since": None,
        "other_queue": None,
        "verify": None,
    }
    return {**plain, **values}


def queue(**values: Any) -> dict[str, Any]:
    return {"free_bytes": 2**30, "min_free_bytes": 2**28, **values}


def worker(**values: Any) -> dict[str, Any]:
    return {"name": "gap-resync", "state": "running", "waiting_since": None, "last_error": None, **values}


def listener(**values: Any) -> dict[str, Any]:
    plain = {"instance": "jvm", "source": "onprem", "state": "heard", "heard_at": NOW - 1, "waiting_since": None}
    return {**plain, "waiting_bytes": 0, **values}


def a_status(**values: Any) -> dict[str, Any]:
    return {
        "source": "onprem",
        "config": {"problem": None},
        "credentials": [],
        "workers": [worker(name="drain-dr"), worker()],
        "targets": [target()],
        "queue": queue(),
        "notification_log": None,
        "bridge": {"refused_connections": 0, "refused_last_at": None},
        "listeners": [listener()],
        "no_listener_since": None,
        "gaps": [{"state": "closed", "reason": "x"}, {"state": "closing", "reason": "y"}],
        **values,
    }


def problem_texts(**values: Any) -> list[str]:
    """The problems of a status with these values, as `pysync status` shows them."""
    return [str(it) for it in problems(a_status(**values), GRACE, NOW)]


def test_all_is_well() -> None:
    assert problems(a_status(), GRACE, NOW) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"paused": {"reason": "by hand"}}, "target dr is paused: by hand (pysync resume dr)"),
        (
            {"brake": {"summary": "database hr2 with 40 tables", "reason": "too many"}},
            "target dr holds the drop of database hr2 with 40 tables: too many (pysync held list dr)",
        ),
        ({"parked": 2}, "target dr has 2 parked events (pysync parked list dr)"),
        ({"parked": 5, "parked_by_brake": 3}, "target dr has 2 parked events (pysync parked list dr)"),
        (
            {"verify": {"drift": 1}},
            "target dr has drifted: 1 object not as at the source (pysync verify --target dr)",
        ),
        (
            {"state": "waiting", "waiting_since": NOW - GRACE - 1, "last_error": {"reason": "refused"}},
            "target dr has been waiting for 5m 1s: refused (pysync check)",
        ),
        ({"lag_seconds": 7260.0, "queued": 3}, "target dr is 2h 1m behind: 3 events to apply (pysync status dr)"),
    ],
)
def test_what_is_wrong_with_a_target(values: dict[str, Any], words: str) -> None:
    assert problem_texts(targets=[target(name="other"), target(**values)]) == [words]


@pytest.mark.parametrize(
    ("values", "words", "is_failing"),
    [
        (
            {"state": "failing", "last_error": {"reason": "KeyError: 1"}},
            "worker gap-resync is failing: KeyError: 1 (journalctl -u pysync)",
            True,
        ),
        ({"state": "stopped"}, "worker gap-resync is stopped (journalctl -u pysync)", True),
        (
            {"state": "waiting", "waiting_since": NOW - GRACE - 1, "last_error": {"reason": "refused"}},
            "worker gap-resync has been waiting for 5m 1s: refused",
            False,
        ),
    ],
)
def test_what_is_wrong_with_a_worker(values: dict[str, Any], words: str, is_failing: bool) -> None:
    workers = [worker(name="drain-dr"), worker(**values)]
    assert problem_texts(workers=workers) == [words]
    assert [str(it) for it in failing(a_status(workers=workers))] == ([words] if is_failing else [])


@pytest.mark.parametrize(
    "values",
    [
        {"lag_seconds": 600.0, "queued": 3},
        {"lag_seconds": 7200.0},
        {"lag_seconds": 7200.0, "queued": 3, "state": "waiting", "waiting_since": NOW - 1},
        {"lag_seconds": 7200.0, "queued": 3, "state": "disabled"},
    ],
)
def test_a_lag_that_is_short_or_has_another_reason_is_no_problem_of_its_own(values: dict[str, Any]) -> None:
    assert problem_texts(targets=[target(**values)]) == []
    assert len(problem_texts(targets=[target(lag_seconds=7200.0, queued=3, parked=1)])) == 1, "what is parked"


@pytest.mark.parametrize(
    ("kind", "left", "text"),
    [
        ("certificate", 13 * 86400, "ends in 13d"),
        ("certificate", 15 * 86400, None),
        ("authority", 60, "ends in 1m"),
        ("authority", -60, "has ended"),
        ("ticket", 1800, "ends in 30m"),
        ("ticket", 7200, None),
        ("ticket", None, None),
    ],
)
def test_a_credential_that_ends_soon_is_a_problem_as_for_the_alert(
    kind: str, left: float | None, text: str | None
) -> None:
    ending = {"used_for": "target dr", "kind": kind, "expires_at": left and NOW + left}
    found = problems(a_status(credentials=[ending]), GRACE, NOW)
    expected = [f"the {kind} for the target dr {text}: renew its file, which pysync reads again"] if text else []
    assert [it.text for it in found] == expected
    assert [(it.code, it.target) for it in found] == [("credential_ending", "dr") for _ in expected]


def test_a_file_with_which_nothing_would_start_again_is_a_problem() -> None:
    assert problem_texts(
        config={"problem": "a.toml:9:1: lane: unknown key\na.toml:10:1: targets[1].name: missing"}
    ) == [
        "the configuration file is wrong, so no reload and no start would succeed: a.toml:9:1: lane: unknown key, and "
        "1 more problem (pysync check)"
    ]
    assert problem_texts(config=None) == [], "a job that reads no file"


@pytest.mark.parametrize("state", ["starting", "running", "waiting", "finished"])
def test_a_worker_that_is_as_it_should_be_is_no_problem(state: str) -> None:
    assert problems(a_status(workers=[worker(state=state, waiting_since=NOW - GRACE + 1)]), GRACE, NOW) == []


@pytest.mark.parametrize("state", ["starting", "running", "shadow", "waiting"])
def test_what_comes_back_by_itself_is_given_its_time(state: str) -> None:
    waiting = target(state=state, waiting_since=NOW - GRACE + 1)
    assert problems(a_status(targets=[waiting]), GRACE, NOW) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"state": "silent", "heard_at": NOW - 90}, ["is lost", "for 1m 30s", "pysync listener remove jvm"]),
        ({"state": "silent", "heard_at": None}, ["is lost", "since the sidecar started"]),
        ({"waiting_since": NOW - GRACE - 60, "waiting_bytes": 4096}, ["cannot deliver", "4.0 KiB", "6m"]),
    ],
)
def test_what_is_wrong_with_a_listener(values: dict[str, Any], words: list[str]) -> None:
    (line,) = problem_texts(listeners=[listener(**values)])
    assert line.startswith("listener jvm of onprem")
    assert [word for word in words if word not in line] == []


def test_a_listener_with_the_name_of_another_source_is_a_problem_while_it_reports() -> None:
    (problem,) = problems(a_status(listeners=[listener(source="east")]), GRACE, NOW)
    assert (problem.code, problem.severity, problem.about) == ("listener_source", "critical", "jvm")
    assert "[source] name" in problem.text
    (left,) = problems(a_status(listeners=[listener(source="east", state="silent")]), GRACE, NOW)
    assert left.code == "listener_lost"


def test_a_listener_that_is_locked_out_is_a_problem_at_once_and_none_a_minute_after() -> None:
    def refused(ago: float, *heard_ago: float) -> list[str]:
        bridge = {"refused_connections": 9, "refused_last_at": NOW - ago}
        listeners = [listener(heard_at=NOW - it) for it in heard_ago]
        return [str(it) for it in listening(a_status(bridge=bridge, listeners=listeners), GRACE, NOW)]

    suspicion = "if it is a listener, it has another token than this sidecar"
    for heard in ((), (3,), (1, 3)):
        assert f"the bridge refuses a caller, 9 times so far: {suspicion}" in refused(2, *heard)[0]
    assert refused(2, 1, 0.5) == [
        "the bridge refuses a caller, 9 times so far; every listener has reported since (pysync check)"
    ]
    assert refused(61) == refused(61, 1) == []


def test_where_no_listener_is_heard_at_all_nothing_comes_in() -> None:
    alone = {"listeners": [], "no_listener_since": NOW - GRACE - 1}
    assert problem_texts(**alone) == ["no listener has reported for 5m 1s: is it in hive-site.xml? (pysync hive-site)"]
    assert problem_texts(**alone, bridge=None) == []
    assert problem_texts(listeners=[], no_listener_since=NOW - 10) == []


def test_a_log_that_nobody_may_read_is_a_problem_after_a_minute_and_told_once() -> None:
    """Before: OK for five minutes."""
    error = {"reason": "refused to read", "at": NOW, "over": False}

    def found(refused: float | None, waits: float) -> list[Problem]:
        log = {"refused_since": refused and NOW - refused, "last_error": error}
        since = {"state": "waiting", "waiting_since": NOW - waits, "last_error": error}
        workers = [worker(name="notification-log", **since)]
        return problems(a_status(bridge=None, listeners=[], notification_log=log, workers=workers), GRACE, NOW)

    assert found(59, 59) == found(None, 59) == []
    for seconds in (61, GRACE + 1):
        (problem,) = found(seconds, seconds)
        assert (problem.code, problem.severity) == ("log_refused", "critical")
        assert problem.text == "no change of the source is read: refused to read"
    assert [it.code for it in found(None, GRACE + 1)] == ["worker_waiting"]


def test_an_open_gap_is_a_problem_for_its_reason() -> None:
    gaps = [{"state": "open", "reason": "it ended", "target": None}]
    assert problem_texts(gaps=gaps) == ["a gap is open: it ended"]


@pytest.mark.parametrize("left", [0, 2**28])
def test_a_full_disk_is_a_problem_at_once(left: int) -> None:
    text = f"the queue takes no events: {left // 2**20} MiB are free on its disk, [queue] min_free_mb is 256"
    assert problem_texts(queue=queue(free_bytes=left)) == [f"{text} (df -h)"]


@pytest.mark.parametrize(("left", "is_low"), [(2**28 + 1, True), (2**29 - 1, True), (2**29, False)])
def test_little_room_is_a_problem_as_for_the_alert(left: int, is_low: bool) -> None:
    found = problems(a_status(queue=queue(free_bytes=left)), GRACE, NOW)
    assert [(it.code, it.severity) for it in found] == ([("disk_low", "warning")] if is_low else [])


def test_a_drain_that_cannot_write_its_queue_is_told_of_though_its_target_answers() -> None:
    since = {"state": "waiting", "waiting_since": NOW - GRACE - 1, "last_error": {"reason": "read-only"}}
    workers = [worker(name="drain-dr", **since)]
    assert problem_texts(workers=workers) == ["worker drain-dr has been waiting for 5m 1s: read-only"]


def test_what_a_drain_waits_for_is_told_once() -> None:
    since = {"state": "waiting", "waiting_since": NOW - GRACE - 1, "last_error": {"reason": "disk full"}}
    found = problem_texts(workers=[worker(name="drain-dr", **since)], targets=[target(**since)])
    assert found == ["target dr has been waiting for 5m 1s: disk full (pysync check)"]


@pytest.mark.parametrize("name", ["drain-dr", "resync-dr", "verify-dr", "gap-resync"])
def test_a_worker_of_a_target_is_a_problem_of_that_target(name: str) -> None:
    workers = [worker(name=name, state="failing")]
    (problem,) = problems(a_status(workers=workers), GRACE, NOW)
    assert problem.target == ("dr" if name.endswith("-dr") else "")


def test_a_problem_is_read_from_the_status_whatever_a_newer_sidecar_adds() -> None:
    found = problems(a_status(targets=[target(parked=2)]), GRACE, NOW)
    assert Problem.read({"problems": [{**it.as_json(), "since": 12.5} for it in found]}) == found


def test_every_problem_is_in_the_docs_with_its_severity() -> None:
    documented = dict(re.findall(r"\| `(\w+)` \| (critical|warning) \|", DOCS.read_text()))
    written = re.findall(r'Problem\(\s*"(\w+)",\s*"(\w+)"', Path(health.__file__).read_text())
    assert documented == dict(written)
    assert len(written) == len(documented)


def test_another_sidecar_for_the_same_source_is_a_problem_for_an_hour() -> None:
    other = {"table": "shop.orders", "at": NOW - 10}
    (problem,) = problems(a_status(targets=[target(other_queue=other)]), GRACE, NOW)
    assert (problem.code, problem.target) == ("other_queue", "dr")
    assert "shop.orders" in problem.text
    assert problems(a_status(targets=[target(other_queue=other)]), GRACE, NOW + 3600) == []


def test_many_new_events_that_are_stale_are_a_problem_while_they_come() -> None:
    (problem,) = problems(a_status(targets=[target(stale_since=NOW - 10)]), GRACE, NOW)
    assert (problem.code, problem.target) == ("events_stale", "dr")
    assert problems(a_status(targets=[target(stale_since=NOW - 601)]), GRACE, NOW) == []
