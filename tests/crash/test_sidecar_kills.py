"""The sidecar is killed again and again while four clients change the source: nothing may be lost."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from pysync.lab.demo.stage import Stage
from tests.support.stages import NO_BRAKE, assert_converges, assert_nothing_missing, ddl_stream

KILLS = 20


@pytest.mark.crash
def test_twenty_kills_during_a_stream_of_ddl_lose_nothing(tmp_path: Path) -> None:
    chance = random.Random(20)
    with Stage(tmp_path, options=NO_BRAKE) as stage:
        stage.target.start()
        stage.source.start()
        with ddl_stream(stage) as clients:
            for _ in range(KILLS):
                stage.start_sidecar()
                time.sleep(chance.uniform(0.0, 1.2))
                stage.kill_sidecar()
                time.sleep(chance.uniform(0.0, 0.2))
        stage.start_sidecar()
        assert_converges(stage)
        assert_nothing_missing(stage)
        received = sum(item["received"] for item in stage.status()["instances"])
        assert received >= sum(client.done for client in clients) / 2, "the stream hardly reached the listener"
