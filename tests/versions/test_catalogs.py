"""Catalogs other than `hive`, on the servers that have them: taken where the settings name them, and else never.

Nothing of one is ever written over its namesake. Another catalog has the same database and table as the catalog `hive`,
and gets all kinds of changes, named in each of the ways that clients have: `@catalog#database`, and the field catName
of an object.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TType

from pysync.control.client import ask
from pysync.lab.demo.lake import Lake
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import CAPABILITIES, Metastore
from pysync.model import idl
from pysync.model.definition import definition
from pysync.model.wire import decode, encode
from tests.support import partition, table, wait_until
from tests.versions import raw
from tests.versions.body import Version, version_of
from tests.versions.conftest import Report
from tests.versions.raw import Items, Raw, texts
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need, settle


class Other:
    """Another catalog of a metastore; each method is a statement or two in it, and yields how it is named."""

    def __init__(self, metastore: Metastore, version: Version, root: str, catalog: str = "spark") -> None:
        self._metastore, self._version, self._root, self.catalog = metastore, version, root, catalog
        self.db1 = f"@{catalog}#db1"

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
        """The table t of the catalog, by the names of Hive's own clients."""
        request = Raw.of(hive.GetTableRequest("db1", "t", CAPABILITIES)).having(4, TType.STRING, self.catalog)
        answer = self.do(lambda client: raw.call(client, "get_table_req", Raw({1: (TType.STRUCT, request)})))
        return decode(hive.Table, encode(answer.get(1)))

    def _databases(self) -> Iterator[str]:
        place = (TType.STRING, f"{self._root}/{self.catalog}".encode())
        catalog = Raw({1: (TType.STRING, self.catalog.encode()), 2: (TType.STRING, b"another"), 3: place})
        self.raw("create_catalog", Raw({1: (TType.STRUCT, catalog)}))
        yield "create_catalog"
        plain = hive.Database(
            name="db1", description="of spark", parameters={"of": self.catalog}, ownerName="eve", ownerType=1
        )
        self.raw("create_database", Raw.of(plain).having(8, TType.STRING, self.catalog))
        yield "create_database"
        there = self.do(lambda client: client.get_database(self.db1))
        there.parameters, there.name = {"of": "spark still"}, "db1"
        self.do(lambda client: client.alter_database(self.db1, there))
        yield "alter_database"

    def _tables(self) -> Iterator[str]:
        new = table("db1", "t", partition_keys=[("day", "date")], location=f"{self._root}/{self.catalog}_t")
        new.sd.cols = [hive.FieldSchema("other", "string", "of spark")]
        self.raw("create_table", Raw.of(new).having(17, TType.STRING, self.catalog))
        yield "create_table"
        there = self.read()
        there.parameters["of"] = self.catalog
        self.do(lambda client: client.alter_table(self.db1, "t", there))
        yield "alter_table"
        there = self.read()
        self.raw("create_table", Raw.of(table("db1", "gone")).having(17, TType.STRING, self.catalog))
        self.do(lambda client: client.drop_table(self.db1, "gone", False))
        yield "drop_table"

    def _partitions(self) -> Iterator[str]:
        of = self.read()
        of.dbName = "db1"
        days = ("2026-01-01", "2026-01-02")
        new = tuple(Raw.of(partition(of, [day])).having(9, TType.STRING, self.catalog) for day in days)
        request = Raw.of(hive.AddPartitionsRequest("db1", "t", [], True, False)).having(6, TType.STRING, self.catalog)
        self.raw("add_partitions_req", request.having(3, TType.LIST, Items(TType.STRUCT, new)))
        yield "add_partitions_req"
        there = self.do(lambda client: client.get_partition(self.db1, "t", ["2026-01-01"]))
        there.parameters["of"] = self.catalog
        self.do(lambda client: client.alter_partition(self.db1, "t", there))
        yield "alter_partition"
        self.do(lambda client: client.drop_partition(self.db1, "t", ["2026-01-02"], False))
        yield "drop_partition"

    def _functions(self) -> Iterator[str]:
        new = hive.Function("f", "db1", "org.example.Spark", "eve", 1, 0, 1, [])
        self.raw("create_function", Raw.of(new).having(9, TType.STRING, self.catalog))
        self.do(lambda client: client.drop_function(self.db1, "f"))
        yield "functions"

    def _constraints(self) -> Iterator[str]:
        if self._version < (4, 0):  # Hive 3.1 answers with an internal error
            return
        place = {"catName": self.catalog, "table_db": "db1", "table_name": "t", "column_name": "other"}
        # Hive 4.1 itself drops the constraints of one name in all catalogs.
        name = f"nn_{self.catalog}"
        column = idl.SQLNotNullConstraint(**place, nn_name=name, enable_cstr=False, validate_cstr=False, rely_cstr=True)
        request = idl.constraint_request(idl.SQLNotNullConstraint, [column])
        self.do(lambda client: client.add_not_null_constraint(request))
        drop = Raw.of(hive.DropConstraintRequest("db1", "t", name)).having(4, TType.STRING, self.catalog)
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
            6: (TType.STRING, self.catalog.encode()),
        }
        self.raw("fire_listener_event", Raw(request))
        yield "insert"

    def _drops(self) -> Iterator[str]:
        renamed = self.read()
        renamed.tableName = "renamed"
        self.do(lambda client: client.alter_table(self.db1, "t", renamed))
        yield "rename"
        self.do(lambda client: client.drop_database(self.db1, False, True))
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
            other = Other(source, version_of(version), f"file:{tmp_path}/data")
            for statement in other.statements():
                settle(stage)
                assert ours(target) == before, statement
            status = stage.status()["targets"][0]
            assert (status["parked"], status["counts"].get("drift", 0)) == (0, 0), status
            assert ours(source)["table"]["parameters"] == before["table"]["parameters"], "it was not at the source, too"


FOLLOWED = """\
catalogs = ["spark_dr", "trino"]
include = ["*", "@spark#*", "@trino#*"]
databases = { "@spark#*" = "@spark_dr#*" }
"""
AT_TARGET = {"spark": "spark_dr", "trino": "trino"}


def contents(metastore: Metastore, catalog: str) -> dict[str, Any]:
    """Everything in the database db1 of a catalog, without the names of the catalog."""
    database = f"@{catalog}#db1"
    if metastore.database(database) is None:
        return {}
    items: dict[str, Any] = {"database": definition(metastore.database(database))}
    items["functions"] = [definition(function) for function in metastore.functions(database)]
    for name in sorted(metastore.tables(database)):
        of = metastore.table(database, name)
        parts = (definition(part) for part in metastore.partitions(database, name))
        columns = (column for each in metastore.constraints(of).values() for column in each)
        items[name] = [definition(of), sorted(map(str, parts)), sorted(map(str, columns))]
    return {key: str(item).replace(f"@{catalog}#", "") for key, item in items.items()}


def follow(stage: Stage, options: str, capture: str = "listener") -> None:
    """Have the sidecar of a stage follow the catalogs spark and trino, with these lines of its target."""
    text = stage.config_file.read_text() + options
    source = f'[source]\ncapture = "{capture}"\n'
    stage.config_file.write_text(text.replace("[source]\n", source))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("version", "capture"),
    [("3.1.3", "listener"), ("3.1.3", "notification-log"), ("4.1.0", "listener"), ("4.2.0", "notification-log")],
)
def test_three_catalogs_arrive_with_the_same_names_in_each(
    version: str, capture: str, tmp_path: Path, report: Report
) -> None:
    need(report, version)
    source_of = metastore_of(version, notification_log=capture == "notification-log")
    with Stage(tmp_path, source=source_of, target=metastore_of(version)) as stage:
        follow(stage, FOLLOWED, capture)
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
            create_ours(source, f"file:{tmp_path}/data")
            settle(stage)
            before = ours(target)
            seen = set()
            others = [Other(source, version_of(version), f"file:{tmp_path}/data", it) for it in AT_TARGET]
            for statements in zip(*(it.statements(inserts=capture == "listener") for it in others), strict=True):
                settle(stage)
                for catalog, name in AT_TARGET.items():
                    there = contents(target, name)
                    assert there == contents(source, catalog), statements
                    seen |= there.keys()
                assert ours(target) == before, statements
            assert seen >= {"database", "functions", "t", "renamed"}
            status = stage.status()["targets"][0]
            assert status["parked"] == 0, status


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", ["3.1.3", "4.1.0"])
def test_a_comparison_restores_what_is_missing_in_a_catalog(version: str, tmp_path: Path, report: Report) -> None:
    need(report, version)
    with Stage(tmp_path, source=metastore_of(version), target=metastore_of(version)) as stage:
        follow(stage, FOLLOWED)
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
            create_ours(source, f"file:{tmp_path}/data")
            statements = Other(source, version_of(version), f"file:{tmp_path}/data").statements(inserts=False)
            while next(statements) != "alter_partition":
                pass
            settle(stage)
            target.call(lambda client: client.drop_table("@spark_dr#db1", "t", False))
            assert contents(target, "spark_dr") != contents(source, "spark")
            command = [
                sys.executable,
                "-m",
                "pysync",
                "verify",
                "-c",
                str(stage.config_file),
                "--target",
                "replica",
                "--json",
            ]
            verified = subprocess.run(command, check=False, capture_output=True, text=True)
            assert verified.returncode == 1, verified.stderr
            assert "@spark_dr#db1.t" in verified.stdout
            ask(stage.config.queue.directory, "refresh")
            wait_until(lambda: contents(target, "spark_dr") == contents(source, "spark"), seconds=60)
            settle(stage)
            assert subprocess.run(command, check=False, capture_output=True).returncode == 0


PREFIXED = """\
include = ["*", "@spark#*"]
databases = { "@spark#*" = "spark_*" }
"""


@pytest.mark.timeout(300)
def test_a_catalog_is_a_prefix_of_databases_at_glue(tmp_path: Path, report: Report) -> None:
    need(report, "3.1.3")
    lake = Lake(tmp_path / "lake", "glue")
    with Stage(tmp_path, source=metastore_of("3.1.3"), lake=lake) as stage:
        follow(stage, PREFIXED)
        stage.start_target()
        stage.source.start()
        stage.start_sidecar()
        glue = lake.aws.client("glue")

        def columns(database: str) -> list[str]:
            with suppress(glue.exceptions.EntityNotFoundException):
                there = glue.get_table(DatabaseName=database, Name="t")["Table"]
                return [it["Name"] for it in there["StorageDescriptor"]["Columns"]]
            return []

        def is_at_rest() -> bool:
            return columns("spark_db1") != [] and stage.status()["targets"][0]["queued"] == 0

        with Metastore(stage.source.uri) as source:
            create_ours(source, f"file:{tmp_path}/data")
            statements = Other(source, (3, 1), f"file:{tmp_path}/data").statements()
            while next(statements) != "drop_partition":
                pass
            wait_until(is_at_rest)
            assert (columns("db1"), columns("spark_db1")) == (["id"], ["other"])
            days = [it["Values"] for it in glue.get_partitions(DatabaseName="spark_db1", TableName="t")["Partitions"]]
            assert days == [["2026-01-01"]], "the other was dropped"
            assert len(glue.get_partitions(DatabaseName="db1", TableName="t")["Partitions"]) == 2
            source.call(lambda client: client.drop_database("@spark#db1", False, True))
            wait_until(lambda: columns("spark_db1") == [])
            assert columns("db1") == ["id"]
