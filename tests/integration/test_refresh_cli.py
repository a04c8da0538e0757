"""`pysync refresh` between two real metastores: it ends, whatever is parked, and knows what it is asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.sidecars import assert_one_line, pysync_here
from tests.support.stages import wait_until_compared

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("refresh"), options="parked_retry_seconds = 0\n") as found:
        found.target.start()
        found.source.start()
        found.start_sidecar()
        wait_until_compared(found)
        yield found


@pytest.fixture
def database(stage: Stage) -> str:
    """A database at both ends."""
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        name = new_database(source)
        wait_until(lambda: target.database(name) is not None, what="the database's arrival")
    return name


def create(uri: str, *names: str) -> None:
    with closing(Metastore(uri)) as metastore:
        for name in names:
            made = table(*name.split("."))
            metastore.call(lambda client, made=made: client.create_table(made))


def test_a_table_that_nobody_has(stage: Stage, database: str) -> None:
    for more in ([], ["--wait"]):
        done = pysync_here("refresh", f"{database}.nope", "-c", stage.config_file, *more)
        assert_one_line(done, 2, f"table {database}.nope exists neither at the source nor at a target")
    assert pysync_here("refresh", "no_such_database.nope", "-c", stage.config_file).returncode == 2
    create(stage.source.uri, f"{database}.orders")
    misspelt = pysync_here("refresh", f"{database}.ordesr", "-c", stage.config_file)
    assert_one_line(misspelt, 2, f"did you mean {database}.orders?")


def test_a_table_that_only_a_target_has(stage: Stage, database: str) -> None:
    create(stage.target.uri, f"{database}.theirs")
    done = pysync_here("refresh", f"{database}.theirs", "--wait", "-c", stage.config_file)
    assert (done.returncode, done.stderr) == (0, "")


def resyncs(stage: Stage) -> int:
    return stage.sidecar_log.read_text().count("resync_queued")


@pytest.mark.crash
def test_waiting_ends_while_something_is_parked(stage: Stage, database: str) -> None:
    create(stage.target.uri, f"{database}.bad")
    create(stage.source.uri, f"{database}.bad", f"{database}.good")
    wait_until(lambda: stage.status()["targets"][0]["parked"] == 1, what="the parked event")
    for names in ([f"{database}.good"], []):
        done = pysync_here("refresh", *names, "--wait", "-c", stage.config_file)
        text = f"'replica' has parked events of {database}.bad"
        assert_one_line(done, 1, text, "pysync parked list replica")
    compared = resyncs(stage)
    time.sleep(3)
    assert resyncs(stage) == compared, "two gaps had everything compared again and again"
    with closing(Metastore(stage.target.uri)) as target:
        target.call(lambda client: client.drop_table(database, "bad", False))
    assert pysync_here("parked", "retry", "replica", "-c", stage.config_file).returncode == 0
    assert pysync_here("refresh", f"{database}.good", "--wait", "-c", stage.config_file).returncode == 0


def test_waiting_ends_while_the_target_is_paused(stage: Stage, database: str) -> None:
    create(stage.source.uri, f"{database}.t")
    assert pysync_here("pause", "replica", "--reason", "by a test", "-c", stage.config_file).returncode == 0
    try:
        done = pysync_here("refresh", f"{database}.t", "--wait", "-c", stage.config_file)
        assert_one_line(done, 1, "'replica' is paused: by a test", "pysync resume replica")
    finally:
        assert pysync_here("resume", "replica", "-c", stage.config_file).returncode == 0
