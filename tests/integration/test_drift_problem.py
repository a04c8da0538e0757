"""Drift is a problem wherever people look, until a comparison finds none: a repair has one made."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pysync.control.client import ask
from tests.support import wait_until
from tests.support.docworlds import Running
from tests.support.sidecars import pysync
from tests.support.visitors import PageVisitor


def health(running: Running) -> tuple[int, str]:
    """What `/health` answers."""
    found = re.search(r"web_started\s+url=\S+:(\d+)/", running.stage.sidecar_log.read_text())
    assert found
    seen = PageVisitor(int(found[1])).get("/health")
    return seen.code, seen.body


def test_drift_is_a_problem_until_it_is_repaired(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.file.write_text(running.file.read_text() + "\n[web]\nport = 0\n")
    with running:
        running.rests(queued=0, parked=0)
        assert health(running) == (200, "ok\n")
        changed = running.target.table("sales", "orders")
        changed.owner = "somebody else"
        running.target.call(lambda client: client.alter_table("sales", "orders", changed))
        ask(running.stage.config.queue.directory, "verify", target="dr")
        wait_until(lambda: (running.dr()["verify"] or {}).get("drift") == 1, seconds=60, what="the drift")

        reported = "target dr has drifted: 1 object not as at the source (pysync verify --target dr)\n"
        assert health(running) == (503, reported)
        done = pysync("status", "dr", "-c", running.file)
        assert (done.returncode, reported in done.stdout) == (1, True)
        listed = json.loads(pysync("tables", "--state", "drifted", "-c", running.file, "--json").stdout)
        assert [it["object"] for it in listed["objects"]] == ["sales.orders"]

        assert pysync("verify", "--target", "dr", "--repair", "-c", running.file).returncode == 0
        wait_until(lambda: running.dr()["verify"]["drift"] == 0, seconds=60, what="the comparison after the repair")
        assert health(running) == (200, "ok\n")
