"""The verdict: what is a problem, and what is not (yet)."""

from __future__ import annotations

from typing import Any

import pytest

from pysync.health import failing, listening, problems

NOW = 1_000_000.0
GRACE = 300.0


def target(**values: Any) -> dict[str, Any]:
    plain = {"name": "dr", "state": "running", "paused": None, "parked": 0, "waiting_since": None, "last_error": None}
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


def test_all_is_well() -> None:
    assert problems(a_status(), GRACE, NOW) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"paused": {"reason": "by hand"}}, "target dr is paused: by hand"),
        ({"parked": 2}, "target dr has 2 parked events; see: pysync parked list dr"),
        (
            {"state": "waiting", "waiting_since": NOW - GRACE - 1, "last_error": {"reason": "refused"}},
            "target dr has been waiting for 5m 1s: refused",
        ),
    ],
)
def test_what_is_wrong_with_a_target(values: dict[str, Any], words: str) -> None:
    assert problems(a_status(targets=[target(name="other"), target(**values)]), GRACE, NOW) == [words]


@pytest.mark.parametrize(
    ("values", "words", "is_failing"),
    [
        (
            {"state": "failing", "last_error": {"reason": "KeyError: 1"}},
            "worker gap-resync is failing: KeyError: 1",
            True,
        ),
        ({"state": "stopped"}, "worker gap-resync is stopped", True),
        (
            {"state": "waiting", "waiting_since": NOW - GRACE - 1, "last_error": {"reason": "refused"}},
            "worker gap-resync has been waiting for 5m 1s: refused",
            False,
        ),
    ],
)
def test_what_is_wrong_with_a_worker(values: dict[str, Any], words: str, is_failing: bool) -> None:
    status = a_status(workers=[worker(name="drain-dr"), worker(**values)])
    assert problems(status, GRACE, NOW) == [words]
    assert failing(status) == ([words] if is_failing else [])


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
        ({"waiting_since": NOW - GRACE - 60, "waiting_bytes": 4096}, ["cannot deliver", "4,096 bytes", "6m"]),
    ],
)
def test_what_is_wrong_with_a_listener(values: dict[str, Any], words: list[str]) -> None:
    (line,) = problems(a_status(listeners=[listener(**values)]), GRACE, NOW)
    assert line.startswith("listener jvm of onprem")
    assert [word for word in words if word not in line] == []


def test_a_listener_that_is_locked_out_is_a_problem_at_once_and_none_a_minute_after() -> None:
    def told(ago: float) -> list[str]:
        bridge = {"refused_connections": 9, "refused_last_at": NOW - ago}
        return listening(a_status(bridge=bridge), GRACE, NOW)

    assert "the bridge refuses a caller, 9 times" in told(2)[0]
    assert told(61) == []


def test_where_no_listener_is_heard_at_all_nothing_comes_in() -> None:
    alone = {"listeners": [], "no_listener_since": NOW - GRACE - 1}
    (line,) = problems(a_status(**alone), GRACE, NOW)
    assert "no listener has reported for 5m 1s" in line
    assert problems(a_status(**alone, bridge=None), GRACE, NOW) == []
    assert problems(a_status(listeners=[], no_listener_since=NOW - 10), GRACE, NOW) == []


def test_an_open_gap_is_a_problem_for_its_reason() -> None:
    gaps = [{"state": "open", "reason": "it ended"}]
    assert problems(a_status(gaps=gaps), GRACE, NOW) == ["a gap is open: it ended"]


@pytest.mark.parametrize("left", [0, 2**28])
def test_a_full_disk_is_a_problem_at_once(left: int) -> None:
    (line,) = problems(a_status(queue=queue(free_bytes=left)), GRACE, NOW)
    assert line == f"the queue takes no events: {left // 2**20} MiB are free on its disk, [queue] min_free_mb is 256"


def test_a_drain_that_cannot_write_its_queue_is_told_of_though_its_target_answers() -> None:
    since = {"state": "waiting", "waiting_since": NOW - GRACE - 1, "last_error": {"reason": "read-only"}}
    status = a_status(workers=[worker(name="drain-dr", **since)])
    assert problems(status, GRACE, NOW) == ["worker drain-dr has been waiting for 5m 1s: read-only"]


def test_what_a_drain_waits_for_is_told_once() -> None:
    since = {"state": "waiting", "waiting_since": NOW - GRACE - 1, "last_error": {"reason": "disk full"}}
    status = a_status(workers=[worker(name="drain-dr", **since)], targets=[target(**since)])
    assert problems(status, GRACE, NOW) == ["target dr has been waiting for 5m 1s: disk full"]
