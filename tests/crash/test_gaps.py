"""What a listener could not tell, because its metastore was killed, is read at the source: no person has to help."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.spools import spooled
from tests.support.stages import NO_BRAKE, assert_converges, ddl_stream, soon_idle

pytestmark = pytest.mark.crash

SECONDS = 120.0


def gaps(stage: Stage) -> list[dict[str, Any]]:
    """Those that a listener left; there are others, such as that of a queue which has just begun."""
    return [gap for gap in stage.status()["gaps"] if "metastore" in gap["reason"]]


def assert_closed(stage: Stage) -> None:
    """Gaps were found, and all of them are closed."""

    def closed() -> bool:
        found = gaps(stage)
        return bool(found) and all(gap["state"] == "closed" for gap in found)

    wait_until(closed, seconds=SECONDS, what=f"the closing of the gaps {gaps(stage)}")


def forget_spool(stage: Stage) -> int:
    """What a disk loses: the events that the listener has kept; returns how many files there were."""
    files = spooled(stage.directory / "spool")
    for file in files:
        file.unlink()
    return len(files)


def test_a_source_killed_while_the_sidecar_is_down_and_its_spool_lost(tmp_path: Path) -> None:
    with Stage(tmp_path, database="disk", options=NO_BRAKE) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with ddl_stream(stage, clients=2) as clients:
            wait_until(lambda: min(client.done for client in clients) > 15, seconds=60, what="the stream")
            stage.kill_sidecar()
            before = min(client.done for client in clients)
            wait_until(lambda: min(client.done for client in clients) > before + 15, seconds=60, what="more of it")
        stage.source.kill()
        assert forget_spool(stage) > 0, "nothing was spooled"
        stage.source.start()
        stage.start_sidecar()
        assert_closed(stage)
        assert_converges(stage, SECONDS)
        assert stage.status()["targets"][0]["parked"] == 0


def test_a_source_killed_in_the_middle_of_a_stream_is_compared(tmp_path: Path) -> None:
    with Stage(tmp_path, database="disk", options=NO_BRAKE) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with ddl_stream(stage) as clients:
            wait_until(lambda: min(client.done for client in clients) > 15, seconds=60, what="the stream")
            stage.source.kill()
            stage.source.start()
            time.sleep(1)
        assert_closed(stage)
        assert_converges(stage, SECONDS)
        assert any("did not report a shutdown" in gap["reason"] for gap in gaps(stage)), gaps(stage)


def test_a_source_killed_before_it_could_tell_anything_while_no_sidecar_ran(tmp_path: Path) -> None:
    """No event, no spool, no report of it: only its marker is left."""
    with Stage(tmp_path, database="disk", source=soon_idle) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as source:
            name = new_database(source, "kept")
            source.call(lambda client: client.create_table(table(name, "first")))
        assert_converges(stage)
        stage.kill_sidecar()
        stage.source.stop()
        reported = contents(stage)
        assert len(reported) == 1, "its goodbye waits in the spool"
        stage.source.start()
        stage.source.kill()
        assert contents(stage) == reported
        change_untold(stage, name)
        stage.source.start()
        stage.start_sidecar()
        assert_closed(stage)
        assert_converges(stage, SECONDS)
        assert ["did not report a shutdown" in gap["reason"] for gap in gaps(stage)] == [True], gaps(stage)
        with Metastore(stage.target.uri) as target:
            assert target.tables(name) == ["first", "untold"]
        assert len(list((tmp_path / "spool").glob("*.alive"))) == 1, "that of the living alone"


def contents(stage: Stage) -> list[bytes]:
    """What the spool holds."""
    return [file.read_bytes() for file in spooled(stage.directory / "spool")]


def change_untold(stage: Stage, database: str) -> None:
    """A change that was committed while the killed metastore ran, by one that has no listener to tell of it."""
    with (
        EmbeddedMetastore(stage.source.directory, name="untold", database="disk") as silent,
        Metastore(silent.uri) as source,
    ):
        source.call(lambda client: client.create_table(table(database, "untold")))


def test_a_sidecar_killed_again_and_again_while_it_closes_a_gap(tmp_path: Path) -> None:
    with Stage(tmp_path, database="disk") as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as source:
            name = new_database(source, "kept")
            source.call(lambda client: client.create_table(table(name, "first")))
            assert_converges(stage)
            stage.kill_sidecar()
            for number in range(60):
                source.call(lambda client, n=number: client.create_table(table(name, f"t{n}")))
        stage.source.kill()
        assert forget_spool(stage) > 0, "nothing was spooled"
        stage.source.start()
        for _ in range(3):
            stage.start_sidecar()
            wait_until(lambda: bool(gaps(stage)), seconds=SECONDS, what="the gap")
            stage.kill_sidecar()
        stage.start_sidecar()
        assert_closed(stage)
        assert_converges(stage, SECONDS)
