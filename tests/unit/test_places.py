"""Which locations are below others, however they are spelled."""

from __future__ import annotations

import pytest

from pysync.model.locations import is_below, shared_at


@pytest.mark.parametrize(
    ("location", "prefix", "found"),
    [
        ("hdfs://adh2/warehouse/t", "hdfs://adh2", True),
        ("hdfs://adh2/warehouse/t", "hdfs://adh2/warehouse/", True),
        ("hdfs://ADH2//warehouse/./t/", "hdfs://adh2/warehouse", True),
        ("hdfs://adh2/warehouses/t", "hdfs://adh2/warehouse", False),
        ("hdfs://adh20/warehouse/t", "hdfs://adh2", False),
        ("s3a://adh2/warehouse/t", "hdfs://adh2", False),
        ("file:///there/t", "file:/there", True),
        ("file:/there/t", "file:///there", True),
        ("file:/root/.ssh", "file:/there", False),
        ("file:/there/../root/.ssh", "file:/there", False),
        ("file:/there/link/../t", "file:/there", False),
        ("/there/t", "/", True),
        ("/there/t", "file:/", False),
        ("", "hdfs://adh2", False),
        ("file:/there/a\nb", "file:/there", True),
    ],
)
def test_below_a_prefix(location: str, prefix: str, found: bool) -> None:
    assert is_below(location, prefix) is found


@pytest.mark.parametrize("location", ["file:/there/d.db", "file:///there//d.db/", "file:/there/d.db/t/..", "file:/"])
def test_a_directory_that_many_tables_share_is_found_however_it_is_spelled(location: str) -> None:
    assert shared_at(location, ["hdfs://a/there", "file:/there/d.db"]) == "file:/there/d.db"
    assert shared_at("file:/there/d.db/t", ["file:/there/d.db"]) is None
