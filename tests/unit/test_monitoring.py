"""The monitoring pack: every alert fires when it should, and not otherwise; rules and dashboard are whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.promql import RULES, panels, rules, scraped, wrong
from tests.support.sidecars import assert_one_line, pysync_here

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian's package prometheus)")

MINUTES = 60
DAY = 86400
ALERTS = [
    "PysyncDown",
    "PysyncNoListener",
    "PysyncListenerLost",
    "PysyncListenerLostEvents",
    "PysyncTargetBehind",
    "PysyncDropsHeld",
    "PysyncTargetPaused",
    "PysyncTargetUnavailable",
    "PysyncEventsParked",
    "PysyncGapOpen",
    "PysyncDrift",
    "PysyncDiskLow",
    "PysyncWorkerFailing",
    "PysyncProblem",
    "PysyncCertificateEnding",
]


def always(value: float) -> str:
    return f"{value}+0x{MINUTES}"


def then(before: float, after: float) -> str:
    """One value for half an hour, then another."""
    return f"{before}+0x29 {after}+0x30"


STATE = 'pysync_target_state{target="dr",state="%s"}'
HELD = 'pysync_target_held_drops{target="dr"}'
LAG, PARKED, QUEUED = ('pysync_target_%s{target="dr"}' % it for it in ("lag_seconds", "parked", "queued"))  # noqa: UP031
EXPIRY = 'pysync_credential_expiry_timestamp_seconds{used_for="source",kind="%s"}'
LOST = 'pysync_listener_lost_events_total{listener="jvm",source="onprem"}'
HEARD, SILENT = ('pysync_listeners{state="%s"}' % it for it in ("heard", "silent"))  # noqa: UP031
FREE, LEAST = "pysync_queue_free_bytes", "pysync_queue_min_free_bytes"

# The alert, what Prometheus has seen in the last hour, and how many alerts it makes of that.
CASES: list[tuple[str, dict[str, str], int]] = [
    ("PysyncDown", {'up{job="pysync"}': always(0)}, 1),
    ("PysyncDown", {'up{job="pysync"}': always(1), 'up{job="other"}': always(0)}, 0),
    ("PysyncNoListener", {HEARD: always(0), SILENT: always(0)}, 1),
    ("PysyncNoListener", {HEARD: always(1), SILENT: always(0)}, 0),
    ("PysyncNoListener", {HEARD: always(0), SILENT: always(1)}, 0),
    ("PysyncListenerLost", {'pysync_listener_silent{listener="jvm"}': always(1)}, 1),
    ("PysyncListenerLost", {'pysync_listener_silent{listener="jvm"}': always(0)}, 0),
    ("PysyncListenerLostEvents", {LOST: f"0+0x{MINUTES - 5} 3+0x4"}, 1),
    ("PysyncListenerLostEvents", {LOST: f"_x{MINUTES - 5} 3+0x4"}, 1),
    ("PysyncListenerLostEvents", {LOST: f"_x{MINUTES - 5} 0+0x4"}, 0),
    ("PysyncListenerLostEvents", {LOST: always(3)}, 0),
    ("PysyncTargetBehind", {'pysync_target_lag_seconds{target="dr"}': always(700), STATE % "paused": always(0)}, 1),
    ("PysyncTargetBehind", {'pysync_target_lag_seconds{target="dr"}': always(700), STATE % "paused": always(1)}, 0),
    ("PysyncTargetBehind", {'pysync_target_lag_seconds{target="dr"}': always(500)}, 0),
    ("PysyncTargetBehind", {LAG: always(700), PARKED: always(2), QUEUED: always(0)}, 0),
    ("PysyncTargetBehind", {LAG: always(700), PARKED: always(2), QUEUED: always(9)}, 1),
    ("PysyncDropsHeld", {HELD: f"0+0x{MINUTES - 2} 41+0x1"}, 1),
    ("PysyncDropsHeld", {HELD: always(0)}, 0),
    ("PysyncTargetPaused", {STATE % "paused": always(1), HELD: always(41)}, 1),
    ("PysyncTargetPaused", {STATE % "paused": always(0), STATE % "running": always(1), HELD: always(41)}, 0),
    ("PysyncTargetPaused", {STATE % "paused": always(1)}, 1),
    ("PysyncTargetPaused", {STATE % "paused": f"0+0x{MINUTES - 5} 1+0x4", STATE % "running": always(1)}, 0),
    ("PysyncTargetUnavailable", {STATE % "waiting": always(1)}, 1),
    ("PysyncTargetUnavailable", {STATE % "waiting": always(0), STATE % "running": always(1)}, 0),
    ("PysyncEventsParked", {'pysync_target_parked{target="dr"}': always(2)}, 1),
    ("PysyncEventsParked", {'pysync_target_parked{target="dr"}': then(2, 0)}, 0),
    ("PysyncGapOpen", {'pysync_gaps{state="open"}': always(1)}, 1),
    ("PysyncGapOpen", {'pysync_gaps{state="open"}': f"0+0x{MINUTES - 20} 1+0x19"}, 0),
    ("PysyncDrift", {'pysync_target_drift{target="dr"}': always(4)}, 1),
    ("PysyncDrift", {'pysync_target_drift{target="dr"}': always(0)}, 0),
    ("PysyncDiskLow", {FREE: always(300), LEAST: always(256)}, 1),
    ("PysyncDiskLow", {FREE: always(200), LEAST: always(256)}, 2),
    ("PysyncDiskLow", {FREE: always(600), LEAST: always(256)}, 0),
    ("PysyncWorkerFailing", {'pysync_worker_state{worker="drain-dr",state="failing"}': always(1)}, 1),
    ("PysyncWorkerFailing", {'pysync_worker_state{worker="drain-dr",state="stopped"}': always(1)}, 1),
    ("PysyncWorkerFailing", {'pysync_worker_state{worker="drain-dr",state="waiting"}': always(1)}, 0),
    ("PysyncProblem", {"pysync_well": always(0)}, 1),
    ("PysyncProblem", {"pysync_well": always(1)}, 0),
    ("PysyncProblem", {"pysync_well": always(0), HELD: always(41)}, 0),
    ("PysyncCertificateEnding", {EXPIRY % "certificate": always(13 * DAY)}, 1),
    ("PysyncCertificateEnding", {EXPIRY % "authority": always(13 * DAY)}, 1),
    ("PysyncCertificateEnding", {EXPIRY % "certificate": always(15 * DAY), EXPIRY % "ticket": always(9 * 3600)}, 0),
    ("PysyncCertificateEnding", {EXPIRY % "ticket": always(3600 + 1800)}, 1),
]


def a_test(alert: str, seen: dict[str, str], alerts: int) -> dict[str, Any]:
    """A case as `promtool test rules` takes it."""
    firing = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    wanted = [{"labels": "{}", "value": alerts}] if alerts else []
    return {
        "name": f"{alert}: {alerts}",
        "interval": "1m",
        "input_series": [{"series": series, "values": values} for series, values in seen.items()],
        "promql_expr_test": [{"expr": firing, "eval_time": f"{MINUTES - 1}m", "exp_samples": wanted}],
    }


def checked(*arguments: str | Path) -> str:
    """What promtool says of it; a test fails if promtool does."""
    done = subprocess.run([PROMTOOL or "", *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_promtool
def test_the_rules_are_valid() -> None:
    assert f"{len(rules())} rules found" in checked("check", "rules", "--lint-fatal", RULES)


@needs_promtool
def test_each_alert_fires_when_it_should_and_not_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "tests.yml"
    tests = [a_test(*case) for case in CASES]
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    checked("test", "rules", file)


def test_there_is_a_case_for_each_alert_to_fire_and_one_not_to() -> None:
    assert {alert for alert, _, alerts in CASES if alerts} == set(ALERTS)
    assert {alert for alert, _, alerts in CASES if not alerts} == set(ALERTS)


def test_the_alerts_are_those_that_the_runbook_has() -> None:
    assert list(dict.fromkeys(rule["alert"] for rule in rules())) == ALERTS


@pytest.mark.parametrize("rule", rules(), ids=lambda it: it["alert"])
def test_an_alert_says_how_bad_it_is_what_it_means_and_where_to_read_on(rule: dict[str, Any]) -> None:
    reported = rule["annotations"]
    assert rule["labels"] in ({"severity": "warning"}, {"severity": "critical"})
    assert reported.keys() == {"summary", "description", "runbook_url"}
    assert reported["runbook_url"] == f"docs/failures.md#{rule['alert'].lower()}"
    assert len(reported["summary"]) < 100
    assert reported["description"].endswith(".")


def test_the_dashboard_has_its_rows_and_no_panel_without_a_word_or_an_expression() -> None:
    rows = [it["title"] for it in panels() if it["type"] == "row"]
    assert rows == ["Overview", "Latency", "Targets", "Capture", "Disk"]
    assert len({it["id"] for it in panels()}) == len(panels())
    for panel in panels():
        if panel["type"] != "row":
            assert panel["description"], panel["title"]
            assert panel["datasource"]["uid"] == "${datasource}"
            assert panel["targets"]


def test_no_panel_covers_another() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in panels():
        at = panel["gridPos"]
        for place in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            assert place not in taken, (panel["title"], taken[place])
            assert place[0] < 24
            taken[place] = panel["title"]


SERIES = scraped('# TYPE pysync_x gauge\npysync_x{state="open",target="dr"} 1\n')


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ('pysync_x{state="open", instance=~"$sidecar"} == 1', []),
        ('sum by (target) (pysync_x{target=~"$target"})', []),
        ("pysync_y > 0", ["pysync_y"]),
        ('pysync_x{kind="a"}', ["pysync_x.kind"]),
        ('pysync_x{state=~"open|shut"}', ["pysync_x.state=shut"]),
        ('pysync_x{state!="shut"}', []),
        ("sum by (targets) (pysync_x)", ["label targets"]),
        ("label_values(pysync_x, targt)", ["label targt"]),
        ('up{job="pysync"} == 0', []),
    ],
)
def test_what_an_expression_names_and_no_series_has_is_found(expression: str, found: list[str]) -> None:
    assert wrong(expression, SERIES) == found


def test_a_template_names_only_labels_that_its_alert_can_have() -> None:
    known = set(re.findall(r"`(\w+)`", (RULES.parents[2] / "docs" / "monitoring.md").read_text()))
    for rule in rules():
        for label in re.findall(r"\$labels\.(\w+)", str(rule["annotations"])):
            assert label in {"instance"} | known, rule["alert"]


def test_what_is_sent_to_cloudwatch_is_measured_with_these_dimensions() -> None:
    page = (RULES.parents[2] / "docs" / "monitoring.md").read_text()
    (block,) = re.findall(r"```json\n(\{\"logs\".*?)```", page, re.DOTALL)
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `pysync_")]
    labels = {name: re.findall(r"`(\w+)`", of) for names, of in rows for name in re.findall(r"`(\w+)`", names)}
    declared = json.loads(block)["logs"]["metrics_collected"]["prometheus"]["emf_processor"]["metric_declaration"]
    for it in declared:
        for selector in it["metric_selectors"]:
            taken = [name for name in labels if re.fullmatch(selector, name)]
            assert taken, selector
            assert all([labels[name]] == it["dimensions"] for name in taken), taken


# --- pysync monitoring

RUNBOOK = "https://docs.example.com/failures.html"


def test_the_pack_is_written_with_the_addresses_of_a_site(tmp_path: Path) -> None:
    done = pysync_here("monitoring", "--out", tmp_path / "a", "--runbook", RUNBOOK, "--page", "http://sidecar:9184/")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stderr
    written = yaml.safe_load((tmp_path / "a" / "pysync.rules.yml").read_text())
    urls = {rule["alert"]: rule["annotations"]["runbook_url"] for rule in written["groups"][0]["rules"]}
    assert urls == {alert: f"{RUNBOOK}#{alert.lower()}" for alert in ALERTS}
    dashboard = json.loads((tmp_path / "a" / "grafana-dashboard.json").read_text())
    assert [it["url"] for it in dashboard["links"]] == ["http://sidecar:9184/", RUNBOOK]
    shipped = json.loads(RULES.with_name("grafana-dashboard.json").read_text())
    assert {**dashboard, "links": []} == shipped


def test_without_addresses_the_pack_is_written_as_it_is_shipped(tmp_path: Path) -> None:
    assert pysync_here("monitoring", "--out", tmp_path).returncode == 0
    for name in ("pysync.rules.yml", "grafana-dashboard.json"):
        assert (tmp_path / name).read_text() == RULES.with_name(name).read_text()


def test_a_pack_that_somebody_changed_is_not_replaced_unasked(tmp_path: Path) -> None:
    assert pysync_here("monitoring", "--out", tmp_path).returncode == 0
    assert pysync_here("monitoring", "--out", tmp_path).returncode == 0, "again the same"
    rules_file = tmp_path / "pysync.rules.yml"
    rules_file.write_text("groups: []\n")
    assert_one_line(pysync_here("monitoring", "--out", tmp_path), 2, "pysync.rules.yml has been changed", "--force")
    assert rules_file.read_text() == "groups: []\n"
    assert pysync_here("monitoring", "--out", tmp_path, "--force").returncode == 0
    assert rules_file.read_text() == RULES.read_text()


@pytest.mark.parametrize("option", ["--runbook", "--page"])
@pytest.mark.parametrize("text", ["docs/failures.md", "https://a b", 'https://x/"', "https://x/#there", "javascript:x"])
def test_what_is_no_address_is_refused(tmp_path: Path, option: str, text: str) -> None:
    assert_one_line(pysync_here("monitoring", "--out", tmp_path, option, text), 2, "is not the address of a page")


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_one_line(pysync_here("monitoring", "--out", tmp_path / "file"), 2, "cannot write")
