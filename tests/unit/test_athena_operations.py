"""Who does what: statements, the Glue API, or nobody. Athena is tests.support.hive_ddl, and Glue shows what it has."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import DEFAULT_PARTITION, TableName
from pysync.targets.athena import AthenaSettings
from pysync.targets.athena import operations as ops
from pysync.targets.athena.session import Session
from pysync.targets.base import Missing, Outcome, Rejected, Unavailable
from tests.conformance.objects import Source, partition, table
from tests.support.hive_ddl import HiveCatalog

NAME = TableName("db", "t")


class Athena:
    """Runs statements in a catalog, unless it is told to refuse."""

    def __init__(self, catalog):
        self.catalog, self.statements, self.refusal = catalog, [], None

    def run(self, statement, database=None):
        self.statements.append((statement, database))
        if self.refusal:
            raise self.refusal
        self.catalog.run(statement)


class Glue:
    """Shows what the catalog has, and only writes down what it is asked to do."""

    def __init__(self, catalog):
        self.catalog, self.applied = catalog, []

    def apply(self, operation):
        self.applied.append(operation)
        return Outcome.APPLIED

    def database(self, name):
        return deepcopy(self.catalog.databases.get(name))

    def table(self, name):
        return deepcopy(self.catalog.tables.get(str(name)))

    def definitions(self, database):
        yield from [it for name, it in self.catalog.tables.items() if name.startswith(f"{database}.")]

    def partitions(self, name):
        yield from self.catalog.partitions[str(name)].values()

    def partitions_by_values(self, name, values):
        found = self.catalog.partitions[str(name)]
        yield from [found[key] for key in map(tuple, values) if key in found]


class Bench:
    def __init__(self, **values):
        self.catalog = HiveCatalog(databases={"db": hive.Database(name="db", parameters={})})
        self.athena, self.glue = Athena(self.catalog), Glue(self.catalog)
        self.session = Session(
            self.athena, self.glue, AthenaSettings(name="dr", kind="athena", work_group="w", **values)
        )

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
    ops.put_table(bench.session, source.put_table(plain()))
    ops.put_database(bench.session, source.put_database("new", "s3://bucket/new"))
    assert [database for _, database in bench.athena.statements] == ["db", None]
    assert bench.glue.applied == []


def test_what_a_statement_leaves_over_glue_is_asked_for_with_the_very_operation(source):
    bench, put = Bench(), source.put_table(table(NAME, "s3://bucket/t"))
    assert ops.put_table(bench.session, put) == Outcome.APPLIED
    assert (len(bench.statements), bench.glue.applied) == (1, [put])


def test_without_the_glue_api_what_nobody_misses_is_left_out(source):
    bench, put = Bench(glue_api="never"), source.put_table(table(NAME, "s3://bucket/t"))
    assert [ops.put_table(bench.session, put) for _ in range(2)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert (len(bench.statements), bench.glue.applied) == (1, [])


def test_what_athena_says_it_has_done_and_has_not_is_seen(source):
    """A catalog that takes a statement and does nothing."""
    for glue_api, asked in (("when-needed", 1), ("never", 0)):
        bench = Bench(glue_api=glue_api)
        bench.catalog.run = lambda _: None
        if asked:
            assert ops.put_table(bench.session, source.put_table(plain())) == Outcome.APPLIED
        else:
            with pytest.raises(Rejected, match="what its statements said was not taken"):
                ops.put_table(bench.session, source.put_table(plain()))
        assert len(bench.glue.applied) == asked


@pytest.mark.parametrize("kind", [Rejected, Missing])
def test_a_refused_statement_is_left_to_glue_if_it_may(source, kind):
    for glue_api in ("when-needed", "never"):
        bench = Bench(glue_api=glue_api)
        bench.athena.refusal = kind("no")
        if glue_api == "never":
            with pytest.raises(kind, match="no"):
                ops.put_table(bench.session, source.put_table(plain()))
        else:
            assert ops.put_table(bench.session, source.put_table(plain())) == Outcome.APPLIED
        assert len(bench.glue.applied) == (glue_api != "never")


def test_an_athena_that_cannot_now_is_waited_for(source):
    bench = Bench()
    bench.athena.refusal = Unavailable("throttled")
    with pytest.raises(Unavailable):
        ops.put_table(bench.session, source.put_table(plain()))
    assert bench.glue.applied == []


def test_after_a_refusal_no_further_statement_is_run(source):
    bench, first = Bench(), plain(parameters={"x": "1"})
    ops.put_table(bench.session, source.put_table(first))
    bench.athena.statements.clear()
    bench.athena.refusal = Rejected("no")
    wider = plain(cols=("a:int", "b:string", "c:int"), parameters={"x": "2"})
    ops.put_table(bench.session, source.put_table(wider))
    assert len(bench.statements) == 1


def test_partitions_are_put_by_statements_but_for_those_that_cannot_be_said(source):
    for glue_api in ("when-needed", "never"):
        bench, keyed = Bench(glue_api=glue_api), plain(keys=["k"])
        parts = [plain_partition(keyed, value) for value in ("1", DEFAULT_PARTITION, "2")]
        ops.put_table(bench.session, source.put_table(keyed))
        put = source.put_partitions(keyed, *parts)
        if glue_api == "never":
            with pytest.raises(Rejected, match="would become another in a string"):
                ops.put_partitions(bench.session, put)
        else:
            assert ops.put_partitions(bench.session, put) == Outcome.APPLIED
        assert sorted(bench.catalog.partitions["db.t"]) == [("1",), ("2",)]
        assert bench.glue.applied == ([put] if glue_api != "never" else [])


def test_dropped_partitions(source):
    bench, keyed = Bench(), plain(keys=["k"])
    ops.put_table(bench.session, source.put_table(keyed))
    ops.put_partitions(bench.session, source.put_partitions(keyed, *(plain_partition(keyed, it) for it in "123")))
    drop = source.drop_partitions(keyed, ["1"], ["3"], ["absent"])
    assert [ops.drop_partitions(bench.session, drop) for _ in range(2)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert sorted(bench.catalog.partitions["db.t"]) == [("2",)]
    assert "absent" not in bench.statements[-1], "it names only those that are there"


def test_a_partition_without_a_place_lies_below_its_table(source):
    bench, keyed = Bench(), plain(keys=["k"])
    part = plain_partition(keyed, "a b/c")
    part.sd.location = None
    ops.put_table(bench.session, source.put_table(keyed))
    ops.put_partitions(bench.session, source.put_partitions(keyed, part))
    assert bench.catalog.partitions["db.t"][("a b/c",)].sd.location == "s3://bucket/db.t/k=a b%2Fc"


def test_a_database_is_dropped_table_by_table_and_only_if_nothing_is_left(source):
    bench = Bench()
    bench.catalog.databases.clear()
    ops.put_database(bench.session, source.put_database("db"))
    for name in ("t", "u"):
        ops.put_table(bench.session, source.put_table(plain(TableName("db", name))))
    bench.catalog.tables["db.theirs"] = plain(TableName("db", "theirs"))
    bench.athena.statements.clear()
    drop = source.drop_database("db")
    assert ops.drop_database(bench.session, drop) == Outcome.FOREIGN
    assert bench.statements == ["DROP TABLE IF EXISTS `db`.`t`", "DROP TABLE IF EXISTS `db`.`u`"]
    del bench.catalog.tables["db.theirs"]
    assert ops.drop_database(bench.session, drop) == Outcome.APPLIED
    assert bench.statements[-1] == "DROP DATABASE IF EXISTS `db`"
    assert bench.glue.applied == []


def test_a_table_of_a_dropped_database_that_athena_will_not_drop_is_left_to_glue(source):
    bench = Bench()
    bench.catalog.databases.clear()
    ops.put_database(bench.session, source.put_database("db"))
    ops.put_table(bench.session, source.put_table(plain()))
    bench.athena.refusal = Rejected("no")
    drop = source.drop_database("db")
    assert ops.drop_database(bench.session, drop) == Outcome.APPLIED
    assert bench.glue.applied == [drop]


def test_a_dropped_database_with_what_no_statement_may_drop_is_left_to_glue(source):
    bench, iceberg = Bench(), TableName("db", "ice")
    bench.catalog.databases.clear()
    ops.put_database(bench.session, source.put_database("db"))
    for name in (NAME, iceberg):
        ops.put_table(bench.session, source.put_table(plain(name)))
    bench.catalog.tables[str(iceberg)].parameters["table_type"] = "ICEBERG"
    drop = source.drop_database("db")
    assert ops.drop_database(bench.session, drop) == Outcome.APPLIED
    assert bench.glue.applied == [drop]
    assert list(bench.catalog.tables) == [str(iceberg)]


def test_a_cascade_of_an_older_event_parks_nothing(source):
    bench, keyed = Bench(glue_api="never"), plain(keys=["k"])
    cascade = source.put_table(plain(keys=["k"], cols=("a:int", "b:string", "c:int")), cascade=True)
    ops.put_table(bench.session, source.put_table(keyed))
    ops.put_partitions(bench.session, source.put_partitions(keyed, plain_partition(keyed, "1")))
    assert ops.put_table(bench.session, cascade) == Outcome.STALE


def test_a_cascade_reaches_partitions_through_glue_alone(source):
    for glue_api in ("when-needed", "never"):
        bench, keyed = Bench(glue_api=glue_api), plain(keys=["k"])
        ops.put_table(bench.session, source.put_table(keyed))
        ops.put_partitions(bench.session, source.put_partitions(keyed, plain_partition(keyed, "1")))
        bench.glue.applied.clear()
        wider = plain(keys=["k"], cols=("a:int", "b:string", "c:int"))
        cascade = source.put_table(wider, cascade=True)
        if glue_api == "never":
            with pytest.raises(Rejected, match="other columns of its partitions"):
                ops.put_table(bench.session, cascade)
        else:
            assert ops.put_table(bench.session, cascade) == Outcome.APPLIED
            assert bench.glue.applied == [cascade]


def test_a_missing_database(source):
    put = source.put_table(plain(TableName("absent", "t")))
    with pytest.raises(Missing, match="database absent is not at the target 'dr'"):
        ops.put_table(Bench().session, put)
    bench = Bench(create_missing_databases=True)
    assert ops.put_table(bench.session, put) == Outcome.APPLIED
    assert bench.catalog.databases["absent"].parameters["pysync.event"] == "1.0.0.0"


def test_a_foreign_table_with_other_keys_is_not_dropped(source):
    for glue_api in ("when-needed", "never"):
        bench = Bench(on_conflict="adopt", glue_api=glue_api)
        theirs = bench.catalog.tables["db.t"] = plain(keys=["theirs"])
        put = source.put_table(plain(keys=["ours"]))
        if glue_api == "never":
            with pytest.raises(Rejected, match="not from this source"):
                ops.put_table(bench.session, put)
        else:
            ops.put_table(bench.session, put)
        assert (bench.statements, bench.catalog.tables["db.t"]) == ([], theirs)
