"""Damage to the queue of a real sidecar: a definition in which a bit has flipped, a log that SQLite rolls back."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.queue import EventQueue
from tests.support import table, wait_until
from tests.support.sidecars import pysync
from tests.support.stages import assert_converges

pytestmark = pytest.mark.crash

_SECONDS = 120.0


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        create(stage, "before")
        assert_converges(stage, _SECONDS)
        yield stage


def create(stage: Stage, *names: str) -> None:
    with closing(Metastore(stage.source.uri)) as source:
        for name in names:
            made = table("default", name)
            made.parameters["comment"] = "precious"
            source.call(lambda client, made=made: client.create_table(made))


def damage(stage: Stage, how: Callable[[Path], None]) -> None:
    """Three tables are in the queue, and nowhere else, when the sidecar is killed."""
    assert pysync("pause", "replica", "-c", stage.config_file).returncode == 0
    create(stage, "one", "two", "three")
    wait_until(lambda: stage.status()["targets"][0]["queued"] == 3, seconds=_SECONDS)
    stage._end_sidecar(signal.SIGKILL)
    how(stage.config.queue.directory)
    stage.start_sidecar()
    pysync("resume", "replica", "-c", stage.config_file)


def flip(directory: Path) -> None:
    """A bit in every definition: `precious` is spelled otherwise, and still they are definitions."""
    for file in directory.glob("queue.db*"):
        data = file.read_bytes()
        file.write_bytes(data.replace(b"precious", b"pretious"))


def checkpoint_and_flip(directory: Path) -> None:
    """SQLite's own checksums guard its log: in the file itself there are none."""
    EventQueue(directory, min_free_bytes=0).close()
    flip(directory)


def reasons(stage: Stage) -> list[str]:
    return [gap["reason"] for gap in stage.status()["gaps"]]


def test_a_definition_in_which_a_bit_has_flipped_never_gets_to_a_target(stage: Stage) -> None:
    damage(stage, checkpoint_and_flip)
    wait_until(lambda: any("was damaged" in it for it in reasons(stage)), seconds=_SECONDS, what="the gap")
    assert_converges(stage, _SECONDS)
    with closing(Metastore(stage.target.uri)) as target:
        assert {target.table("default", it).parameters["comment"] for it in ("one", "two", "three")} == {"precious"}


@pytest.mark.parametrize("how", ["damaged", "gone"])
def test_what_was_answered_and_is_lost_with_the_log_is_made_good(stage: Stage, how: str) -> None:
    def harm(directory: Path) -> None:
        log = directory / "queue.db-wal"
        if how == "gone":
            log.unlink()
        else:
            flip(directory)

    damage(stage, harm)
    wait_until(
        lambda: any("the queue has confirmed events up to" in it for it in reasons(stage)),
        seconds=_SECONDS,
        what="the gap",
    )
    assert_converges(stage, _SECONDS)
