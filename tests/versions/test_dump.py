"""`pysync dump --from` on Hive's own notification log, and everything that Hive 3.1 knows there and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysync.metastore.client import Metastore
from tests.support import partition
from tests.support.dumps import Ends, create
from tests.versions.body import Body
from tests.versions.conftest import Report
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need

SINCE = 120
"""Notifications between the two dumps: more than are looked at again."""


@pytest.mark.timeout(600)
def test_dumps_of_everything_and_of_what_was_touched(tmp_path: Path, report: Report) -> None:
    need(report, "3.1.3")
    made = metastore_of("3.1.3", notification_log=True)
    with made(tmp_path / "source", name="source") as source, made(tmp_path / "target", name="target") as target:
        ends = Ends(tmp_path, source, target)
        with Metastore(source.uri) as metastore, Metastore(target.uri) as there:
            body = Body(metastore, (3, 1), f"file:{tmp_path}/data")
            for part in (body.databases, body.tables, body.skewed, body.partitions, body.odd_partitions, body.alters):
                part()
            for part in (body.renames, body.views, body.functions, body.keys, body.newer_constraints):
                part()
            create(metastore, "default", "busy", 1)
            for number in range(SINCE):
                metastore.call(lambda client, it=number: client.add_partition(_part(metastore, str(1000 + it))))
            first = ends.dump(tmp_path / "one")
            assert first["counts"]["constraints"] == _constraints(metastore) > 3
            ends.load(tmp_path / "one")
            assert ends.unequal() == []

            for number in range(SINCE):
                metastore.call(lambda client, it=number: client.add_partition(_part(metastore, str(2000 + it))))
            create(metastore, "default", "late", 2)
            metastore.call(lambda client: client.drop_partition("default", "busy", ["2000"], False))
            second = ends.dump(tmp_path / "two", "--from", first["last_id"])
            assert (second["counts"]["tables"], second["counts"]["partitions"]) == (2, 2 * SINCE + 2)
            assert second["last_id"] > first["last_id"] + SINCE
            ends.load(tmp_path / "two")
            assert ends.unequal() == []

            metastore.call(lambda client: client.drop_table("default", "late", False))
            ends.dump(tmp_path / "three", "--from", second["last_id"])
            ends.load(tmp_path / "three")
            assert "late" not in there.tables("default")
            assert ends.unequal() == []
            refused = ends.pysync("load", "-c", ends.there, tmp_path / "one")
            assert refused.returncode == 1
            assert f"it ends at notification {first['last_id']}, not " in refused.stderr


def _part(metastore: Metastore, day: str) -> object:
    return partition(metastore.table("default", "busy"), [day])


def _constraints(metastore: Metastore) -> int:
    names = [(database, name) for database in metastore.databases() for name in metastore.tables(database)]
    found = [metastore.constraints(metastore.table(*name)) for name in names]
    return sum(len(columns) for kinds in found for columns in kinds.values())
