"""Describe: an operation in one line."""

from __future__ import annotations

import pytest

from pysync.model import operation as op
from pysync.model.describe import describe
from pysync.model.event import Kind
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import partitions
from tests.support import partition, table
from tests.support.events import database, one_of_each_kind

T = TableName.of("shop", "items")
MARK = Mark("onprem", 1, 1)
TABLE = table("shop", "items", partition_keys=[("day", "string")])
PARTS = [partition(TABLE, [str(day)]) for day in range(12)]
FUNCTION = one_of_each_kind()[Kind.CREATE_FUNCTION]["after"][0]
KEY = one_of_each_kind()[Kind.ADD_PRIMARYKEY]["after"]


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        (op.PutDatabase, {"database": "shop", "definition": database("shop")}, "put database shop"),
        (op.DropDatabase, {"database": "shop"}, "drop database shop with its tables"),
        (op.PutFunction, {"database": "shop", "definition": FUNCTION}, "put function shop.f"),
        (op.DropFunction, {"database": "shop", "function": "f"}, "drop function shop.f"),
        (op.PutTable, {"table": T, "definition": TABLE}, "put table shop.items (1 column)"),
        (
            op.PutTable,
            {"table": T, "definition": TABLE, "cascade": True},
            "put table shop.items (1 column, also in its partitions)",
        ),
        (op.RenameTable, {"table": T, "definition": table("shop", "goods")}, "rename table shop.items to shop.goods"),
        (op.DropTable, {"table": T, "deleted_locations": ("hdfs://a/t",)}, "drop table shop.items with the files"),
        (
            op.PutPartitions,
            {"table": T, "definition": TABLE, "partitions": PARTS},
            "put 12 partitions of shop.items",
        ),
        (op.DropPartitions, {"table": T, "keys": ["day"], "values": [["1"]]}, "drop 1 partition of shop.items"),
        (op.PutConstraint, {"table": T, "columns": KEY}, "put a constraint of shop.items (1 column)"),
        (op.DropConstraint, {"table": T, "constraint": "pk"}, "drop constraint pk of shop.items"),
    ],
    ids=str,
)
def test_every_operation_in_one_line(kind, fields, text):
    operation = kind(mark=MARK, **fields)
    assert describe(operation) == text
    assert partitions(operation) == {op.PutPartitions: 12, op.DropPartitions: 1}.get(kind, 0)


def test_a_target_without_cascade_drops_only_an_empty_database():
    drop = op.DropDatabase(mark=MARK, database="shop")
    assert describe(drop, cascade=False) == "drop database shop if it has no tables"
    assert describe(op.DropTable(mark=MARK, table=T), cascade=False) == "drop table shop.items"
