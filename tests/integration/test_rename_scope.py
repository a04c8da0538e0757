"""Tables renamed into and out of what a target takes, on real servers."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_until


def move(source: Metastore, old: tuple[str, str], new: tuple[str, str]) -> None:
    """Rename a table, into another database if need be."""
    moved: Any = source.table(*old)
    moved.dbName, moved.tableName = new
    source.call(lambda client: client.alter_table(*old, moved))


@pytest.mark.crash
def test_a_table_renamed_into_the_scope_comes_whole_and_one_renamed_out_of_it_goes(tmp_path: Path) -> None:
    with Stage(tmp_path, options='include = ["in_*"]\nout_of_scope = "drop"\n') as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            outside, inside = new_database(source, "out"), new_database(source, "in")
            source.call(lambda c: c.create_table(table(outside, "t", partition_keys=[("day", "string")])))
            for day in ("1", "2"):
                source.call(lambda c, day=day: c.add_partition(partition(source.table(outside, "t"), [day])))

            move(source, (outside, "t"), (inside, "t"))
            wait_until(lambda: target.tables(inside) == ["t"], what="the table's arrival")
            assert target.database(outside) is None
            wait_until(lambda: target.partition_names(inside, "t") == ["day=1", "day=2"], what="its partitions'")

            source.call(lambda c: c.add_partition(partition(source.table(inside, "t"), ["3"])))
            move(source, (inside, "t"), (inside, "u"))
            wait_until(lambda: target.tables(inside) == ["u"], what="the rename within the scope")
            assert target.partition_names(inside, "u") == ["day=1", "day=2", "day=3"]

            move(source, (inside, "u"), (outside, "u"))
            wait_until(lambda: target.tables(inside) == [], what="the drop of what left the scope")
        assert stage.status()["targets"][0]["parked"] == 0
