"""Metastores that keep their database on PostgreSQL: the body of DDL of test_pairs.py, with it at both ends.

Left out, with a word, where there is no PostgreSQL (Debian: postgresql).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support.restores import assert_follows_a_restore, saying_goodbye
from tests.versions.body import Body, version_of
from tests.versions.conftest import Report, Row
from tests.versions.postgres.cluster import Cluster, lacking, postgres
from tests.versions.releases import RELEASES, NotBrought
from tests.versions.server import metastore_of
from tests.versions.test_pairs import assert_at_rest, judged, need, settle

HIVE = "3.1.3"


@pytest.fixture(scope="module")
def cluster(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    missing = lacking()
    if missing:
        report.missing[f"{HIVE} on PostgreSQL"] = missing
        pytest.skip(missing)
    need(report, HIVE)
    try:
        with postgres(RELEASES[HIVE], tmp_path_factory.mktemp("postgres") / "schema") as found:
            yield found
    except NotBrought as error:
        report.missing[f"{HIVE} on PostgreSQL"] = str(error)
        pytest.skip(str(error))


def on(cluster: Cluster, database: str) -> Callable[..., EmbeddedMetastore]:
    """What makes metastores whose database is in the cluster."""
    settings = cluster.database(database)

    def make(
        directory: Path, *, overrides: Mapping[str, str] | None = None, jars: Sequence[Path] = (), **more: Any
    ) -> EmbeddedMetastore:
        with_driver = [*jars, cluster.driver]
        return metastore_of(HIVE)(directory, overrides={**settings, **(overrides or {})}, jars=with_driver, **more)

    return make


@pytest.mark.timeout(600)
def test_source_and_target_on_postgres_end_equal_and_come_to_rest(
    cluster: Cluster, tmp_path: Path, report: Report
) -> None:
    began = time.monotonic()
    with Stage(tmp_path, source=on(cluster, "source"), target=on(cluster, "target")) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as metastore:
            body = Body(metastore, version_of(HIVE), f"file:{tmp_path}/data")
            body.run()
            settle(stage)
            found = judged(stage, HIVE, HIVE)
            status = stage.status()["targets"][0]
            seconds = round(time.monotonic() - began, 1)
            row = (body.statements, found.objects, found.parts, found.known, len(found.unknown), seconds)
            report.rows.append(Row(f"{HIVE} on PostgreSQL", *row))
            assert not found.unknown, found.unknown
            assert status["parked"] == 0, status
            assert_at_rest(stage, body)
        there = cluster.run('SELECT count(*) FROM "TBLS"', "target")
        assert there == cluster.run('SELECT count(*) FROM "TBLS"', "source")
        assert int(there) > 20, "it is really there that they are kept"


@pytest.mark.timeout(600)
def test_the_target_becomes_equal_to_a_source_that_was_restored(cluster: Cluster, tmp_path: Path) -> None:
    def copied(database: str, copy: str) -> None:
        cluster.run(f'CREATE DATABASE "{copy}" TEMPLATE "{database}"')

    def restore() -> None:
        cluster.run('DROP DATABASE "older"')
        copied("backup", "older")

    source, target = saying_goodbye(on(cluster, "older")), on(cluster, "replica")
    with Stage(tmp_path, source=source, target=target) as stage:
        assert_follows_a_restore(stage, lambda: copied("older", "backup"), restore, sidecar_runs=True)
