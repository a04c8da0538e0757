"""Metrics and health: what the status says, in the form that Prometheus reads, on loopback."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from pysync.base.errors import PysyncError
from pysync.base.health import Problem
from pysync.base.latency import Delays, Latency
from pysync.replay.progress import Progress
from pysync.sections import WebConfig
from pysync.web import connections as visitors
from pysync.web import server as web_server
from pysync.web.metrics import RESULTS, families
from pysync.web.server import HOST, WebServer

START = 1e9
DOCS = Path(__file__).parents[2] / "docs" / "monitoring.md"


def latency() -> Latency:
    """With a change that took 5 seconds, 3 of them in the queue."""
    made = Latency()
    made.note("db.t", Delays([1.5], [3.0], 0.5), START)
    return made


def target(name: str, **values: Any) -> dict[str, Any]:
    plain = {
        "state": "running",
        "position": 9,
        "queued": 3,
        "parked": 1,
        "lag_seconds": 2.5,
        "last_contact": START - 5,
        "snapshots": {"tables": 7, "behind": 2, "behind_since": START - 50, "looked_at": START - 9},
        "verify": None,
        "brake": None,
    }
    measured = Progress(name, "hms").status()
    measured["latency"] = latency().status(START)
    measured |= {"calls": {"get_table_req": 5}, "retries": 6, "backoff_seconds": 1.5}
    counts = {"applied": 7, "stale": 1, "conflict": 2, "skipped": 4, "parked": 1}
    return {**measured, "name": name, **plain, "counts": counts, "last_error": None, **values}


def worker(name: str, state: str = "running") -> dict[str, Any]:
    return {"name": name, "state": state, "waiting_since": None, "last_error": None}


def a_status(**values: Any) -> dict[str, Any]:
    return {
        "version": "1.2.3",
        "source": 'on"prem',
        "source_last_contact": 1.5e9,
        "started_at": 1.5,
        "bridge": {"connections": 4, "refused_connections": 2, "answers": {"queued": 10, "full": 1}, "differing": 3},
        "notification_log": None,
        "well": False,
        "problems": [
            Problem("target_paused", "warning", "it is paused", target="dr", hint="try x").as_json(),
            Problem("gap_open", "warning", "a gap is open").as_json(),
        ],
        "listeners": [
            {
                "instance": "jvm",
                "source": "onprem",
                "state": "silent",
                "heard_at": 1e9,
                "waiting_bytes": 4096,
                "waiting_events": 7,
                "lost": 3,
                "clock_offset_seconds": 0.25,
            }
        ],
        "gaps": [{"state": "open"}, {"state": "closed"}, {"state": "closed"}],
        "instances": [{"received": 10, "missing": [[3, 4], [9, 9]]}, {"received": 5, "missing": []}],
        "queue": {
            "events": 100,
            "history": {"events": 40, "bytes": 512},
            "free_bytes": 2048,
            "min_free_bytes": 1024,
            "unreadable": 0,
        },
        "journal": {"file": "/var/lib/pysync/journal.db", "waiting": 2, "dropped": 9},
        "receivers": [
            {"name": "hook", "delivered": 12, "failed": 3, "skipped": 1, "behind": 40, "last_contact": START - 6}
        ],
        "credentials": [
            {"used_for": "source", "kind": "certificate", "expires_at": 2e9},
            {"used_for": "target dr", "kind": "ticket", "expires_at": None},
        ],
        "workers": [worker("drain-dr"), worker("gap-resync", state="waiting")],
        "targets": [target("dr"), target("lake", state="waiting", verify={"drift": 6})],
        "copy": {"lake": {"files": 2, "bytes": 300, "removed": 1, "files_left": 4, "bytes_left": 500}},
        **values,
    }


@pytest.fixture
def status() -> dict[str, Any]:
    return a_status()


@pytest.fixture
def web(status: dict[str, Any]) -> Iterator[WebServer]:
    server = WebServer(WebConfig(port=0), lambda: status)
    server.start()
    yield server
    server.stop()


def get(web: WebServer, path: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(f"http://{HOST}:{web.port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found = [it for family in text_string_to_metric_families(text) for it in family.samples]
    return {(it.name, frozenset(it.labels.items())): it.value for it in found}


def test_the_values_are_those_of_the_status(web: WebServer) -> None:
    code, text = get(web, "/metrics")
    found = samples(text)

    def value(name: str, **labels: str) -> float:
        return found[name, frozenset(labels.items())]

    assert code == 200
    assert value("pysync_info", version="1.2.3", source='on"prem') == 1
    assert value("pysync_bridge_answers_total", answer="full") == 1
    assert value("pysync_bridge_refused_connections_total") == 2
    assert value("pysync_bridge_differing_total") == 3
    assert value("pysync_missing_events") == 3
    assert value("pysync_journal_dropped_records_total") == 9
    assert value("pysync_notify_delivered_events_total", receiver="hook") == 12
    assert value("pysync_notify_failed_requests_total", receiver="hook") == 3
    assert value("pysync_notify_skipped_events_total", receiver="hook") == 1
    assert value("pysync_notify_behind", receiver="hook") == 40
    assert value("pysync_notify_last_contact_timestamp_seconds", receiver="hook") == START - 6
    assert value("pysync_well") == 0
    assert value("pysync_worker_state", worker="gap-resync", state="waiting") == 1
    assert value("pysync_worker_state", worker="gap-resync", state="running") == 0
    assert [value("pysync_listeners", state=it) for it in ("heard", "expected", "silent")] == [0, 0, 1]
    listener = {"listener": "jvm", "source": "onprem"}
    shown = ("silent", "heard_at_seconds", "waiting_bytes", "waiting_events", "lost_events_total")
    assert [value(f"pysync_listener_{it}", **listener) for it in shown] == [1, 1e9, 4096, 7, 3]
    assert value("pysync_listener_clock_offset_seconds", **listener) == 0.25
    assert value("pysync_credential_expiry_timestamp_seconds", used_for="source", kind="certificate") == 2e9
    assert value("pysync_received_events_total") == 15
    assert [value("pysync_gaps", state=state) for state in ("open", "closing", "closed")] == [1, 0, 2]
    assert [value(f"pysync_queue_{it}_bytes") for it in ("free", "min_free")] == [2048, 1024]
    assert (value("pysync_queue_history_events"), value("pysync_queue_history_bytes")) == (40, 512)
    assert value("pysync_target_queued", target="lake") == 3
    assert value("pysync_target_lag_seconds", target="dr") == 2.5
    assert value("pysync_target_state", target="lake", state="waiting") == 1
    assert value("pysync_target_state", target="lake", state="running") == 0
    assert value("pysync_target_operations_total", target="dr", result="applied") == 7
    assert [value(f"pysync_target_{it}_events_total", target="dr") for it in ("skipped", "parked")] == [4, 1]
    assert ("pysync_target_operations_total", frozenset({"target": "dr", "result": "parked"}.items())) not in found
    assert [value("pysync_target_conflicts_total", target=name) for name in ("dr", "lake")] == [2, 2]
    assert value("pysync_target_drift", target="lake") == 6
    assert value("pysync_copy_bytes_total", target="lake") == 300
    assert value("pysync_copy_files_left", target="lake") == 4
    assert ("pysync_target_drift", frozenset({("target", "dr")})) not in found


def test_the_latency_and_what_it_took_are_those_of_the_status(web: WebServer) -> None:
    found = samples(get(web, "/metrics")[1])

    def value(name: str, **labels: str) -> float:
        return found[f"pysync_target_{name}", frozenset({"target": "dr", **labels}.items())]

    assert [value("visible_seconds_bucket", le=it) for it in ("4.0", "8.0", "+Inf")] == [0, 1, 1]
    assert (value("visible_seconds_sum"), value("visible_seconds_count")) == (5.0, 1)
    parts = {part: value("visible_part_seconds_sum", part=part) for part in ("spool", "queue", "target")}
    assert parts == {"spool": 1.5, "queue": 3.0, "target": 0.5}
    assert value("calls_total", call="get_table_req") == 5
    assert (value("retries_total"), value("backoff_seconds_total")) == (6, 1.5)
    assert value("snapshots_behind") == 2


def test_series_are_there_before_anything_has_happened() -> None:
    idle = {**target("dr"), **Progress("dr", "hms").status(), "counts": {}}
    bridge = {"connections": 0, "refused_connections": 0, "answers": {}, "differing": 0}
    quiet = a_status(targets=[idle], bridge=bridge, gaps=[], listeners=[])
    found = {(it.name, *it.labels.values()): it.value for family in families(quiet) for it in family.samples}
    for result in RESULTS:
        assert found["pysync_target_operations_total", "dr", result] == 0
    for kind in ("bug", "forbidden", "outcome_unknown", "rejected", "unavailable"):
        assert found["pysync_target_errors_total", "dr", kind] == 0
    for answer in ("queued", "full", "failed", "unreadable", "unsupported"):
        assert found["pysync_bridge_answers_total", answer] == 0
    assert found["pysync_target_visible_seconds_bucket", "dr", "+Inf"] == 0
    assert [found["pysync_listeners", it] for it in ("heard", "expected", "silent")] == [0, 0, 0]


def test_a_scrape_is_no_older_than_a_moment(status: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(web_server, "FRESH_SECONDS", 0.0)
    server = WebServer(WebConfig(port=0), lambda: asked.append(1) or status)  # type: ignore[func-returns-value]
    server.start()
    get(server, "/metrics")
    status["queue"]["events"] = 12345
    assert samples(get(server, "/metrics")[1])["pysync_queue_events", frozenset()] == 12345
    server.stop()
    assert len(asked) == 2


def test_many_scrapes_within_a_moment_ask_once(status: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(web_server, "FRESH_SECONDS", 1000.0)
    server = WebServer(WebConfig(port=0), lambda: asked.append(1) or status)  # type: ignore[func-returns-value]
    server.start()
    assert len({get(server, "/metrics") for _ in range(20)}) == 1
    server.stop()
    assert len(asked) == 1


def test_the_names_follow_the_rules_of_prometheus() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian's package prometheus)")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(type("All", (), {"collect": lambda _: families(a_status())})())
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=generate_latest(registry), capture_output=True, timeout=60, check=False
    )
    assert (checked.stdout + checked.stderr).decode() == ""
    assert checked.returncode == 0


def test_without_a_bridge_there_are_no_metrics_of_one() -> None:
    names = {family.name for family in families(a_status(bridge=None))}
    assert "pysync_queue_events" in names
    assert not [name for name in names if "bridge" in name]


def _name(family: Metric, sample: str) -> str:
    """As the docs have it: of a histogram without `_bucket`, `_count` and `_sum`."""
    return family.name if family.type == "histogram" else sample


def test_every_metric_is_in_the_docs_and_nothing_else() -> None:
    shown = {_name(family, it.name) for family in families(a_status()) for it in family.samples}
    table = "\n".join(line for line in DOCS.read_text().splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(pysync_\w+)`", table)) == shown


def test_health_is_the_verdict_of_the_status(web: WebServer, status: dict[str, Any]) -> None:
    assert get(web, "/health") == (503, "it is paused (try x)\na gap is open\n")
    status["problems"] = []
    assert get(web, "/health") == (200, "ok\n")


def test_only_a_thread_that_fails_is_a_reason_to_start_anew(web: WebServer, status: dict[str, Any]) -> None:
    assert get(web, "/live") == (200, "ok\n")
    status["workers"][0] |= {"state": "failing", "last_error": {"reason": "KeyError: 'x'"}}
    assert get(web, "/live") == (503, "worker drain-dr is failing: KeyError: 'x' (journalctl -u pysync)\n")


def test_a_page_in_a_browser_cannot_get_here_by_a_name_of_its_own(web: WebServer) -> None:
    assert get(web, "/metrics", Host="evil.example")[0] == 400
    assert get(web, "/metrics", Host=f"localhost:{web.port}")[0] == 200


def test_a_proxy_may_pass_its_own_name_on_if_it_is_allowed(status: dict[str, Any]) -> None:
    server = WebServer(WebConfig(port=0, allowed_hosts=["Metrics.example.com"]), lambda: status)
    server.start()
    codes = [
        get(server, "/metrics", Host=it)[0]
        for it in (
            "metrics.example.com",
            "metrics.example.com:8443",
            "localhost",
            "example.com",
            "x.metrics.example.com",
        )
    ]
    server.stop()
    assert codes == [200, 200, 200, 400, 400]


def test_it_takes_no_other_paths_and_answers_on_loopback_alone(web: WebServer) -> None:
    assert get(web, "/none")[0] == 404
    assert [it.getsockname()[0] for it in web._sockets] == [HOST]


def test_a_port_that_is_taken_is_told_in_a_line() -> None:
    with (
        closing(socket.create_server((HOST, 0))) as taken,
        pytest.raises(PysyncError, match="cannot listen on") as error,
    ):
        WebServer(WebConfig(port=taken.getsockname()[1]), a_status)
    assert error.value.hint == "set another [web] port"


def hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_who_asks_nothing_is_let_go(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "LIFE_SECONDS", 0.1)
    with closing(socket.create_connection((HOST, web.port), timeout=60)) as silent:
        assert hung_up(silent)
    monkeypatch.undo()
    assert get(web, "/live")[0] == 200


def test_of_too_many_connections_the_oldest_give_way_and_a_good_caller_is_answered(web: WebServer) -> None:
    with ExitStack() as held:
        crowd = [
            held.enter_context(closing(socket.create_connection((HOST, web.port), timeout=60)))
            for _ in range(2 * visitors.MOST)
        ]
        assert get(web, "/live")[0] == 200
        assert all(hung_up(silent) for silent in crowd[: visitors.MOST])


def test_it_ends_though_somebody_holds_a_connection_open(status: dict[str, Any]) -> None:
    server = WebServer(WebConfig(port=0), lambda: status)
    server.start()
    get(server, "/health")
    with closing(socket.create_connection((HOST, server.port), timeout=60)):
        server.stop()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((HOST, server.port), timeout=60)
