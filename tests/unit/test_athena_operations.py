"""Who does what: statements, the Glue API, or nobody. Athena is tests.support.hive_ddl, and Glue shows what it has."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from structlog.testing import capture_logs

from pysync.base.text import LONGEST
from pysync.model.names import TableName
from pysync.targets.athena import AthenaSettings, AthenaStore, statements
from pysync.targets.aws.clients import provide
from pysync.targets.base import Outcome, Rejected
from pysync.targets.glue import GlueStore
from pysync.targets.hive import name_of
from pysync.targets.store import Written
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source, function, partition, table
from tests.support.glue import unasked
from tests.support.hive_ddl import HiveCatalog

NAME = TableName("db", "t")


class Athena:
    """Runs statements in a catalog, unless it is told to refuse."""

    def __init__(self, catalog):
        self.catalog, self.statements, self.refusal = catalog, [], None

    def check(self):
        return "nothing"

    def run(self, statement, database=None):
        self.statements.append((statement, database))
        if self.refusal:
            raise self.refusal
        self.catalog.run(statement)

    def close(self):
        pass


class Shown:
    """Reads what the catalog has, as Glue keeps it."""

    shown: HiveCatalog

    def _kept(self, item):
        return None if item is None else self.as_stored(item)

    def database(self, name):
        return self._kept(self.shown.databases.get(name))

    def table(self, name):
        return self._kept(self.shown.tables.get(str(name)))

    def table_names(self, database):
        return [it.tableName for it in self.tables(database)]

    def tables(self, database):
        found = list(self.shown.tables.items())
        return iter([self._kept(it) for name, it in found if name.startswith(f"{database}.")])

    def partitions(self, name):
        yield from map(self._kept, self.shown.partitions[str(name)].values())

    def partitions_of(self, table, values):
        found = self.shown.partitions[str(name_of(table))]
        return [self._kept(found[key]) for key in map(tuple, values) if key in found]

    def function(self, _database, _name):
        return None


class Glue(Shown, GlueStore):
    """Writes down what it is asked to do.

    Of all that it only creates and drops tables, and alters and drops databases, as the steps that follow need that.
    """

    def __init__(self, settings, catalog):
        super().__init__(settings)
        self.shown, self.applied, self.given = catalog, [], []

    def _write(self, what, name, wanted=None):
        self.applied.append((what, str(name)))
        self.given.append(wanted)

    def create_database(self, wanted):
        self._write("create_database", wanted.name, wanted)

    def alter_database(self, wanted, _there):
        self._write("alter_database", wanted.name, wanted)
        self.shown.databases[wanted.name] = wanted
        return True

    def drop_database(self, name):
        self._write("drop_database", name)
        del self.shown.databases[name]

    def create_function(self, wanted):
        self._write("create_function", wanted.functionName, wanted)

    def create_table(self, wanted):
        self._write("create_table", name_of(wanted), wanted)
        self.shown.tables[str(name_of(wanted))] = deepcopy(wanted)

    def alter_table(self, wanted, _there, **_):
        self._write("alter_table", name_of(wanted), wanted)
        return True

    def replace_table(self, wanted, _there):
        self._write("replace_table", name_of(wanted), wanted)
        return True

    def drop_tables(self, tables, **_):
        for it in tables:
            self._write("drop_table", name_of(it))
            del self.shown.tables[str(name_of(it))]

    def put_partitions(self, table, absent, _changed):
        self._write("put_partitions", name_of(table), absent)
        return Written(any=True)

    def drop_partitions(self, table, there, **_):
        self._write("drop_partitions", name_of(table), there)

    def spread_columns(self, table, columns):
        self._write("spread_columns", name_of(table), columns)
        return True


class ShownByAthena(Shown, AthenaStore):
    def __init__(self, settings, athena, glue):
        super().__init__(settings, athena, glue)
        self.shown = glue.shown


class Bench:
    def __init__(self, **values):
        self.catalog = HiveCatalog(databases={"db": hive.Database(name="db", parameters={})})
        settings = AthenaSettings(name="dr", kind="athena", work_group="w", region="eu-west-1", **values)
        provide(settings, glue=unasked())
        self.athena, self.glue = Athena(self.catalog), Glue(settings.of_glue(), self.catalog)
        self.target = StoreTarget(ShownByAthena(settings, self.athena, self.glue))

    def apply(self, operation):
        return self.target.apply(operation)

    @property
    def statements(self):
        return [statement for statement, _ in self.athena.statements]


def plain(name=NAME, **fields):
    found = table(name, f"s3://bucket/{name}", **fields)
    found.owner = None
    return found


def plain_partition(of, value, **fields):
    found = partition(of, [value], **fields)
    found.parameters = {}
    return found


@pytest.fixture
def source():
    return Source()


def test_a_statement_runs_in_the_database_of_its_table_and_one_on_a_database_in_none(source):
    bench = Bench()
    bench.apply(source.put_table(plain()))
    bench.apply(source.put_database("new", "s3://bucket/new"))
    assert [database for _, database in bench.athena.statements] == ["db", None]
    assert bench.glue.applied == []


def test_what_a_statement_leaves_over_glue_is_asked_for_with_all_that_is_wanted(source):
    bench, put = Bench(), source.put_table(table(NAME, "s3://bucket/t"))
    assert bench.apply(put) == Outcome.APPLIED
    assert (len(bench.statements), bench.glue.applied) == (1, [("alter_table", "db.t")])
    (wanted,) = bench.glue.given
    assert (wanted.owner, wanted.sd.location, wanted.parameters["pysync.source"]) == ("ann", "s3://bucket/t", "onprem")


def test_what_athena_says_it_has_done_and_has_not_is_seen(source):
    """A catalog that takes a statement and does nothing."""
    for glue_api, asked in (("when-needed", 1), ("never", 0)):
        bench = Bench(glue_api=glue_api)
        bench.catalog.run = lambda _: None
        if asked:
            assert bench.apply(source.put_table(plain())) == Outcome.APPLIED
        else:
            with pytest.raises(Rejected, match="the statements ran, but the result still differs"):
                bench.apply(source.put_table(plain()))
        assert len(bench.glue.applied) == asked


def test_the_record_of_what_pysync_wrote_says_what_may_go_until_it_is_gone(source):
    """A statement cannot remove a property. Were its name out of the record, it would be taken for somebody else's."""
    bench = Bench()
    bench.apply(source.put_table(plain(parameters={"a": "1", "b": "1"})))
    bench.catalog.tables["db.t"].parameters["projection.enabled"] = "true"
    bench.apply(source.put_table(plain(parameters={"b": "2"})))
    assert "pysync.parameters" not in bench.statements[-1]
    assert bench.glue.applied == [("alter_table", "db.t")], "which removes it, and writes the record"
    assert bench.glue.given[0].parameters["pysync.parameters"] == '{"parameters":["b"]}'


def test_the_database_default_is_not_parked_where_only_statements_write(source):
    bench = Bench(glue_api="never")
    assert bench.apply(source.put_database("default", "hdfs://nn/warehouse", description="x")) == Outcome.APPLIED
    assert "LOCATION" not in bench.statements[-1]
    with pytest.raises(Rejected, match="does not begin with s3://"):
        bench.apply(source.put_database("other", "hdfs://nn/warehouse/other.db"))


def test_a_function_is_not_read_where_no_statement_creates_one():
    settings = AthenaSettings(name="dr", kind="athena", work_group="w", region="eu-west-1", glue_api="never")
    provide(settings, glue=unasked())
    store = AthenaStore(settings, Athena(HiveCatalog()), GlueStore(settings.of_glue()))
    assert store.function(NAME.database, "f") is None
    with pytest.raises(Rejected, match="a Hive function"):
        store.create_function(function(NAME.database, "f"))


def test_a_refused_statement_is_logged_with_its_target_and_without_its_values(source):
    bench, what = Bench(), plain()
    bench.apply(source.put_table(what))
    bench.athena.refusal = Rejected("no")
    with capture_logs() as lines:
        bench.apply(source.put_table(plain(parameters={"password": "secret"})))
        bench.apply(source.drop_table(name_of(what)))
    table_name = f"`{what.dbName}`.`{what.tableName}`"
    assert [(it["event"], it["target"], it["statement"], it["fallback"], it["reason"]) for it in lines] == [
        ("statement_refused", "dr", f"ALTER TABLE {table_name} SET TBLPROPERTIES", "Glue API", "no"),
        ("statement_refused", "dr", f"DROP TABLE IF EXISTS {table_name}", "Glue API", "no"),
    ]
    assert "secret" not in repr(lines)


def test_after_a_refusal_no_further_statement_is_run(source):
    bench, first = Bench(), plain(parameters={"x": "1"})
    bench.apply(source.put_table(first))
    bench.athena.statements.clear()
    bench.athena.refusal = Rejected("no")
    wider = plain(cols=("a:int", "b:string", "c:int"), parameters={"x": "2"})
    bench.apply(source.put_table(wider))
    assert len(bench.statements) == 1


@pytest.mark.parametrize("glue_api", ["when-needed", "never"])
def test_what_a_partition_must_not_inherit_is_put_right_by_the_glue_api(glue_api):
    bench, keyed = Bench(glue_api=glue_api), plain(keys=["k"])
    part = plain_partition(keyed, "1")
    keyed.sd.bucketCols, keyed.sd.numBuckets, keyed.sd.sortCols = ["a"], 4, [hive.Order("a", 1)]
    bench.catalog.tables["db.t"], bench.catalog.partitions["db.t"] = keyed, {}
    if glue_api == "never":
        with pytest.raises(Rejected, match=r"buckets \(partitions: 1\); the sort order in buckets \(partitions: 1\)"):
            bench.target.store.put_partitions(keyed, [part], [])
    else:
        bench.target.store.put_partitions(keyed, [part], [])
        assert bench.glue.applied == [("put_partitions", "db.t")]


def test_partitions_that_are_as_wanted_are_no_conflict_whosever_they_are(source):
    """So the echo of a change comes to rest. Hive has put the serde's default format there, which nobody asked for."""
    bench, keyed = Bench(on_conflict="park"), plain(keys=["k"])
    part = plain_partition(keyed, "1")
    bench.catalog.tables["db.t"], bench.catalog.partitions["db.t"] = keyed, {}
    bench.catalog.run(next(statements.add_partitions(keyed, [part])))
    bench.catalog.partitions["db.t"][("1",)].sd.serdeInfo.parameters["serialization.format"] = "1"
    assert bench.apply(source.put_partitions(keyed, part)) == Outcome.UNCHANGED
    for other in (plain_partition(keyed, "1", location="s3://bucket/else"), plain_partition(keyed, "2")):
        with pytest.raises(Rejected, match="and is not from this source"):
            bench.apply(source.put_partitions(keyed, part, other))
    assert (bench.statements, bench.glue.applied) == ([], [])


def test_a_difference_that_no_statement_says_is_a_conflict_in_a_table_of_others(source):
    bench, keyed = Bench(on_conflict="park", glue_api="never"), plain(keys=["k"])
    part, other = plain_partition(keyed, "1"), plain_partition(keyed, "1")
    other.sd.serdeInfo.serializationLib = "com.example.Other"
    bench.catalog.tables["db.t"], bench.catalog.partitions["db.t"] = keyed, {}
    bench.catalog.run(next(statements.add_partitions(keyed, [part])))
    with pytest.raises(Rejected, match=r"table db\.t already exists at the target 'dr' and is not from this source"):
        bench.apply(source.put_partitions(keyed, other))
    assert (bench.statements, bench.glue.applied) == ([], [])


def test_a_partition_without_a_place_lies_below_its_table(source):
    bench, keyed = Bench(), plain(keys=["k"])
    part = plain_partition(keyed, "a b/c")
    part.sd.location = None
    bench.apply(source.put_table(keyed))
    bench.apply(source.put_partitions(keyed, part))
    assert bench.catalog.partitions["db.t"][("a b/c",)].sd.location == "s3://bucket/db.t/k=a b%2Fc"


def test_a_table_of_a_dropped_database_that_athena_will_not_drop_is_left_to_glue(source):
    bench = Bench()
    bench.catalog.databases.clear()
    bench.apply(source.put_database("db"))
    bench.apply(source.put_table(plain()))
    bench.athena.refusal = Rejected("no")
    drop = source.drop_database("db")
    assert bench.apply(drop) == Outcome.APPLIED
    assert bench.glue.applied == [("drop_table", "db.t"), ("drop_database", "db")]


def test_a_dropped_database_with_what_no_statement_may_drop_is_left_to_glue(source):
    bench, iceberg = Bench(), TableName("db", "ice")
    bench.catalog.databases.clear()
    bench.apply(source.put_database("db"))
    for name in (NAME, iceberg):
        bench.apply(source.put_table(plain(name)))
    bench.catalog.tables[str(iceberg)].parameters["table_type"] = "ICEBERG"
    bench.athena.statements.clear()
    assert bench.apply(source.drop_database("db")) == Outcome.APPLIED
    assert bench.glue.applied == [("drop_table", str(iceberg))]
    assert bench.statements == ["DROP TABLE IF EXISTS `db`.`t`", "DROP DATABASE IF EXISTS `db`"]


def test_a_cascade_of_an_older_event_parks_nothing(source):
    bench, keyed = Bench(glue_api="never"), plain(keys=["k"])
    cascade = source.put_table(plain(keys=["k"], cols=("a:int", "b:string", "c:int")), cascade=True)
    bench.apply(source.put_table(keyed))
    bench.apply(source.put_partitions(keyed, plain_partition(keyed, "1")))
    assert bench.apply(cascade) == Outcome.STALE


def test_a_cascade_reaches_partitions_through_glue_alone(source):
    for glue_api in ("when-needed", "never"):
        bench, keyed = Bench(glue_api=glue_api), plain(keys=["k"])
        bench.apply(source.put_table(keyed))
        bench.apply(source.put_partitions(keyed, plain_partition(keyed, "1")))
        wider = plain(keys=["k"], cols=("a:int", "b:string", "c:int"))
        cascade = source.put_table(wider, cascade=True)
        if glue_api == "never":
            with pytest.raises(Rejected, match="new columns of its partitions"):
                bench.apply(cascade)
        else:
            assert bench.apply(cascade) == Outcome.APPLIED
            assert bench.glue.applied == [("spread_columns", "db.t")]
            assert [column.name for column in bench.glue.given[-1]] == ["a", "b", "c"]


def test_no_statement_writes_into_a_linked_database(source, monkeypatch):
    bench = Bench()
    monkeypatch.setattr(bench.target.store, "is_linked", lambda name: name == "db")
    with pytest.raises(Rejected, match="database db at the target 'dr' is a resource link"):
        bench.apply(source.put_table(plain()))
    assert bench.statements == []


def test_a_refusal_of_many_tables_names_a_few(source):
    bench = Bench(glue_api="never")
    names = [TableName("db", f"t{number:04}") for number in range(1000)]
    for name in names:
        bench.apply(source.put_table(plain(name)))
    bench.athena.refusal = Rejected("no")
    with pytest.raises(Rejected) as caught:
        bench.apply(source.drop_database("db"))
    assert "the drop of db.t0000, db.t0001, db.t0002, db.t0003, db.t0004 and 995 more, target" in caught.value.message
    assert len(caught.value.message) <= LONGEST
