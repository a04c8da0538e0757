"""Catalogs other than `hive`, on the servers that have them: nothing of one is ever written over its namesake.

A second catalog has the same database and table as the catalog `hive`, and gets all kinds of changes, named in each of
the ways that clients have: `@catalog#database`, and the field catName of an object.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TType

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import CAPABILITIES, Metastore
from pysync.model import idl
from pysync.model.definition import definition
from pysync.model.wire import decode, encode
from tests.support import partition, table
from tests.versions import raw
from tests.versions.body import Version, version_of
from tests.versions.conftest import Report
from tests.versions.raw import Items, Raw, texts
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need, settle

OTHER = "spark"
OURS = "@spark#db1"


class Second:
    """The second catalog of a metastore; each method is a statement or two in it, and yields how it is named."""

    def __init__(self, metastore: Metastore, version: Version, root: str) -> None:
        self._metastore, self._version, self._root = metastore, version, root

    def raw(self, name: str, item: Raw) -> None:
        sent = Raw({1: (TType.STRUCT, item)})
        self._metastore.call(lambda client: raw.call(client, name, sent))

    def do(self, statement: Any) -> Any:
        return self._metastore.call(statement)

    def statements(self, *, inserts: bool = True) -> Iterator[str]:
        """All of them, in this order; what comes is what has been done last."""
        yield from self._databases()
        yield from self._tables()
        yield from self._partitions()
        yield from self._functions()
        yield from self._constraints()
        if inserts:
            yield from self._inserts()
        yield from self._drops()

    def read(self) -> Any:
        """The table t of the second catalog."""
        request = Raw.of(hive.GetTableRequest("db1", "t", CAPABILITIES)).having(4, TType.STRING, OTHER)
        answer = self.do(lambda client: raw.call(client, "get_table_req", Raw({1: (TType.STRUCT, request)})))
        return decode(hive.Table, encode(answer.get(1)))

    def _databases(self) -> Iterator[str]:
        place = (TType.STRING, f"{self._root}/{OTHER}".encode())
        catalog = Raw({1: (TType.STRING, OTHER.encode()), 2: (TType.STRING, b"another"), 3: place})
        self.raw("create_catalog", Raw({1: (TType.STRUCT, catalog)}))
        yield "create_catalog"
        plain = hive.Database(
            name="db1", description="of spark", parameters={"of": OTHER}, ownerName="eve", ownerType=1
        )
        self.raw("create_database", Raw.of(plain).having(8, TType.STRING, OTHER))
        yield "create_database"
        there = self.do(lambda client: client.get_database(OURS))
        there.parameters, there.name = {"of": "spark still"}, "db1"
        self.do(lambda client: client.alter_database(OURS, there))
        yield "alter_database"

    def _tables(self) -> Iterator[str]:
        new = table("db1", "t", partition_keys=[("day", "date")], location=f"{self._root}/spark_t")
        new.sd.cols = [hive.FieldSchema("other", "string", "of spark")]
        self.raw("create_table", Raw.of(new).having(17, TType.STRING, OTHER))
        yield "create_table"
        there = self.read()
        there.parameters["of"] = OTHER
        self.do(lambda client: client.alter_table(OURS, "t", there))
        yield "alter_table"
        there = self.read()
        self.raw("create_table", Raw.of(table("db1", "gone")).having(17, TType.STRING, OTHER))
        self.do(lambda client: client.drop_table(OURS, "gone", False))
        yield "drop_table"

    def _partitions(self) -> Iterator[str]:
        of = self.read()
        of.dbName = "db1"
        new = tuple(Raw.of(partition(of, [day])).having(9, TType.STRING, OTHER) for day in ("2026-01-01", "2026-01-02"))
        request = Raw.of(hive.AddPartitionsRequest("db1", "t", [], True, False)).having(6, TType.STRING, OTHER)
        self.raw("add_partitions_req", request.having(3, TType.LIST, Items(TType.STRUCT, new)))
        yield "add_partitions_req"
        there = self.do(lambda client: client.get_partition(OURS, "t", ["2026-01-01"]))
        there.parameters["of"] = OTHER
        self.do(lambda client: client.alter_partition(OURS, "t", there))
        yield "alter_partition"
        self.do(lambda client: client.drop_partition(OURS, "t", ["2026-01-02"], False))
        yield "drop_partition"

    def _functions(self) -> Iterator[str]:
        new = hive.Function("f", "db1", "org.example.Spark", "eve", 1, 0, 1, [])
        self.raw("create_function", Raw.of(new).having(9, TType.STRING, OTHER))
        self.do(lambda client: client.drop_function(OURS, "f"))
        yield "functions"

    def _constraints(self) -> Iterator[str]:
        if self._version < (4, 0):  # Hive 3.1 answers with an internal error
            return
        place = {"catName": OTHER, "table_db": "db1", "table_name": "t", "column_name": "other"}
        column = idl.SQLNotNullConstraint(**place, nn_name="nn", enable_cstr=False, validate_cstr=False, rely_cstr=True)
        request = idl.constraint_request(idl.SQLNotNullConstraint, [column])
        self.do(lambda client: client.add_not_null_constraint(request))
        drop = Raw.of(hive.DropConstraintRequest("db1", "t", "nn")).having(4, TType.STRING, OTHER)
        self.raw("drop_constraint", drop)
        yield "constraints"

    def _inserts(self) -> Iterator[str]:
        data = Raw({1: (TType.BOOL, False), 2: (TType.LIST, texts(f"{self._root}/file"))})
        request = {
            1: (TType.BOOL, True),
            2: (TType.STRUCT, Raw({1: (TType.STRUCT, data)})),
            3: (TType.STRING, b"db1"),
            4: (TType.STRING, b"t"),
            5: (TType.LIST, texts("2026-01-01")),
            6: (TType.STRING, OTHER.encode()),
        }
        self.raw("fire_listener_event", Raw(request))
        yield "insert"

    def _drops(self) -> Iterator[str]:
        renamed = self.read()
        renamed.tableName = "renamed"
        self.do(lambda client: client.alter_table(OURS, "t", renamed))
        yield "rename"
        self.do(lambda client: client.drop_database(OURS, False, True))
        yield "drop_database"


def ours(metastore: Metastore) -> dict[str, Any]:
    """Everything of the database db1 of the catalog `hive`."""
    of, functions = metastore.table("db1", "t"), metastore.functions("db1")
    return {
        "databases": [name for name in metastore.databases() if not name.startswith("marker")],
        "database": definition(metastore.database("db1")),
        "tables": metastore.tables("db1"),
        "table": definition(of),
        "partitions": sorted(map(str, (definition(it) for it in metastore.partitions("db1", "t")))),
        "functions": [definition(function) for function in functions],
        "constraints": sorted(map(str, (it for columns in metastore.constraints(of).values() for it in columns))),
    }


def create_ours(metastore: Metastore, root: str) -> None:
    new = hive.Database(name="db1", description="of hive", parameters={"of": "hive"}, ownerName="ann", ownerType=1)
    metastore.call(lambda client: client.create_database(new))
    own = table("db1", "t", partition_keys=[("day", "date")], location=f"{root}/t")
    metastore.call(lambda client: client.create_table(own))
    of = metastore.table("db1", "t")
    request = hive.AddPartitionsRequest(
        "db1", "t", [partition(of, ["2026-01-01"]), partition(of, ["2026-01-02"])], True, False
    )
    metastore.call(lambda client: client.add_partitions_req(request))
    function = hive.Function("f", "db1", "org.example.Hive", "ann", 1, 0, 1, [])
    metastore.call(lambda client: client.create_function(function))
    place = {"catName": "hive", "table_db": "db1", "table_name": "t", "column_name": "id"}
    column = idl.SQLNotNullConstraint(**place, nn_name="nn", enable_cstr=False, validate_cstr=False, rely_cstr=True)
    request = idl.constraint_request(idl.SQLNotNullConstraint, [column])
    metastore.call(lambda client: client.add_not_null_constraint(request))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", ["3.1.3", "4.1.0"])
def test_nothing_of_another_catalog_reaches_its_namesake(version: str, tmp_path: Path, report: Report) -> None:
    need(report, version)
    with Stage(tmp_path, source=metastore_of(version), target=metastore_of(version)) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
            create_ours(source, f"file:{tmp_path}/data")
            settle(stage)
            before = ours(target)
            assert (before["tables"], len(before["partitions"]), len(before["constraints"])) == (["t"], 2, 1)
            second = Second(source, version_of(version), f"file:{tmp_path}/data")
            for statement in second.statements():
                settle(stage)
                assert ours(target) == before, statement
            status = stage.status()["targets"][0]
            assert (status["parked"], status["counts"].get("drift", 0)) == (0, 0), status
            assert ours(source)["table"]["parameters"] == before["table"]["parameters"], "it was not at the source, too"
