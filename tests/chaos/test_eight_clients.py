"""Eight clients for a minute, while the sidecar is killed and the target killed and stopped again and again.

PYSYNC_CHAOS_SECONDS makes the minute shorter.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import closing
from pathlib import Path

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import wait_until
from tests.support.crashes import start
from tests.support.eventlog import EventLog, LoggedClient, OrderWatch, versions
from tests.support.hanging import stopped
from tests.support.stages import NO_BRAKE, assert_converges, assert_nothing_missing, wait_until_compared

SECONDS = float(os.environ.get("PYSYNC_CHAOS_SECONDS", "60"))
CLIENTS = 8
DATABASES = [f"stream{number}" for number in range(CLIENTS)]
PATIENCE_SECONDS = 600.0


def disturb(stage: Stage, chance: random.Random) -> str:
    """One disaster and the recovery from it; what it was."""
    time.sleep(chance.uniform(0.5, 3.0))
    kind = chance.choices(("sidecar killed", "target killed", "target stopped"), (6, 1, 1))[0]
    if kind == "sidecar killed":
        stage.kill_sidecar()
        time.sleep(chance.uniform(0.0, 1.0))
        start(stage)
    elif kind == "target killed":
        stage.target.kill()
        time.sleep(chance.uniform(0.0, 2.0))
        stage.target.start()
    else:
        with stopped(stage.target.pid):
            time.sleep(chance.uniform(1.0, 3.0))
    return kind


def received(stage: Stage) -> int:
    return sum(item["received"] for item in stage.status()["instances"])


def check(stage: Stage, log: EventLog, watch: OrderWatch) -> None:
    """Against the source, against the log of what was committed there, and against what was seen on the way."""
    committed, uncertain = log.committed(), log.uncertain()
    wait_until(lambda: received(stage) >= committed, seconds=PATIENCE_SECONDS, what=f"receiving {committed} events")
    wait_until(lambda: stage.status()["targets"][0]["queued"] == 0, seconds=PATIENCE_SECONDS, what="applying all")
    assert_converges(stage, seconds=120.0)
    assert_nothing_missing(stage)
    possible = committed + uncertain + log.retold(stage.source.log_file)
    assert received(stage) <= possible, "events that nobody committed, or the same ones twice"
    assert watch.broken == [], "the order was broken"
    assert watch.seen > SECONDS, f"only {watch.seen} versions were seen on the way: that shows nothing"
    expected, unsure = log.expected()
    with closing(Metastore(stage.target.uri)) as target:
        found = versions(target, DATABASES)
    wrong = {key: (expected.get(key), found.get(key)) for key in (expected.keys() | found.keys()) - unsure}
    assert {key: pair for key, pair in wrong.items() if pair[0] != pair[1]} == {}, (
        "the last version is not the target's"
    )


@pytest.mark.timeout(1800)
def test_eight_clients_against_kills_and_stops(tmp_path: Path) -> None:
    chance, log, disasters = random.Random(8), EventLog(), []
    with Stage(tmp_path, database="disk", options=NO_BRAKE) as stage:
        stage.target.start()
        stage.source.start()
        start(stage)
        wait_until_compared(stage)
        clients = [LoggedClient(stage.source.uri, name, at, log, 0.02) for at, name in enumerate(DATABASES)]
        watch = OrderWatch(stage.target.uri, DATABASES)
        for thread in (*clients, watch):
            thread.start()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            disasters.append(disturb(stage, chance))
        for client in clients:
            client.stop()
        check(stage, log, watch)
        watch.stop()
        assert watch.broken == [], "the order was broken"
        done = [client.done for client in clients]
        print(f"{log.committed()} events, {watch.seen} versions seen at the target, {disasters}")  # noqa: T201
    assert min(done) > SECONDS / 6, done
    assert "sidecar killed" in disasters
