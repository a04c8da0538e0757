"""`pysync load` of a dump that is older than what a target has: refused, with what it would undo."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.sidecars import assert_one_line, pysync
from tests.support.stages import NO_BRAKE, wait_until_compared

BEFORE, SINCE = 12, 36


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path, options=NO_BRAKE) as made:
        made.target.start()
        made.source.start()
        yield made


def elsewhere(stage: Stage, directory: Path) -> Path:
    """The same configuration with a queue of its own: of one who knows nothing of the sidecar."""
    file = directory / "elsewhere.toml"
    text = stage.config_file.read_text().replace(f"{stage.directory}/queue", f"{stage.directory}/other")
    file.write_text(text)
    return file


@pytest.mark.crash
def test_an_older_dump_does_not_undo_what_a_listener_has_replayed(stage: Stage, tmp_path: Path) -> None:
    """Before: both loads dropped 36 of 48 tables, without a question."""
    dump = tmp_path / "dump"
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        name = new_database(source, "guard")

        def make(first: int, count: int) -> None:
            for number in range(first, first + count):
                source.call(lambda client, it=number: client.create_table(table(name, f"t{it:02}")))

        make(0, BEFORE)
        stage.start_sidecar()
        wait_until_compared(stage)
        assert pysync("dump", "-c", stage.config_file, dump).returncode == 0
        make(BEFORE, SINCE)
        wait_until(lambda: len(target.tables(name)) == BEFORE + SINCE, seconds=60, what="what came since")
        stage._end_sidecar(signal.SIGTERM)

        for file in (stage.config_file, elsewhere(stage, tmp_path)):
            refused = pysync("load", "-c", file, dump)
            words = ("older than the state of target replica", f"would drop {SINCE}", f"{name}.t{BEFORE}", "--force")
            assert_one_line(refused, 1, *words)
            assert len(target.tables(name)) == BEFORE + SINCE

        later = tmp_path / "later"
        assert pysync("dump", "-c", stage.config_file, later).returncode == 0
        for file in (stage.config_file, elsewhere(stage, tmp_path)):
            for _ in range(2):  # a second time, too: what a load has written is no newer than its dump
                done = pysync("load", "-c", file, later)
                assert done.returncode == 0, done.stderr
        assert len(target.tables(name)) == BEFORE + SINCE
        forced = pysync("load", "-c", stage.config_file, dump, "--force")
        assert (forced.returncode, len(target.tables(name))) == (0, BEFORE), forced.stderr
