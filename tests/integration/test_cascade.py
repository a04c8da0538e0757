"""`cascade = false` on real servers: a database with tables stays at the target until they are gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.sidecars import pysync


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("cascade"), options="cascade = false\n") as running:
        running.target.start()
        running.source.start()
        running.start_sidecar()
        yield running


@pytest.fixture
def source(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.source.uri)) as metastore:
        yield metastore


@pytest.fixture
def target(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.target.uri)) as metastore:
        yield metastore


def wait_for_parked(stage: Stage, number: int) -> None:
    def is_so() -> bool:
        found: dict[str, Any] = stage.status()["targets"][0]
        return (found["queued"], found["parked"]) == (0, number)

    wait_until(is_so, seconds=60, what=f"{number} parked events")


def filled(source: Metastore, target: Metastore, prefix: str) -> str:
    """A new database with two tables, at both ends."""
    name = new_database(source, prefix)
    for each in ("a", "b"):
        source.call(lambda c, each=each: c.create_table(table(name, each)))
    wait_until(lambda: sorted(target.tables(name)) == ["a", "b"], seconds=60, what="the arrival of the tables")
    return name


def test_a_drop_after_its_tables_is_applied(stage: Stage, source: Metastore, target: Metastore) -> None:
    name = filled(source, target, "step")
    for each in ("a", "b"):
        source.call(lambda c, each=each: c.drop_table(name, each, True))
    source.call(lambda c: c.drop_database(name, True, False))
    wait_until(lambda: target.database(name) is None, seconds=60, what="the drop")
    wait_for_parked(stage, 0)


def test_a_cascading_drop_is_parked_until_the_tables_are_gone(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    name = filled(source, target, "held")
    source.call(lambda c: c.drop_database(name, True, True))
    wait_for_parked(stage, 1)
    assert sorted(target.tables(name)) == ["a", "b"]
    shown = pysync("parked", "list", "replica", "-c", stage.config_file)
    assert (shown.returncode, f"{name}.*" in shown.stdout) == (0, True), shown
    for each in ("a", "b"):
        target.call(lambda c, each=each: c.drop_table(name, each, False))
    retried = pysync("parked", "retry", "replica", "-c", stage.config_file)
    assert retried.returncode == 0, retried
    wait_until(lambda: target.database(name) is None, seconds=60, what="the drop")
    wait_for_parked(stage, 0)
