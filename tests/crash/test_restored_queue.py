"""An older copy of the queue, or no queue at all: docs/operating.md says what to do, and that nothing is lost then."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore.ttypes import Database

from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import table, wait_until
from tests.support.stages import assert_converges, wait_until_compared

pytestmark = [pytest.mark.crash, pytest.mark.timeout(600)]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path) as made:
        made.target.start()
        made.source.start()
        made.start_sidecar()
        create(made, "first", in_new_database=True)
        wait_until_compared(made)
        assert_converges(made)
        yield made


def create(stage: Stage, name: str, *, in_new_database: bool = False) -> None:
    with Metastore(stage.source.uri) as hms:
        if in_new_database:
            hms.call(lambda client: client.create_database(Database(name="shop", parameters={})))
        hms.call(lambda client: client.create_table(table("shop", name)))


def alter(stage: Stage, name: str, **parameters: str) -> None:
    with Metastore(stage.source.uri) as hms:
        altered = hms.table("shop", name)
        altered.parameters |= parameters
        hms.call(lambda client: client.alter_table("shop", name, altered))


def drop(stage: Stage, name: str) -> None:
    with Metastore(stage.source.uri) as hms:
        hms.call(lambda client: client.drop_table("shop", name, False))


def tell(stage: Stage, command: str, **arguments: str) -> None:
    ask(stage.config.queue.directory, command, target="replica", **arguments)


def wait_for_queued(stage: Stage, number: int) -> None:
    wait_until(lambda: stage.status()["targets"][0]["queued"] == number, seconds=60, what=f"{number} queued events")


def tables(stage: Stage) -> list[str]:
    with Metastore(stage.target.uri) as hms:
        return sorted(hms.tables("shop"))


def files_of(queue: Path) -> list[Path]:
    """The files that the page names; after a kill there is a write-ahead log, too."""
    return [*queue.glob("queue.db*"), queue / "answered", queue / "epoch"]


def test_events_that_an_older_copy_of_the_queue_lacks_are_found(stage: Stage, tmp_path: Path) -> None:
    """They were acknowledged, so the listener does not have them either; its numbers show what is missing."""
    queue = stage.config.queue.directory
    tell(stage, "pause", reason="to keep events in the queue")
    create(stage, "second")
    wait_for_queued(stage, 1)
    stage._end_sidecar(signal.SIGTERM)
    copies = [Path(shutil.copy2(file, tmp_path)) for file in files_of(queue)]
    stage.start_sidecar()
    create(stage, "third")
    drop(stage, "first")
    wait_for_queued(stage, 3)
    stage.kill_sidecar()
    for file in files_of(queue):
        file.unlink()
    for file in copies:
        shutil.copy2(file, queue)
    stage.start_sidecar()
    assert (stage.status()["targets"][0]["queued"], tables(stage)) == (1, ["first"])
    tell(stage, "resume")

    def gap() -> list[str]:
        return [it["reason"] for it in stage.status()["gaps"] if "did not arrive" in it["reason"]]

    wait_until(lambda: bool(gap()), seconds=60, what="the gap")
    assert_converges(stage)
    assert tables(stage) == ["second", "third"]


def test_a_copy_that_is_put_back_while_the_target_is_ahead_makes_no_change_stale(stage: Stage, tmp_path: Path) -> None:
    """The positions that the copy gives out again are lower than those in the marks of the target."""
    queue = stage.config.queue.directory
    stage._end_sidecar(signal.SIGTERM)
    copies = [Path(shutil.copy2(file, tmp_path)) for file in files_of(queue)]
    stage.start_sidecar()
    for at in range(30):
        alter(stage, "first", comment=f"change {at}")
    create(stage, "second")
    assert_converges(stage)
    stage._end_sidecar(signal.SIGTERM)
    for file in files_of(queue):
        file.unlink()
    for file in copies:
        shutil.copy2(file, queue)
    stage.start_sidecar()
    alter(stage, "first", comment="the last change")
    drop(stage, "second")
    assert_converges(stage)
    assert tables(stage) == ["first"]
    with Metastore(stage.target.uri) as hms:
        assert hms.table("shop", "first").parameters["comment"] == "the last change"
    (target,) = stage.status()["targets"]
    assert (target["parked"], target["other_queue"]) == (0, None)


def test_a_new_queue_brings_the_targets_to_the_source(stage: Stage) -> None:
    """Also what was dropped while there was no sidecar; the spool is left where it is."""
    queue = stage.config.queue.directory
    tell(stage, "pause", reason="to keep events in the queue")
    create(stage, "second")
    wait_for_queued(stage, 1)
    stage.kill_sidecar()
    create(stage, "third")
    drop(stage, "first")
    (queue / "old").mkdir()
    for file in files_of(queue):
        file.rename(queue / "old" / file.name)
    stage.start_sidecar()
    assert stage.status()["targets"][0]["paused"] is None
    wait_until_compared(stage)
    assert_converges(stage)
    assert tables(stage) == ["second", "third"]
