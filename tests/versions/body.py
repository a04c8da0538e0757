"""The body of DDL that every pair of versions runs: what clients of a metastore do, statement by statement.

`Body.run` sends it all; `statements` counts what was answered. A statement that the source's Hive does not have is left
out there, and named in `left_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.model import idl
from tests.support import partition, storage, table
from tests.versions import calls

ODD_VALUES = ("a/b=c %", "Zürich", 'it\'s "quoted"', "x:y", "tab\there", "[1]{2}", "100%25", "ключ", " lead")

Version = tuple[int, int]


def version_of(text: str) -> Version:
    """3.1.3 as (3, 1)."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


class Body:
    """The statements, sent to one source; `root` is where locations of their own may lie (`file:/…`)."""

    def __init__(self, source: Metastore, version: Version, root: str) -> None:
        self.statements = 0
        self.left_out: list[str] = []
        self._hms, self._version, self._root = source, version, root

    def run(self) -> None:
        """All of it, in an order in which a source would see it."""
        for part in (
            self.databases,
            self.tables,
            self.skewed,
            self.partitions,
            self.odd_partitions,
            self.alters,
            self.cascades,
            self.renames,
            self.exchange,
            self.views,
            self.functions,
            self.keys,
            self.newer_constraints,
            self.truncates,
            self.inserts,
            self.failures,
            self.drops,
        ):
            part()

    def do(self, statement: Callable[[Any], Any]) -> Any:
        """One statement."""
        answer = self._hms.call(statement)
        self.statements += 1
        return answer

    def since(self, version: Version, what: str) -> bool:
        """Whether the source has it."""
        if self._version < version:
            self.left_out.append(what)
            return False
        return True

    def create(self, new: Any) -> Any:
        """Create a table, and say what the metastore made of it."""
        self.do(lambda client: client.create_table(new))
        return self._hms.table(new.dbName, new.tableName)

    def alter(self, old: Any, context: dict[str, str] | None = None) -> None:
        """Write a table that was read and changed."""
        environment = hive.EnvironmentContext(context or {})
        self.do(lambda c: c.alter_table_with_environment_context(old.dbName, old.tableName, old, environment))

    def table(self, database: str, name: str) -> Any:
        """The table as it is."""
        found = self._hms.table(database, name)
        assert found is not None, f"{database}.{name}"
        return found

    def add(self, to: Any, *values: Sequence[str]) -> None:
        """Add partitions by one call."""
        new = [partition(to, list(its)) for its in values]
        request = hive.AddPartitionsRequest(to.dbName, to.tableName, new, True, False)
        self.do(lambda client: client.add_partitions_req(request))

    def databases(self) -> None:
        plain = hive.Database(
            name="shop", description="what is sold: ü 'x' \"y\"", parameters={"team": "sales", "q": "a=b"}
        )
        role = hive.Database(name="Lab", description="", parameters={}, ownerName="chemists", ownerType=2)
        placed = hive.Database(
            name="placed", description="elsewhere", locationUri=f"{self._root}/placed", parameters={}
        )
        for new in (plain, role, placed, hive.Database(name="hollow", description="to be dropped", parameters={})):
            self.do(lambda client, new=new: client.create_database(new))
        if self.since((3, 0), "ALTER DATABASE: Hive 2.3 tells no listener of it"):
            shop = self._hms.database("shop")
            shop.parameters = {"team": "marketing", "new": "1"}
            shop.ownerName, shop.ownerType = "bob", 1
            self.do(lambda client: client.alter_database("shop", shop))

    def tables(self) -> None:
        self.create(table("shop", "plain"))
        self.create(self._managed("shop", "managed"))
        self.create(self._managed("shop", "untouched"))
        self.create(table("shop", "placed", location=f"{self._root}/tables/placed"))
        self.create(table("shop", "MixedCase", parameters={"Comment": 'it\'s "ü"', "empty": ""}))
        rich = table("lab", "rich")
        rich.sd.cols = [
            hive.FieldSchema("Id", "bigint", 'the key: it\'s "ü"'),
            hive.FieldSchema("s", "struct<a:int,b:map<string,array<decimal(10,2)>>>", ""),
            hive.FieldSchema("c", "char(10)", None),
            hive.FieldSchema("t", "timestamp", "x\ty"),
        ]
        rich.sd.numBuckets, rich.sd.bucketCols, rich.sd.sortCols = 4, ["id"], [hive.Order("c", 1), hive.Order("id", 0)]
        rich.sd.serdeInfo.parameters = {"field.delim": "\x01", "serialization.format": "|"}
        rich.sd.serdeInfo.name = "rich"
        rich.retention = 7
        self.create(rich)
        self.create(table("lab", "parted", partition_keys=[("day", "string"), ("part", "int")]))
        self.create(self._managed("lab", "managed_parted", [("day", "date")]))
        self.create(table("placed", "inside", partition_keys=[("k", "string")]))
        if self.since((3, 0), "tables owned by a role"):
            owned = table("lab", "owned")
            owned.owner, owned.ownerType = "chemists", hive.PrincipalType.ROLE
            self.create(owned)

    def skewed(self) -> None:
        listed = table("lab", "skewed")
        listed.sd.skewedInfo = hive.SkewedInfo(["id"], [["1"], ["2"]], {})
        self.create(listed)
        stored = table("lab", "skewed_stored", location=f"{self._root}/tables/skewed_stored")
        places = {("1",): f"{self._root}/tables/skewed_stored/id=1", ("2",): f"{self._root}/tables/skewed_stored/id=2"}
        stored.sd.skewedInfo = hive.SkewedInfo(["id"], [["1"], ["2"]], places)
        stored.sd.storedAsSubDirectories = True
        self.create(stored)

    def partitions(self) -> None:
        parted = self.table("lab", "parted")
        self.add(parted, *[[f"2026-01-{n:02d}", str(n)] for n in range(1, 13)])
        self.add(parted, ["2026-01-01", "1"], ["2026-02-01", "1"])  # one of them is there
        one = partition(parted, ["2026-03-01", "1"])
        one.parameters = {"note": "single", "numRows": "5"}
        one.sd.location = f"{self._root}/tables/far_away"
        self.do(lambda client: client.add_partition(one))
        there = self.do(lambda client: client.get_partition("lab", "parted", ["2026-01-02", "2"]))
        there.parameters["note"] = "changed"
        there.sd.serdeInfo.parameters = {"field.delim": ","}
        self.do(lambda client: client.alter_partition("lab", "parted", there))
        several = self._hms.partitions_by_name("lab", "parted", ["day=2026-01-03/part=3", "day=2026-01-04/part=4"])
        for item in several:
            item.parameters["numRows"] = "42"
        self.do(lambda client: client.alter_partitions("lab", "parted", several))
        self.do(lambda client: client.drop_partition("lab", "parted", ["2026-01-05", "5"], False))
        names = hive.RequestPartsSpec(names=["day=2026-01-06/part=6", "day=2026-01-07/part=7"])
        request = hive.DropPartitionsRequest("lab", "parted", names, deleteData=False, ifExists=True, needResult=False)
        self.do(lambda client: client.drop_partitions_req(request))
        moved = self.do(lambda client: client.get_partition("lab", "parted", ["2026-01-08", "8"]))
        moved.values = ["2026-01-08", "88"]
        self.do(lambda client: client.rename_partition("lab", "parted", ["2026-01-08", "8"], moved))
        self.add(self.table("lab", "managed_parted"), ["2026-01-01"], ["2026-01-02"])

    def odd_partitions(self) -> None:
        odd = self.create(table("shop", "odd", partition_keys=[("k", "string"), ("l", "string")]))
        self.add(odd, *[[value, str(n)] for n, value in enumerate(ODD_VALUES)])
        self.add(odd, ["__HIVE_DEFAULT_PARTITION__", "x"])
        self.do(lambda client: client.drop_partition("shop", "odd", [ODD_VALUES[0], "0"], False))

    def alters(self) -> None:
        plain = self.table("shop", "plain")
        plain.sd.cols.append(hive.FieldSchema("colour", "string", "added later"))
        plain.parameters["note"] = 'it\'s "quoted" é'
        plain.owner = "eve"
        self.alter(plain)
        managed = self.table("shop", "managed")
        managed.parameters["x"] = "1"
        managed.sd.serdeInfo.parameters = {"field.delim": ";"}
        self.alter(managed)
        managed = self.table("shop", "managed")
        del managed.parameters["x"]
        managed.sd.cols[0].comment = "now with one"
        self.alter(managed)
        replaced = self.table("lab", "rich")
        replaced.sd.cols = replaced.sd.cols[:2]
        replaced.sd.bucketCols, replaced.sd.sortCols, replaced.sd.numBuckets = [], [], -1
        self.alter(replaced)
        placed = self.table("shop", "placed")
        placed.sd.location = f"{self._root}/tables/placed_elsewhere"
        self.alter(placed)

    def cascades(self) -> None:
        parted = self.table("lab", "parted")
        parted.sd.cols.append(hive.FieldSchema("wide", "int", "to all partitions"))
        self.alter(parted, {"CASCADE": "true"})
        parted = self.table("lab", "parted")
        parted.sd.cols.append(hive.FieldSchema("narrow", "int", "to the table alone"))
        self.alter(parted)

    def renames(self) -> None:
        for database, old, changes in (
            ("shop", "mixedcase", {"tableName": "renamed"}),
            ("lab", "managed_parted", {"tableName": "managed_renamed"}),
            ("placed", "inside", {"tableName": "outside", "dbName": "lab"}),
        ):
            moved = self.table(database, old)
            for field, value in changes.items():
                setattr(moved, field, value)
            self.do(lambda client, of=(database, old), new=moved: client.alter_table(*of, new))

    def exchange(self) -> None:
        here = self.create(table("lab", "exchange_from", partition_keys=[("k", "string")]))
        self.create(table("lab", "exchange_to", partition_keys=[("k", "string")]))
        self.add(here, ["1"], ["2"])
        self.do(lambda client: client.exchange_partition({"k": "1"}, "lab", "exchange_from", "lab", "exchange_to"))

    def views(self) -> None:
        self.create(self._view("shop", "cheap", "SELECT id FROM shop.plain"))
        cheap = self.table("shop", "cheap")
        cheap.viewOriginalText = cheap.viewExpandedText = "SELECT id, colour FROM shop.plain"
        cheap.sd.cols.append(hive.FieldSchema("colour", "string", ""))
        self.alter(cheap)
        self.create(self._view("shop", "short_lived", "SELECT 1"))
        self.do(lambda client: client.drop_table("shop", "short_lived", False))
        if self.since((3, 0), "materialized views"):
            self.create(self._materialized("shop", "counted", "shop.plain"))

    def functions(self) -> None:
        new = hive.Function(
            functionName="Magnitude",
            dbName="shop",
            className="org.example.Abs",
            ownerName="ann",
            ownerType=1,
            createTime=0,
            functionType=1,
            resourceUris=[hive.ResourceUri(1, f"{self._root}/udf.jar")],
        )
        self.do(lambda client: client.create_function(new))
        gone = deepcopy(new)
        gone.functionName, gone.resourceUris = "gone", []
        self.do(lambda client: client.create_function(gone))
        self.do(lambda client: client.drop_function("shop", "gone"))

    def keys(self) -> None:
        if not self.since((3, 0), "PRIMARY KEY and FOREIGN KEY: Hive 2.3 tells no listener of them"):
            return
        self.create(table("shop", "parents"))
        self.create(table("shop", "children"))
        primary = hive.SQLPrimaryKey("shop", "parents", "id", 1, "parents_pk", False, False, True)
        self.do(lambda client: client.add_primary_key(hive.AddPrimaryKeyRequest([primary])))
        foreign = hive.SQLForeignKey(
            "shop", "parents", "id", "shop", "children", "id", 1, 0, 0, "children_fk", "parents_pk", False, False, True
        )
        self.do(lambda client: client.add_foreign_key(hive.AddForeignKeyRequest([foreign])))
        short = hive.SQLPrimaryKey("shop", "children", "id", 1, "children_pk", False, False, False)
        self.do(lambda client: client.add_primary_key(hive.AddPrimaryKeyRequest([short])))
        self.do(lambda client: client.drop_constraint(hive.DropConstraintRequest("shop", "children", "children_pk")))

    def newer_constraints(self) -> None:
        if not self.since((3, 0), "UNIQUE and NOT NULL"):
            return
        self.create(table("shop", "constrained"))
        self._constrain(idl.SQLUniqueConstraint, key_seq=1, uk_name="the_uk")
        self._constrain(idl.SQLNotNullConstraint, nn_name="the_nn")
        if self.since((4, 0), "DEFAULT and CHECK: Hive 3.1 tells no listener of them"):
            self._constrain(idl.SQLDefaultConstraint, default_value="7", dc_name="the_default")
            self._constrain(idl.SQLCheckConstraint, check_expression="id > 0", dc_name="the_check")
        self.create(table("shop", "unconstrained"))
        self._constrain(idl.SQLNotNullConstraint, "unconstrained", nn_name="gone_nn")
        self.do(lambda client: client.drop_constraint(hive.DropConstraintRequest("shop", "unconstrained", "gone_nn")))

    def truncates(self) -> None:
        if not self.since((3, 0), "TRUNCATE by the metastore"):
            return
        whole = self.create(table("lab", "truncated", parameters={"numRows": "9"}))
        parted = self.create(table("lab", "truncated_parted", partition_keys=[("k", "string")]))
        self.add(parted, ["1"], ["2"])
        self.do(lambda client: calls.truncate_table(client, "lab", whole.tableName, []))
        self.do(lambda client: calls.truncate_table(client, "lab", parted.tableName, ["k=1"]))

    def inserts(self) -> None:
        files = [f"{self._root}/tables/new_file"]
        for database, name, values in (("shop", "plain", None), ("lab", "parted", ["2026-01-01", "1"])):
            if self._version >= (3, 0):
                self.do(partial(calls.fire_insert, database=database, table=name, values=values, files=files))
            else:
                data = hive.FireEventRequestData(hive.InsertEventRequestData(filesAdded=files))
                request = hive.FireEventRequest(True, data, database, name, values)
                self.do(lambda client, request=request: client.fire_listener_event(request))

    def failures(self) -> None:
        """Statements that fail, some of which reach listeners with nothing in their hands."""
        missing = ("shop", "not_there")
        self._fails(lambda client: client.drop_table(*missing, False))
        self._fails(lambda client: client.drop_database("not_there", False, False))
        self._fails(lambda client: client.drop_function(*missing))
        self._fails(lambda client: client.drop_partition("lab", "parted", ["9", "9"], False))
        self._fails(lambda client: client.create_table(table("shop", "plain")))
        self._fails(lambda client: client.create_database(hive.Database(name="shop", parameters={})))
        parted = self.table("lab", "parted")
        self._fails(lambda client: client.add_partitions([partition(parted, ["2026-01-01", "1"])]))
        self._fails(lambda client: client.alter_table("shop", "not_there", parted))
        wrong = self.table("shop", "plain")
        wrong.sd.cols[0].type = "binary"
        self._fails(lambda client: client.alter_table("shop", "plain", wrong))

    def touches(self) -> None:
        """Write every table as it is: nothing changes, but for what the server itself sets."""
        for database in ("shop", "lab"):
            for name in self._hms.tables(database):
                self.alter(self.table(database, name))

    def drops(self) -> None:
        self.create(table("shop", "again"))
        self.do(lambda client: client.drop_table("shop", "again", False))
        again = table("shop", "again", partition_keys=[("p", "string")])
        again.sd.cols.append(hive.FieldSchema("other", "string", ""))
        self.add(self.create(again), ["1"])
        self.do(lambda client: client.create_database(hive.Database(name="doomed", description="", parameters={})))
        self.create(table("doomed", "one"))
        two = self.create(table("doomed", "two", partition_keys=[("p", "string")]))
        self.add(two, ["1"], ["2"])
        self.do(lambda client: client.drop_database("doomed", False, True))
        self.do(lambda client: client.drop_database("hollow", False, False))

    def _fails(self, statement: Callable[[Any], Any]) -> None:
        try:
            self.do(statement)
        except hive.TException:
            self.statements += 1
            return
        raise AssertionError("a statement succeeded that cannot")

    def _constrain(self, kind: Any, on: str = "constrained", **fields: Any) -> None:
        name, _ = idl.CONSTRAINTS[kind]
        place = {"catName": "hive", "table_db": "shop", "table_name": on, "column_name": "id"}
        column = kind(**place, **fields, enable_cstr=False, validate_cstr=False, rely_cstr=True)
        request = idl.constraint_request(kind, [column])
        self.do(lambda client: getattr(client, f"add_{name}")(request))

    def _managed(self, database: str, name: str, keys: Sequence[tuple[str, str]] = ()) -> Any:
        new = table(database, name, partition_keys=keys)
        new.tableType, new.parameters = "MANAGED_TABLE", {"kept": "yes"}
        return new

    def _view(self, database: str, name: str, query: str) -> Any:
        new = table(database, name)
        new.tableType, new.parameters = "VIRTUAL_VIEW", {"comment": "seen"}
        new.viewOriginalText = new.viewExpandedText = query
        new.sd = storage()
        new.sd.inputFormat = new.sd.outputFormat = None
        return new

    def _materialized(self, database: str, name: str, of: str) -> Any:
        new = self._view(database, name, "SELECT count(*) FROM it")
        new.tableType, new.rewriteEnabled = "MATERIALIZED_VIEW", True
        new.sd = storage()
        new.creationMetadata = idl.CreationMetadata(catName="hive", dbName=database, tblName=name, tablesUsed={of})
        return new
