"""Source and target are restarted and killed during a stream of DDL: the target ends as the source."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pysync.lab.demo.stage import Stage
from tests.support.stages import NO_BRAKE, assert_converges, assert_nothing_missing, ddl_stream

pytestmark = pytest.mark.crash


def test_restarts_of_source_and_target_during_a_stream(tmp_path: Path) -> None:
    with Stage(tmp_path, database="disk", options=NO_BRAKE) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with ddl_stream(stage):
            time.sleep(2)
            stage.target.restart()
            time.sleep(1)
            stage.source.restart()
            time.sleep(2)
            stage.target.kill()
            time.sleep(1)
            stage.target.start()
            time.sleep(2)
        assert_converges(stage)
        assert_nothing_missing(stage)
        assert len(stage.status()["instances"]) == 2, "each start of the source is an instance of its own"


def test_a_source_killed_while_the_sidecar_is_away_brings_its_spool_along(tmp_path: Path) -> None:
    with Stage(tmp_path, database="disk", options=NO_BRAKE) as stage:
        stage.target.start()
        stage.source.start()
        with ddl_stream(stage, clients=2) as clients:
            while min(client.done for client in clients) < 40:
                time.sleep(0.1)
        stage.source.kill()
        stage.source.start()
        stage.start_sidecar()
        assert_converges(stage)
        assert_nothing_missing(stage)
