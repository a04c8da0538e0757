"""Wanted and there to statements and leftovers; the statements are read by tests.support.hive_ddl."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.model.mark import Mark
from pysync.model.names import DEFAULT_PARTITION
from pysync.targets.apply.owners import stamped
from pysync.targets.athena.partition_decisions import MOST_MOVES, decide_drop, decide_put
from pysync.targets.athena.table_decisions import decide_database, decide_table, inexpressible_reason
from tests.support.glue import unasked_store
from tests.support.hive_ddl import HiveCatalog
from tests.unit.test_athena_types import TYPES

TEXT = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
PARQUET = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
MARK = Mark("onprem", 1, 7, 10)
STORE = unasked_store()
DATES = "columns of type date, which Athena can neither add nor replace"
TOO_LONG = "the statement has 270146 bytes; Athena accepts 262144"
WORDS = st.text(alphabet="ab'\"\\`${};\n日é ", max_size=12)


def columns(*texts):
    return [hive.FieldSchema(*text.split(":", 1), None) for text in texts]


def storage(cols=("a:int", "b:string"), *, serde=TEXT, location="s3://b/t", **fields):
    found = hive.StorageDescriptor(cols=columns(*cols), location=location, numBuckets=-1, bucketCols=[], sortCols=[])
    found.serdeInfo = hive.SerDeInfo(None, serde, {"serialization.format": "1"})
    found.inputFormat, found.outputFormat = "org.example.In", "org.example.Out"
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def table(cols=("a:int", "b:string"), *, keys=(), parameters=None, mark=MARK, **fields):
    sd = storage(cols, **{name: fields.pop(name) for name in ("serde", "location") if name in fields})
    found = hive.Table(dbName="db", tableName="t", sd=sd, partitionKeys=columns(*keys), tableType="EXTERNAL_TABLE")
    found.parameters = {"EXTERNAL": "TRUE", **(parameters or {})}
    for name, value in fields.items():
        setattr(found if hasattr(found, name) else found.sd, name, value)
    return STORE.as_stored(stamped(found, mark))


def partition(*values, of, parameters=None, location=None, **fields):
    sd = deepcopy(of.sd)
    sd.location = location or f"{of.sd.location}/{'-'.join(values)}"
    for name, value in fields.items():
        setattr(sd, name, value)
    return STORE.as_stored(hive.Partition(values=list(values), sd=sd, parameters=parameters or {}), of)


def carried_out(wanted, there):
    """What a catalog has after the statements that lead from `there` to `wanted`."""
    catalog = HiveCatalog()
    if there is not None:
        catalog.tables["db.t"], catalog.partitions["db.t"] = deepcopy(there), {}
    for statement in decide_table(wanted, there).statements:
        catalog.run(statement)
    return catalog.tables["db.t"]


# --- tables


NAMES = st.text(alphabet="ab`$日 -", min_size=1, max_size=4).filter(
    lambda name: name.strip() and not name[0] == name[-1] == "`"
)
COLUMNS = st.lists(st.tuples(NAMES, TYPES, WORDS), min_size=1, max_size=4, unique_by=lambda it: it[0])
KEYS = st.text(alphabet="ab'\"\\`${};日é ", min_size=1, max_size=8)
PARAMETERS = st.dictionaries(KEYS, WORDS, max_size=3)


@st.composite
def tables(draw, keys=()):
    found = table(keys=keys, parameters=draw(PARAMETERS))
    found.sd.cols = [hive.FieldSchema(name, kind, comment.replace("\n", " ")) for name, kind, comment in draw(COLUMNS)]
    found.sd.location = f"s3://b/{draw(WORDS)}"
    found.sd.serdeInfo.serializationLib = draw(st.sampled_from([TEXT, PARQUET]))
    found.sd.serdeInfo.parameters = {"serialization.format": "1", **draw(PARAMETERS)}
    found.sd.bucketCols, found.sd.numBuckets = draw(st.sampled_from([([], -1), ([found.sd.cols[0].name], 4)]))
    if comment := draw(WORDS):
        found.parameters["comment"] = comment
    return STORE.as_stored(found)


@given(tables(keys=("k:string", "date:date")))
def test_a_created_table_is_as_wanted(wanted):
    decision = decide_table(wanted, None)
    assert len(decision.statements) == 1
    assert decision.leftovers == (), "there is nothing that a statement does not say"
    assert decide_table(wanted, carried_out(wanted, None)).is_nothing


def test_the_whole_of_a_create():
    wanted = table(("a:int", "date:struct<x:int>"), keys=["k:string"], parameters={"comment": "it's", "numRows": "5"})
    wanted.sd.cols[0].comment = "first"
    (statement,) = decide_table(wanted, None).statements
    assert statement == (
        "CREATE EXTERNAL TABLE IF NOT EXISTS `db`.`t` (`a` int COMMENT 'first', `date` struct<`x`:int>) "
        "COMMENT 'it\\'s' PARTITIONED BY (`k` string) "
        f"ROW FORMAT SERDE '{TEXT}' WITH SERDEPROPERTIES ('serialization.format'='1') "
        "STORED AS INPUTFORMAT 'org.example.In' OUTPUTFORMAT 'org.example.Out' LOCATION 's3://b/t' "
        "TBLPROPERTIES ('pysync.event'='1.7.10.0.0', 'pysync.parameters'='{\"parameters\":[\"comment\"]}', "
        "'pysync.source'='onprem')"
    )


@given(tables(), tables())
def test_after_the_statements_only_the_leftovers_are_left(wanted, there):
    decision = decide_table(wanted, there)
    rest = decide_table(wanted, carried_out(wanted, there))
    assert rest.statements == ()
    assert set(rest.leftovers) <= set(decision.leftovers)
    if not decision.leftovers:
        assert rest.is_nothing


@pytest.mark.parametrize(
    ("there", "wanted", "statement_end"),
    [
        (table(), table(("a:int", "b:string", "c:int")), "ADD COLUMNS (`c` int)"),
        (table(), table(("a:bigint", "b:string")), "REPLACE COLUMNS (`a` bigint, `b` string)"),
        (table(), table(("a:int",)), "REPLACE COLUMNS (`a` int)"),
        (table(), table(location="s3://b/else"), "SET LOCATION 's3://b/else'"),
    ],
)
def test_an_alter_also_marks(there, wanted, statement_end):
    decision = decide_table(wanted, there)
    assert decision.statements[0] == f"ALTER TABLE `db`.`t` {statement_end}"
    assert decision.statements[1:] == (
        "ALTER TABLE `db`.`t` SET TBLPROPERTIES ('pysync.event'='1.7.10.0.0', 'pysync.source'='onprem')",
    )
    assert decision.leftovers == ()


def test_changed_properties_are_one_statement():
    decision = decide_table(table(parameters={"x": "2", "y": "it's"}), table(parameters={"x": "1"}))
    (statement,) = decision.statements
    assert "'x'='2', 'y'='it\\'s'" in statement
    assert "pysync.event" in statement


def test_what_the_engine_sets_is_no_difference():
    there = table(parameters={"last_modified_by": "hadoop", "last_modified_time": "3", "transient_lastDdlTime": "9"})
    there.sd.location += "/"
    there.parameters |= {"numRows": "5"}
    assert decide_table(table(), there).is_nothing
    bare = table()
    bare.sd.serdeInfo.parameters = {}
    assert decide_table(bare, there).is_nothing, "Hive puts the serde's default format there"


def test_another_event_of_the_same_creation_is_no_difference_and_another_creation_is():
    later, anew = Mark("onprem", 1, 9, 10), Mark("onprem", 1, 9, 20)
    assert decide_table(table(mark=later), table()).is_nothing
    assert decide_table(table(mark=anew), table()).statements == (
        "ALTER TABLE `db`.`t` SET TBLPROPERTIES ('pysync.event'='1.9.20.0.0', 'pysync.source'='onprem')",
    )


@pytest.mark.parametrize(
    ("wanted", "there", "left"),
    [
        (table(parameters={"x": "1"}), table(parameters={"x": "1", "y": "2"}), "the removal of properties (y)"),
        (table(("a:int",), serde=PARQUET), table(serde=PARQUET), f"columns of a table with the serde {PARQUET}"),
        (table(("a:int", "b:int")), table(), "a column type that cannot read the old type"),
        (table(("a:int", "b:string", "c:date")), table(), DATES),
        (table(("a:bigint", "b:date")), table(("a:int", "b:date")), DATES),
        (table(serde=PARQUET), table(), "a new serde or format"),
        (table(inputFormat="org.example.Other"), table(), "a new serde or format"),
        (table(bucketCols=["a"], numBuckets=4), table(), "buckets"),
        (table(bucketCols=["a"], numBuckets=4), table(bucketCols=["a"], numBuckets=8), "buckets"),
        (table(), table(sortCols=[hive.Order("a", 1)]), "the sort order in buckets"),
        (table(), table(skewedInfo=hive.SkewedInfo(["a"], [["1"]], {})), "skewed values"),
        (table(parameters={"x": "y" * 270_000}), table(), TOO_LONG),
    ],
)  # fmt: skip
def test_what_no_statement_says_is_left_over(wanted, there, left):
    decision = decide_table(wanted, there)
    assert decision.needed == [left]
    assert decision.statements == ()


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"owner": "ann"}, "the owner"),
        ({"retention": 3}, "the retention"),
        ({"parameters": {"numRows": "5"}}, "statistics"),
        ({"compressed": True}, "compressed"),
        ({"sortCols": [hive.Order("a", 1)]}, "the sort order in buckets"),
        ({"skewedInfo": hive.SkewedInfo(["a"], [["1"]], {})}, "skewed values"),
        ({"storedAsSubDirectories": True}, "stored as subdirectories"),
    ],
)
def test_what_readers_do_not_miss_is_harmless(fields, left):
    for there in (None, table()):
        decision = decide_table(table(**fields), there)
        assert [leftover.description for leftover in decision.leftovers] == [left]
        assert decision.needed == []
        assert len(decision.statements) == (there is None)
    assert decide_table(table(**fields), table(**fields)).is_nothing


def test_other_partition_keys_are_another_table():
    for there in (table(keys=["l:string"]), table()):
        decision = decide_table(table(keys=["k:string"]), there)
        assert decision.statements[0] == "DROP TABLE IF EXISTS `db`.`t`"
        assert decision.statements[1].startswith("CREATE EXTERNAL TABLE")
    assert decide_table(table(keys=["k:string"]), table(keys=["K:string"])).is_nothing


def test_no_statement_says_another_type_of_a_partition_key():
    decision = decide_table(table(keys=["k:string"]), table(keys=["k:int"]))
    assert (decision.statements, decision.needed) == ((), ["the type of a partition key"])


def odd(**fields):
    found = table()
    for name, value in fields.items():
        setattr(found if hasattr(found, name) else found.sd, name, value)
    return found


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (odd(tableType="MANAGED_TABLE"), "a managed table"),
        (odd(tableType="VIRTUAL_VIEW"), "a virtual view"),
        (odd(parameters={"table_type": "ICEBERG"}), "a table with table_type 'ICEBERG'"),
        (odd(parameters={"storage_handler": "org.example.H"}), "a table with storage_handler 'org.example.H'"),
        (odd(location="hdfs://nn/t"), "the location 'hdfs://nn/t', which does not begin with s3://"),
        (odd(location=None), "the location None, which does not begin with s3://"),
        (odd(tableName="a-b"), "the name 'a-b' contains characters other than a-z, 0-9 and _"),
        (odd(cols=columns("a.b:int")), "the name 'a.b' contains a dot or a colon"),
        (odd(cols=columns("a:uniontype<int>")), "'uniontype<int>' is not a type that Athena supports"),
        (odd(partitionKeys=columns("k.l:int")), "the name 'k.l' contains a dot or a colon"),
    ],
)
def test_tables_that_no_statement_may_touch(item, why):
    """A DROP of Athena's deletes the files of an Iceberg table, for one."""
    assert inexpressible_reason(item) == why
    for wanted, there in ((item, None), (item, table()), (table(), item)):
        decision = decide_table(wanted, there)
        assert (decision.statements, decision.needed) == ((), [why])


def test_nothing_of_a_plain_table_is_unsayable():
    assert inexpressible_reason(table()) is None


# --- databases


def database(**fields):
    parameters = fields.pop("parameters", {})
    kept = STORE.as_stored(stamped(hive.Database(name="db", parameters=parameters, **fields), MARK))
    kept.parameters = dict(kept.handle.fields["Parameters"])  # the owner among them
    return kept


@given(WORDS, PARAMETERS, WORDS)
def test_a_created_database_is_as_wanted(comment, parameters, owner):
    wanted = database(
        description=comment,
        locationUri="s3://b/db",
        ownerName=owner.replace("\n", ""),
        ownerType=1,
        parameters=parameters,
    )
    catalog, decision = HiveCatalog(), decide_database(wanted, None)
    assert decision.leftovers == ()
    for statement in decision.statements:
        catalog.run(statement)
    assert decide_database(wanted, catalog.databases["db"]).is_nothing


def test_an_altered_database():
    there = database(parameters={"x": "1"}, ownerName="ann")
    decision = decide_database(database(parameters={"x": "2"}, ownerName="bob"), there)
    (statement,) = decision.statements
    assert "'pysync.owner'='bob'" in statement
    assert "'x'='2'" in statement
    assert decision.leftovers == ()


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"description": "new", "parameters": {"x": "1"}}, "the comment"),
        ({"locationUri": "s3://b/else", "parameters": {"x": "1"}}, "the location"),
        ({}, "the removal of properties (x)"),
    ],
)
def test_what_is_left_over_of_a_database(fields, left):
    there = database(description="old", locationUri="s3://b/db", parameters={"x": "1"})
    decision = decide_database(database(**fields), there)
    assert decision.needed == [left]
    assert decision.statements == ()


def test_a_database_elsewhere_is_left_over():
    assert decide_database(database(locationUri="hdfs://nn/db"), None).needed == [
        "the location 'hdfs://nn/db' does not begin with s3://"
    ]


# --- partitions


KEYED = table(keys=["k:string", "n:int"])


def put(wanted, there=(), *, only_ddl=False, of=KEYED):
    return decide_put(of, wanted, {tuple(item.values): item for item in there}, only_ddl=only_ddl)


@given(
    st.lists(
        st.tuples(WORDS.filter(bool), st.integers(-9, 9).map(str)), min_size=1, max_size=230, unique_by=lambda it: it
    )
)
@settings(max_examples=30)
def test_added_partitions_are_as_wanted_and_dropped_ones_gone(values):
    wanted = [partition(*item, of=KEYED) for item in values]
    catalog = HiveCatalog(tables={"db.t": deepcopy(KEYED)}, partitions={"db.t": {}})
    decision = put(wanted)
    assert len(decision.statements) == -(-len(values) // 100)
    assert decision.leftovers == ()
    for statement in decision.statements:
        catalog.run(statement)
    there = list(catalog.partitions["db.t"].values())
    assert put(wanted, there).is_nothing
    dropped = decide_drop(KEYED, [tuple(item.values) for item in there])
    assert len(dropped.statements) == -(-len(values) // 25)
    for statement in dropped.statements:
        catalog.run(statement)
    assert catalog.partitions["db.t"] == {}


@pytest.mark.parametrize(("count", "adds", "drops"), [(25, 1, 1), (26, 1, 2), (100, 1, 4), (101, 2, 5)])
def test_how_many_go_into_a_statement(count, adds, drops):
    values = [("a", str(number)) for number in range(count)]
    assert len(put([partition(*item, of=KEYED) for item in values]).statements) == adds
    assert len(decide_drop(KEYED, values).statements) == drops


def test_values_that_would_become_others_are_left_over():
    values = [(DEFAULT_PARTITION, "1"), ("a", "07"), ("a", "7")]
    wanted = [partition(*item, of=KEYED) for item in values]
    for decision in (put(wanted), decide_drop(KEYED, values)):
        assert len(decision.statements) == 1
        assert "('a'" not in decision.statements[0]
        assert "`k`='a', `n`='7'" in decision.statements[0]
        assert decision.needed == [
            f"Athena DDL would change the partition value '{DEFAULT_PARTITION}' of k (type string) (partitions: 1)",
            "Athena DDL would change the partition value '07' of n (type int) (partitions: 1)",
        ]


def test_many_long_partitions_are_several_statements():
    wanted = [partition("a", str(number), of=KEYED, location="s3://b/" + "日" * 600) for number in range(200)]
    decision = put(wanted)
    assert len(decision.statements) == 2
    assert all(len(statement.encode()) <= 262_144 for statement in decision.statements)
    longer = [partition("x" * 1000, str(number), of=KEYED, location="s3://b/" + "日" * 1500) for number in range(100)]
    decision = put(longer)
    assert len(decision.statements) == 3
    assert all(len(statement.encode()) <= 262_144 for statement in decision.statements)
    assert sum(statement.count("PARTITION (") for statement in decision.statements) == 100


def test_what_a_partition_has_of_its_own_is_left_over_and_counted():
    wanted = [
        partition("a", "1", of=KEYED, parameters={"numRows": "3"}),
        partition("a", "2", of=KEYED, parameters={"numRows": "3", "x": "y"}),
        partition("a", "3", of=KEYED, cols=columns("z:int")),
        partition("a", "4", of=KEYED, inputFormat="org.example.Other"),
    ]
    decision = put(wanted)
    assert len(decision.statements) == 1
    assert sorted(leftover.description for leftover in decision.leftovers) == [
        "a serde or format that differs from that of the table (partitions: 1)",
        "columns that differ from those of the table (partitions: 1)",
        "parameters (partitions: 1)",
        "statistics (partitions: 2)",
    ]
    assert len(decision.needed) == 3


STORAGE_OF_ITS_OWN = [
    ({"numBuckets": 4, "bucketCols": ["a"]}, {}, "buckets", True),
    ({"sortCols": [hive.Order("a", 1)]}, {}, "the sort order in buckets", True),
    ({"sortCols": [hive.Order("a", 1)]}, {"sortCols": [hive.Order("a", 0)]}, "the sort order in buckets", True),
    ({"skewedInfo": hive.SkewedInfo(["a"], [["1"]], {})}, {}, "skewed values", True),
    ({"storedAsSubDirectories": True}, {}, "stored as subdirectories", True),
    ({"compressed": True}, {}, "compressed", False),
    ({"parameters": {"x": "y"}}, {}, "storage parameters", False),
    # What a statement does not bring, no reader takes for true.
    ({}, {"numBuckets": 4, "bucketCols": ["a"]}, "buckets", True),
    ({}, {"sortCols": [hive.Order("a", 1)]}, "the sort order in buckets", False),
    ({}, {"skewedInfo": hive.SkewedInfo(["a"], [["1"]], {})}, "skewed values", False),
    ({}, {"storedAsSubDirectories": True}, "stored as subdirectories", False),
    ({}, {"compressed": True}, "compressed", False),
]


@pytest.mark.parametrize(("of_table", "of_partition", "what", "needed"), STORAGE_OF_ITS_OWN)
def test_what_an_added_partition_would_inherit_wrongly_is_left_over(of_table, of_partition, what, needed):
    keyed = deepcopy(KEYED)
    vars(keyed.sd).update(of_table)
    plain = {name: getattr(KEYED.sd, name) for name in of_table}
    wanted = [partition("a", "1", of=KEYED, **{**plain, **of_partition})]
    catalog = HiveCatalog(tables={"db.t": deepcopy(keyed)}, partitions={"db.t": {}})
    added = put(wanted, of=keyed)
    catalog.run(added.statements[0])
    there = [STORE.as_stored(it, keyed) for it in catalog.partitions["db.t"].values()]
    for decision in (added, put(wanted, there, of=keyed)):
        assert [(it.description, it.harmless) for it in decision.leftovers] == [(f"{what} (partitions: 1)", not needed)]
    assert put(wanted, wanted, of=keyed).is_nothing


def test_another_location_is_a_statement_each_up_to_some():
    def moved(count, only_ddl):
        names = [str(number) for number in range(count)]
        there = [partition("a", name, of=KEYED) for name in names]
        wanted = [partition("a", name, of=KEYED, location=f"s3://b/new/{name}") for name in names]
        return put(wanted, there, only_ddl=only_ddl)

    decision = moved(MOST_MOVES, False)
    assert decision.statements[0] == "ALTER TABLE `db`.`t` PARTITION (`k`='a', `n`='0') SET LOCATION 's3://b/new/0'"
    assert (len(decision.statements), decision.leftovers) == (MOST_MOVES, ())
    many = moved(MOST_MOVES + 1, False)
    assert (many.statements, many.needed) == ((), [f"another location (partitions: {MOST_MOVES + 1})"])
    assert len(moved(MOST_MOVES + 1, True).statements) == MOST_MOVES + 1


def test_a_partition_with_more_than_another_location_is_left_over_whole():
    there = [partition("a", "1", of=KEYED)]
    wanted = [partition("a", "1", of=KEYED, location="s3://b/new", parameters={"x": "y"})]
    assert put(wanted, there).statements == ()
    assert put(wanted, there).needed == ["parameters (partitions: 1)"]
    assert len(put(wanted, there, only_ddl=True).statements) == 1


def test_a_location_off_s3_is_left_over():
    decision = put([partition("a", "1", of=KEYED, location="hdfs://nn/x")])
    assert decision.statements == ()
    assert decision.needed == ["the location 'hdfs://nn/x' does not begin with s3:// (partitions: 1)"]


@pytest.mark.parametrize("place", ["a b", "${x}", "100%", "a[b]", "a\\b", "a\u00a0b"])
def test_a_new_location_that_is_no_uri_is_left_over(place):
    """Hive reads that of a new table or partition as it is, and that of SET LOCATION as a URI."""
    there, wanted = table(), table(location=f"s3://b/{place}")
    assert decide_table(wanted, None).needed == []
    assert decide_table(wanted, there).needed == [
        f"SET LOCATION does not accept {f's3://b/{place}'!r}, which is not a URI"
    ]


@pytest.mark.parametrize("place", ["it's", "a%20b", "ü", "日本/😀", "$;&=+,@"])
def test_a_new_location_that_is_one_is_said(place):
    assert decide_table(table(location=f"s3://b/{place}"), table()).needed == []


def test_an_empty_comment_is_a_property_like_others():
    (statement,) = decide_table(table(parameters={"comment": ""}), None).statements
    assert "'comment'=''" in statement
    assert " COMMENT " not in statement
