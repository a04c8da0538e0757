"""Transactional tables with a real Spark: the rows of a snapshot, out of files as Hive writes them.

`make test SUITE=acid` has Hive write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pysync.copy.copy_round import Copied
from pysync.copy.workers import SparkWorkers
from pysync.model.locations import Form
from pysync.model.snapshot import Snapshot, Transactions
from pysync.targets.base import Rejected, Unavailable
from tests.support.reencoding import Place, spark_workers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

COLUMNS = (("id", "int"), ("bucket", "string"))  # a name that files of writes have, too
INSERT, UPDATE, DELETE = 0, 1, 2
SCHEMA = (
    "operation int, originalTransaction bigint, bucket int, rowId bigint, currentTransaction bigint, "
    "row struct<id:int,bucket:string>"
)
BUCKET = 1 << 29
Key = tuple[int, int]
"""Which write a row came with, and its place in the file."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkWorkers]:
    with spark_workers(tmp_path_factory.mktemp("spark")) as workers:
        yield workers


class Table(Place):
    """The directory of a table, and writes to it."""

    def insert(self, write: int, *ids: int, directory: str = "") -> None:
        rows = [(INSERT, write, BUCKET, at, write, (it, f"s{it}")) for at, it in enumerate(ids)]
        self.write(directory or f"delta_{write:07}_{write:07}_0000", "bucket_00000", rows, SCHEMA)

    def delete(self, write: int, *keys: Key) -> None:
        rows = [(DELETE, of, BUCKET, at, write, None) for of, at in keys]
        self.write(f"delete_delta_{write:07}_{write:07}_0000", "bucket_00000", rows, SCHEMA)

    def write(self, directory: str, name: str, rows: Sequence[Any], schema: str) -> None:
        """One file of these rows; Hadoop's own names and the marker of success go."""
        place = self.here / directory
        made = self.here.parent / "made"
        frame = self.workers.host.session().createDataFrame(list(rows), schema)
        frame.coalesce(1).write.mode("overwrite").orc(f"file:{made}")
        place.mkdir(exist_ok=True)
        next(made.glob("part-*")).rename(place / name)

    def data(self) -> list[str]:
        """The files with rows at the target."""
        return [it for it in self.names() if it.startswith("part-")]

    def arrives(self, snapshot: Snapshot) -> Copied:
        form = Form("orc", "parquet", COLUMNS, transactional="full", snapshot=snapshot)
        return self.anew(form)


@pytest.fixture
def table(spark: SparkWorkers, tmp_path: Path) -> Iterator[Table]:
    made = Table(spark, tmp_path)
    yield made
    made.copier.close()


def snapshot(highest: int, **values: Any) -> Snapshot:
    return Snapshot(highest, Transactions(100), **values)


def test_only_committed_rows_arrive_that_nobody_has_deleted(table: Table) -> None:
    table.insert(1, 10, 11, 12)
    table.insert(2, 20)
    table.delete(3, (1, 1))
    table.insert(4, 40)
    table.delete(5, (1, 0))
    table.arrives(snapshot(5, open=(5,), aborted=(2,)))
    assert table.rows() == [(10, "s10"), (12, "s12"), (40, "s40")]
    table.arrives(snapshot(5, aborted=(2,)))
    assert table.rows() == [(12, "s12"), (40, "s40")]


def test_a_write_elsewhere_changes_no_file(table: Table) -> None:
    table.insert(1, 10)
    table.arrives(snapshot(1))
    before = table.names()
    assert table.arrives(snapshot(7, open=(5,))).same == 1
    assert table.names() == before


def test_new_rows_come_beside_those_that_are_there(table: Table) -> None:
    table.insert(1, 10, 11)
    table.delete(2, (1, 0))
    table.insert(4, 40)
    table.arrives(snapshot(4, open=(3,)))
    (first,) = table.data()
    table.insert(3, 30)
    table.insert(5, 50)
    assert table.arrives(snapshot(5)).files == 1
    assert (first in table.data(), len(table.data())) == (True, 2)
    assert [row[0] for row in table.rows()] == [11, 30, 40, 50]
    assert table.arrives(snapshot(5)).same == 2


def test_a_compaction_brings_nothing_and_hides_nothing(table: Table) -> None:
    table.insert(1, 10)
    table.insert(2, 20)
    table.arrives(snapshot(2))
    before = table.data()
    rows = [(INSERT, it, BUCKET, 0, it, (it * 10, f"s{it * 10}")) for it in (1, 2, 3)]
    table.write("delta_0000001_0000002", "bucket_00000", rows[:2], SCHEMA)
    table.arrives(snapshot(2))
    assert table.data() == before
    table.write("delta_0000001_0000003", "bucket_00000", rows, SCHEMA)
    table.arrives(snapshot(3))
    assert len(table.data()) == 2
    assert [row[0] for row in table.rows()] == [10, 20, 30]


def test_what_a_killed_run_has_added_has_the_rows_written_anew(table: Table) -> None:
    table.insert(1, 10)
    table.arrives(snapshot(1))
    table.insert(2, 20)
    table.arrives(snapshot(2))
    (marker,) = (it for it in table.names() if it not in table.data())
    (table.there / marker).unlink()
    table.insert(3, 30)
    table.arrives(snapshot(3))
    assert [row[0] for row in table.rows()] == [10, 20, 30]
    assert len(table.data()) == 1


def test_many_increments_become_one_file(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysync.copy.reencoding_job._MOST_SMALL_FILES", 2)
    for write in range(1, 4):
        table.insert(write, write * 10)
        table.arrives(snapshot(write))
    assert [row[0] for row in table.rows()] == [10, 20, 30]
    assert len(table.data()) == 1


def test_rows_from_before_have_keys_by_their_places(table: Table) -> None:
    for name, ids in (("000000_0", (1, 2)), ("000000_0_copy_1", (3, 4)), ("000001_0", (5,))):
        table.write("", name, [(it, f"s{it}") for it in ids], "id int, bucket string")
    table.delete(1, (0, 1), (0, 2))
    table.arrives(snapshot(1))
    assert [row[0] for row in table.rows()] == [1, 4, 5]


def test_a_base_hides_what_came_before_it(table: Table) -> None:
    table.insert(1, 10)
    table.insert(2, 20, directory="base_0000002")
    table.insert(3, 30)
    table.arrives(snapshot(3))
    assert [row[0] for row in table.rows()] == [20, 30]


def test_a_base_that_is_newer_than_the_snapshot_has_the_table_read_again(table: Table) -> None:
    table.insert(4, 40, directory="base_0000004")
    with pytest.raises(Unavailable, match="is too old"):
        table.arrives(snapshot(3))
    assert table.names() == []


def test_an_update_of_hive_2_is_refused(table: Table) -> None:
    rows = [(UPDATE, 1, BUCKET, 0, 1, (10, "new"))]
    table.write("delta_0000001_0000001_0000", "bucket_00000", rows, SCHEMA)
    with pytest.raises(Rejected, match="format of Hive 2"):
        table.arrives(snapshot(1))


def test_a_file_with_another_name_is_refused(table: Table) -> None:
    table.write("", "part-0.orc", [(1, "x")], "id int, bucket string")
    with pytest.raises(Rejected, match="no such name"):
        table.arrives(snapshot(1))


def test_what_is_left_of_a_truncated_table_is_nothing(table: Table) -> None:
    table.insert(1, 10)
    table.arrives(snapshot(1))
    (table.here / "base_0000002").mkdir()
    (table.here / "base_0000002/_orc_acid_version").write_text("2")
    table.arrives(snapshot(2))
    assert table.rows() == []
