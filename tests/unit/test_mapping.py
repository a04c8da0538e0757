"""NameMapping: what becomes of names, locations and parameters on the way to a target."""

from __future__ import annotations

import copy

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from pysync.base.errors import UsageError
from pysync.model import idl
from pysync.model.definition import PURGE
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.reencoding import Frame
from pysync.replay.window.locations import Locations
from pysync.replay.window.mapping import NameMapping
from pysync.targets.base import Rejected
from tests.support import partition, table
from tests.support.events import change, database, one_of_each_kind, settings

SEGMENTS = st.text("abc=-._ %", min_size=1, max_size=6).filter(lambda it: it != "..")  # which is refused
ROOTS = st.sampled_from(["hdfs://nn", "hdfs://nn:8020", "s3a://bucket", "file:"])
PREFIXES = st.builds(lambda root, parts: "/".join([root, *parts]), ROOTS, st.lists(SEGMENTS, max_size=3))
PATHS = st.lists(SEGMENTS, max_size=3).map(lambda parts: "".join(f"/{part}" for part in parts))
EACH = one_of_each_kind()


def mapping(**values) -> NameMapping:
    return NameMapping.of(settings(**values))


def rewritten(kind: Kind, what=None, **values):
    found, how = change(kind, **(what or copy.deepcopy(EACH[kind]))), mapping(**values)
    shared = copy.deepcopy(found.table)
    if shared is not None:
        how.apply_to(shared)
    return how.apply(found, shared)


@given(PREFIXES, PATHS)
def test_what_is_below_a_prefix_moves_with_it(prefix, path):
    assert Locations.of({prefix: "s3://new/root"}).map(prefix + path) == "s3://new/root" + path


@given(PREFIXES, st.text("abc-._ %=", min_size=1, max_size=5))
def test_a_prefix_matches_at_path_boundaries_only(prefix, rest):
    longer = prefix + rest
    assert Locations.of({prefix: "s3://new"}).map(longer) == longer


@given(PREFIXES, SEGMENTS, PATHS)
def test_the_longest_prefix_wins_in_whatever_order_they_are_given(prefix, segment, path):
    longer = f"{prefix}/{segment}"
    for pairs in ([(prefix, "s3://short"), (longer, "s3://long")], [(longer, "s3://long"), (prefix, "s3://short")]):
        assert Locations.of(dict(pairs)).map(longer + path) == "s3://long" + path


@given(st.none() | st.just("") | PREFIXES | st.text(max_size=20))
def test_a_location_without_a_prefix_stays_as_it_is(location):
    assert Locations().map(location) == location
    assert Locations.of({"gs://elsewhere": "s3://new"}).map(location) == location


@given(st.dictionaries(PREFIXES, PREFIXES, max_size=4))
def test_no_location_is_made_out_of_none(mapping):
    assert Locations.of(mapping).map(None) is None
    assert Locations.of({**mapping, "/": "s3://new"}).map(None) is None
    assert Locations.of({**mapping, "/": "s3://new"}).map("") == ""


@given(PREFIXES, PATHS)
def test_slashes_at_the_end_of_a_prefix_mean_nothing(prefix, path):
    plain = Locations.of({prefix: "s3://new"}).map(prefix + path)
    assert Locations.of({prefix + "/": "s3://new/"}).map(prefix + path) == plain


@pytest.mark.parametrize("source", ["file:/wh", "file:///wh", "file:/wh/", "file:///wh/"])
@pytest.mark.parametrize("location", ["file:/wh/db/t", "file:///wh/db/t"])
def test_a_file_location_has_two_spellings(source, location):
    assert Locations.of({source: "s3://b"}).map(location) == "s3://b/db/t"


@pytest.mark.parametrize(
    ("mapping", "location", "expected"),
    [
        ({"hdfs://a": "hdfs://b"}, "hdfs://a", "hdfs://b"),
        ({"hdfs://a": "hdfs://b"}, "hdfs://ab/x", "hdfs://ab/x"),
        ({"hdfs://a": "hdfs://b"}, "hdfs://a:8020/x", "hdfs://a:8020/x"),
        ({"hdfs://a/": "/"}, "hdfs://a/x", "/x"),
        ({"hdfs://a/": "/"}, "hdfs://a", "/"),
        ({"/": "s3://b"}, "/x", "s3://b/x"),
        ({"file:///": "s3://b"}, "file:/x", "s3://b/x"),
        ({"hdfs://a/x": "hdfs://a/y"}, "hdfs://a/x/x", "hdfs://a/y/x"),
        ({"hdfs://a": "hdfs://b"}, "file:///x", "file:///x"),
    ],
)
def test_locations(mapping, location, expected):
    assert Locations.of(mapping).map(location) == expected


@pytest.mark.parametrize(
    "below", ["/..", "/../x", "/db/../../x", "/./../x", "//../x", "/a/../../wh/b", "/a/b/../../.."]
)
def test_a_location_that_leaves_its_prefix_is_refused(below):
    with pytest.raises(Rejected, match="leaves its prefix hdfs://a/wh by"):
        Locations.of({"hdfs://a/wh": "s3://b"}).map(f"hdfs://a/wh{below}")


@pytest.mark.parametrize("below", ["/a/..", "/a/../b", "/a/./b", "/..a", "/a..", "/a/...", "/a/b/../../c"])
def test_dots_within_a_prefix_stay(below):
    assert Locations.of({"hdfs://a/wh": "s3://b"}).map(f"hdfs://a/wh{below}") == f"s3://b{below}"


@pytest.mark.parametrize("kind", EACH)
def test_with_no_setting_nothing_changes(kind):
    assert rewritten(kind) == change(kind, **EACH[kind])


@pytest.mark.parametrize("kind", EACH)
def test_every_kind_goes_to_the_renamed_database(kind):
    found = rewritten(kind, databases={"DB": "Copy"})
    assert found.database == "copy"
    assert all(key.startswith("copy") for key in found.keys)


@pytest.mark.parametrize("kind", EACH)
def test_every_kind_of_a_table_goes_to_the_renamed_table(kind):
    found = rewritten(kind, databases={"db": "ignored"}, tables={"DB.T": "x.Y"})
    if found.table_name is not None:
        assert found.table_name == TableName("x", "y")
        assert {item.tableName for item in found.before + found.after if hasattr(item, "tableName")} <= {"y"}


def test_a_table_that_is_not_renamed_follows_its_database():
    found = rewritten(Kind.CREATE_TABLE, databases={"db": "copy"}, tables={"db.other": "x.y"})
    assert (found.after[0].dbName, found.after[0].tableName) == ("copy", "t")


def test_both_sides_of_a_foreign_key_are_renamed():
    key = rewritten(Kind.ADD_FOREIGNKEY, tables={"db.t": "c.child", "db.p": "c.parent"}).after[0]
    names = (key.fktable_db, key.fktable_name, key.pktable_db, key.pktable_name)
    assert names == ("c", "child", "c", "parent")


def test_a_dropped_constraint_names_the_table_at_the_target_and_keeps_its_own_name():
    event = rewritten(Kind.DROP_CONSTRAINT, tables={"db.t": "x.y"}).event
    assert dict(event.attributes) == {"database": "x", "table": "y", "constraint": "pk"}


@pytest.mark.parametrize("bad", ["t", "a.b.c", ".t", "a.", ""])
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_rename_that_is_none_is_refused_by_name(bad, side):
    with pytest.raises(UsageError) as refused:
        mapping(tables={bad: "a.b"} if side == "source" else {"a.b": bad})
    assert repr(bad) in str(refused.value)


MOVE = {"locations": {"hdfs://a": "s3://b"}}


def test_the_location_of_a_database_is_mapped():
    found = rewritten(Kind.ALTER_DATABASE, **MOVE)
    assert [item.locationUri for item in found.before + found.after] == ["s3://b/wh/db.db"] * 2


def test_the_location_of_a_table_and_what_points_to_files_is_mapped():
    item = table("db", "t", location="hdfs://a/wh/t")
    item.sd.serdeInfo.parameters = {"path": "hdfs://a/wh/t", "avro.schema.url": "hdfs://a/s.avsc", "field.delim": "/"}
    item.parameters |= {"metadata_location": "hdfs://a/wh/t/m.json", "comment": "see hdfs://a/wh", "path": "relative"}
    found = rewritten(Kind.CREATE_TABLE, {"after": [item]}, **MOVE).after[0]
    assert found.sd.location == "s3://b/wh/t"
    assert found.sd.serdeInfo.parameters == {
        "path": "s3://b/wh/t",
        "avro.schema.url": "s3://b/s.avsc",
        "field.delim": "/",
    }
    assert found.parameters["metadata_location"] == "s3://b/wh/t/m.json"
    assert (found.parameters["comment"], found.parameters["path"]) == ("see hdfs://a/wh", "relative")


def test_the_locations_of_partitions_and_of_their_table_are_mapped():
    keyed = table("db", "t", partition_keys=[("day", "string")], location="hdfs://a/wh/t")
    day = partition(keyed, ["1"])
    day.sd.location = "hdfs://a/wh/t/day=1"
    found = rewritten(Kind.ALTER_PARTITION, {"of": keyed, "before": [day], "after": [day]}, **MOVE)
    assert found.table.sd.location == "s3://b/wh/t"
    assert [item.sd.location for item in found.before + found.after] == ["s3://b/wh/t/day=1"] * 2


def test_the_jars_of_a_function_are_mapped():
    found = rewritten(Kind.CREATE_FUNCTION, databases={"db": "copy"}, **MOVE).after[0]
    assert ([resource.uri for resource in found.resourceUris], found.dbName) == (["s3://b/f"], "copy")


def test_a_view_without_storage_is_no_trouble():
    view = table("db", "v")
    view.sd, view.tableType, view.parameters = None, "VIRTUAL_VIEW", None
    found = rewritten(Kind.CREATE_TABLE, {"after": [view]}, databases={"db": "copy"}, **MOVE).after[0]
    assert (found.dbName, found.sd, found.parameters) == ("copy", None, {})


def test_a_table_without_serde_is_no_trouble():
    item = table("db", "t", location="hdfs://a/t")
    item.sd.serdeInfo = None
    assert rewritten(Kind.CREATE_TABLE, {"after": [item]}, **MOVE).after[0].sd.location == "s3://b/t"


def test_parameters_are_added_replaced_and_left_out():
    item = table("db", "t", parameters={"keep": "1", "owner.team": "x", "spark.sql.a": "y", "replaced": "old"})
    found = rewritten(
        Kind.CREATE_TABLE,
        {"after": [item]},
        parameters={"replaced": "new", "added": "1"},
        drop_parameters=["spark.*", "owner.tea?"],
    )
    assert found.after[0].parameters == {"EXTERNAL": "TRUE", "keep": "1", "replaced": "new", "added": "1"}


@pytest.mark.parametrize(("table_id", "carried"), [(None, False), (7, True)], ids=["2.3 and 3.1", "4"])
@pytest.mark.parametrize("kind", [Kind.CREATE_TABLE, Kind.ALTER_TABLE])
def test_a_purge_is_carried_only_from_a_hive_that_purges(kind, table_id, carried):
    """A client sends no id: what an alter writes is of the Hive that the table was of before."""
    old, new = table("db", "t"), table("db", "t", parameters={PURGE: "TRUE"})
    (old if kind is Kind.ALTER_TABLE else new).id = table_id
    with capture_logs() as logs:
        what = {"after": [new]} | ({"before": [old]} if kind is Kind.ALTER_TABLE else {})
        found = rewritten(kind, what).after[0]
    assert (found.parameters.get(PURGE), found.id) == ("TRUE" if carried else None, None)
    told = [(it["table"], it["parameter"]) for it in logs if it["event"] == "parameter_omitted"]
    assert told == ([] if carried else [("db.t", PURGE)])


def test_a_purge_that_the_settings_ask_for_is_written():
    found = rewritten(Kind.CREATE_TABLE, parameters={PURGE: "true"})
    assert found.after[0].parameters[PURGE] == "true"


def test_a_parameter_that_is_dropped_and_set_is_set():
    found = rewritten(Kind.CREATE_TABLE, parameters={"a": "1"}, drop_parameters=["*"])
    assert found.after[0].parameters == {"a": "1"}


def test_parameters_of_partitions_stay_as_they_are():
    found = rewritten(Kind.ADD_PARTITION, parameters={"a": "1"}, drop_parameters=["*"])
    assert found.after[0].parameters == EACH[Kind.ADD_PARTITION]["after"][0].parameters


def test_a_primary_key_is_renamed_and_otherwise_left_alone():
    before = EACH[Kind.ADD_PRIMARYKEY]["after"][0]
    key = rewritten(Kind.ADD_PRIMARYKEY, tables={"db.t": "x.y"}).after[0]
    assert (key.table_db, key.table_name, key.column_name, key.pk_name) == ("x", "y", before.column_name, "pk")
    assert isinstance(key, hive.SQLPrimaryKey)


def test_a_database_keeps_everything_but_name_and_location():
    item = database("db", description="d", parameters={"a": "1"})
    found = rewritten(Kind.CREATE_DATABASE, {"after": [item]}, databases={"db": "copy"}, **MOVE).after[0]
    assert found == database("copy", description="d", parameters={"a": "1"}, locationUri="s3://b/wh/db.db")


@pytest.mark.parametrize("kind", [Kind.ADD_UNIQUECONSTRAINT, Kind.ADD_NOTNULLCONSTRAINT, Kind.ADD_CHECKCONSTRAINT])
def test_the_constraints_of_newer_hives_are_renamed(kind):
    key = rewritten(kind, tables={"db.t": "x.y"}).after[0]
    assert (key.table_db, key.table_name, key.column_name) == ("x", "y", "id")


def test_the_places_of_skewed_values_are_mapped():
    item = table("db", "t", location="hdfs://a/wh/t")
    item.sd.skewedInfo = hive.SkewedInfo(["id"], [["1"]], {("1",): "hdfs://a/wh/t/id=1"})
    found = rewritten(Kind.CREATE_TABLE, {"after": [item]}, locations={"hdfs://a/wh": "s3://b"}).after[0]
    assert found.sd.skewedInfo.skewedColValueLocationMaps == {("1",): "s3://b/t/id=1"}


def test_a_materialized_view_is_made_of_the_renamed_tables():
    item = table("db", "t")
    item.creationMetadata = idl.CreationMetadata(dbName="db", tblName="t", tablesUsed={"db.a", "other.b"})
    counted = idl.SourceTable(table=hive.Table(dbName="db", tableName="a"), insertedCount=3)
    item.creationMetadata.sourceTables = [counted]
    made = rewritten(Kind.CREATE_TABLE, {"after": [item]}, databases={"db": "copy"}).after[0].creationMetadata
    assert [(it.table.dbName, it.table.tableName, it.insertedCount) for it in made.sourceTables] == [("copy", "a", 3)]
    assert (made.dbName, made.tblName) == ("copy", "t")
    assert made.tablesUsed == {"copy.a", "other.b"}


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("har://hdfs-a:8020/wh/t/data.har", "har://hdfs-dr:8020/wh/t/data.har"),
        ("har://hdfs-a:8020/elsewhere/data.har", "har://hdfs-a:8020/elsewhere/data.har"),
        ("har://s3a-b/t/data.har/p=1", "har://s3a-c/t/data.har/p=1"),
        ("har:///wh/t/data.har", "har:///wh/t/data.har"),  # on the default file system, whichever that is
    ],
)
def test_an_archive_is_mapped_as_the_file_system_that_it_is_in(location: str, expected: str) -> None:
    places = Locations.of({"hdfs://a:8020/wh": "hdfs://dr:8020/wh", "s3a://b": "s3a://c"})
    assert places.map(location) == expected


def test_the_parameters_of_a_partition_that_are_locations_are_mapped() -> None:
    mapping = NameMapping.of(settings(locations={"hdfs://a": "hdfs://dr"}, parameters={"mine": "of tables alone"}))
    part = partition(table("db", "t"), ["1"])
    part.parameters = {"avro.schema.url": "hdfs://a/x.avsc", "original_location": "hdfs://a/t/p=1", "numRows": "1"}
    mapping.apply_to_partition(part, Frame(plain=False))
    assert part.parameters == {
        "avro.schema.url": "hdfs://dr/x.avsc",
        "original_location": "hdfs://dr/t/p=1",
        "numRows": "1",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("db", "copy"),
        ("db.*", "copy.*"),
        ("db.f()", "copy.f()"),
        ("db.t", "x.y"),
        ("db.u", "copy.u"),
        ("other.t", "other.t"),
    ],
)
def test_the_key_of_anything_is_mapped(name: str, expected: str) -> None:
    assert mapping(databases={"db": "copy"}, tables={"db.t": "x.y"}).key(name) == expected


def test_a_rename_of_all_tables_of_a_database_renames_no_database() -> None:
    how = mapping(tables={"db.*": "x.*"})
    assert [how.key(it) for it in ("db", "db.*", "db.f()", "db.t")] == ["db", "db.*", "db.f()", "x.t"]


def test_rivals_are_other_names_of_the_source_for_the_same_name() -> None:
    merged = {"databases": {"db": "both", "twin": "both"}}
    assert mapping(**merged).rivals_of("db") == ["twin", "both"], "which is not renamed"
    assert mapping(**merged).rivals_of(TableName("twin", "t")) == [TableName("db", "t"), TableName("both", "t")]
    assert mapping(databases={"db": "copy"}).rivals_of("other") == []


def test_the_managed_location_of_a_database_is_mapped() -> None:
    item = database("db")
    item.managedLocationUri = "hdfs://a/managed/db.db"
    found = rewritten(Kind.CREATE_DATABASE, {"after": [item]}, **MOVE).after[0]
    assert found.managedLocationUri == "s3://b/managed/db.db"


def test_the_second_change_that_an_event_means_is_mapped_too() -> None:
    found = change(Kind.DROP_TABLE, before=[table("db", "t")])
    found.then = change(Kind.CREATE_TABLE, after=[table("db", "t", location="hdfs://a/t")])
    then = mapping(databases={"db": "copy"}, **MOVE).apply(found).then
    assert then is not None
    assert (then.table_name, then.after[0].sd.location) == (TableName("copy", "t"), "s3://b/t")


ANEW = {"copy": {"rewrite": "orc"}}


def encoded(of: object, **values: object) -> list[bool]:
    """Whether the files of each are re-encoded."""
    return [it.form is not None for it in mapping(**values).apply_to(of).values()]


@pytest.mark.parametrize(
    ("to", "moves"), [("hdfs://b", True), ("hdfs://a", False), ("hdfs://a/", False), ("hdfs://a//", False)]
)
@pytest.mark.parametrize("location", ["hdfs://a/t", "hdfs://a/t/", "hdfs://a"])
def test_only_files_that_are_somewhere_else_at_the_target_are_re_encoded(location: str, to: str, moves: bool) -> None:
    assert encoded(parquet(location), locations={"hdfs://a": to}, **ANEW) == [moves]


def parquet(location: str, name: str = "t", **more: object) -> object:
    item = table("db", name, location=location, **more)
    item.sd.inputFormat, item.sd.serdeInfo.serializationLib = (
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    )
    return item


def test_whether_files_move_is_for_the_policy_of_the_table_to_say() -> None:
    policies = [
        {"name": "near", "include": ["db.near"], "locations": {"hdfs://a": "hdfs://a"}},
        {"name": "far", "include": ["db.far"], "locations": {"hdfs://a": "hdfs://b"}},
    ]
    assert encoded(parquet("hdfs://a/t", "far"), policies=policies, **ANEW) == [True]
    assert encoded(parquet("hdfs://a/t", "near"), policies=policies, **ANEW) == [False]


def test_both_sides_of_an_altered_partition_are_re_encoded_with_what_its_table_says() -> None:
    keyed = parquet("hdfs://a/t", partition_keys=[("day", "string")])
    before, after = partition(keyed, ["1"]), partition(keyed, ["1"])
    before.sd.location = after.sd.location = "hdfs://a/t/day=1"
    what = {"of": keyed, "before": [before], "after": [after]}
    found = rewritten(Kind.ALTER_PARTITION, what, locations={"hdfs://a": "hdfs://b"}, **ANEW)
    assert [source.form is not None for source in found.sources.values()] == [True]
    assert found.before[0].sd == found.after[0].sd
