"""REPL commands on Hive's own notification log, between two Hive 3.1."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysync.capture.notifications import NotificationLog
from pysync.jobs import oneoff
from pysync.sidecar.shutdown import Shutdown
from tests.support.repls import Repl
from tests.versions.conftest import Report
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need

LETTERS = "{db}.['[a-z]+']"


@pytest.mark.timeout(900)
def test_a_limit_and_a_replaced_policy_by_hive_s_own_log(tmp_path: Path, report: Report, monkeypatch) -> None:
    need(report, "3.1.3")
    monkeypatch.setattr(Shutdown, "on_signals", lambda _: None)
    monkeypatch.setattr(oneoff, "collect_seldom", lambda: None)
    made = metastore_of("3.1.3", notification_log=True)
    with made(tmp_path / "source", name="source") as source, made(tmp_path / "target", name="target") as target:
        repl = Repl(tmp_path, source.uri, target.uri, logged=True)
        try:
            _limit(repl)
            _replace(repl)
        finally:
            repl.close()


def _limit(repl: Repl) -> None:
    """Events of other tables come in between, and do not count."""
    at = repl.dump_and_load(LETTERS).manifest.upto
    assert repl.tables() == ["orders", "stores"]
    for name in ("t3", "orders", "q4", "q5", "stores"):
        repl.change(name, "1")
    rows = NotificationLog(repl.hms).after(at)
    for name in ("orders", "stores"):
        done = repl.dump_and_load(f"{LETTERS} FROM {at} LIMIT 1")
        at = done.manifest.upto
        assert at == next(row.id for row in rows if row.table == name)
    assert [repl.parameter(name) for name in ("orders", "stores")] == ["1", "1"]
    assert repl.status() == at


def _replace(repl: Repl) -> None:
    """In both directions, with renames by Hive's own words of them."""
    at = repl.status()
    repl.rename("t3", "tthree")
    repl.rename("stores", "t500")
    done = repl.dump_and_load(f"{{db}} REPLACE {LETTERS} FROM {at}")
    assert repl.tables() == ["orders", "q4", "q5", "t400", "t500", "tthree"]
    repl.rename("q5", "qfive")
    repl.rename("orders", "t1")
    repl.dump_and_load(f"{LETTERS} REPLACE {{db}} FROM {done.manifest.upto}")
    assert repl.tables() == ["qfive", "tthree"]
    assert repl.functions() == ["f"]
