"""Messages of the notification log, as real metastores wrote them, become the events that a listener would send."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given, settings
from hypothesis import strategies as st
from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.transport.TTransport import TMemoryBuffer

from pysync.capture.notifications import (
    LEFT_OUT,
    REPLAYED,
    Notification,
    Stamp,
    UndecodableMessage,
    decode_notification,
    messages,
    thrift_json,
)
from pysync.metastore.errors import MetastoreUnavailable
from pysync.model.catalogs import catalog_of
from pysync.model.change import Change, decode_change
from pysync.model.event import Event, Kind
from pysync.model.objects import OBJECTS
from pysync.model.wire import UnreadableEvent, decode, decode_event, encode, encode_event
from pysync.replay.window.policy import Policy
from tests.support import partition, storage, table
from tests.support.events import settings as settings_of
from tests.support.notifications import MORE, VERSIONS, Source, recorded, row

STAMP = Stamp("onprem", "notification-log:onprem", 7)

# Kind, keys, and numbers of objects before and after, of the stream that all three metastores were sent.
ALIKE = [
    (Kind.CREATE_DATABASE, {"sales"}, 0, 1),
    (Kind.CREATE_TABLE, {"sales.plain"}, 0, 1),
    (Kind.CREATE_TABLE, {"sales.keyed"}, 0, 1),
    (Kind.ADD_PARTITION, {"sales.keyed"}, 0, 3),
    (Kind.ADD_PARTITION, {"sales.keyed"}, 0, 1),
    (Kind.ALTER_PARTITION, {"sales.keyed"}, 1, 1),
    (Kind.ALTER_PARTITION, {"sales.keyed"}, 1, 1),
    (Kind.ALTER_TABLE, {"sales.plain"}, 1, 1),
    (Kind.ALTER_TABLE, {"sales.keyed"}, 1, 1),
    (Kind.ALTER_TABLE, {"sales.plain", "sales.renamed"}, 1, 1),
    (Kind.CREATE_FUNCTION, {"sales.fn()"}, 0, 1),
    (Kind.INSERT, {"sales.renamed"}, 0, 0),
    (Kind.CREATE_TABLE, {"sales.v"}, 0, 1),
    (Kind.DROP_FUNCTION, {"sales.fn()"}, 1, 0),
    (Kind.DROP_TABLE, {"sales.renamed"}, 1, 0),
    (Kind.CREATE_TABLE, {"sales.renamed"}, 0, 1),
    (Kind.DROP_DATABASE, {"sales.*"}, 1, 0),
    (Kind.CREATE_DATABASE, {"kept"}, 0, 1),
]
NOT_IN_2_3 = [
    (Kind.ALTER_DATABASE, {"sales"}, 1, 1),
    (Kind.ADD_PRIMARYKEY, {"sales.renamed"}, 0, 1),
    (Kind.ADD_FOREIGNKEY, {"sales.keyed", "sales.renamed"}, 0, 1),
    (Kind.DROP_CONSTRAINT, {"sales.keyed"}, 0, 0),
    (Kind.DROP_CONSTRAINT, {"sales.renamed"}, 0, 0),
]


SOURCE = Source(
    *(
        hive.Database(name=name, locationUri=f"hdfs://a/{name}.db", parameters={"read": "now"})
        for name in ("sales", "kept")
    )
)


def event_of(found: Notification) -> Event:
    event = decode_notification(found, STAMP, SOURCE)
    assert event is not None, f"{found} gave no event"
    return event


def change_of(found: Notification) -> Change:
    change = decode_change(event_of(found), 1)
    assert change is not None, f"{found} is not replayed"
    return change


def changes_of(version: str, kind: Kind) -> list[Change]:
    return [change_of(found) for found in recorded(version) if found.kind == kind.value]


def repacked(found: Notification, **changes: Any) -> Notification:
    """The same row with other values in its message; None takes a key out."""
    reported = {**messages.unpacked(found), **changes}
    text = json.dumps({key: value for key, value in reported.items() if value is not None})
    if str(found.format).startswith("gzip"):
        text = base64.b64encode(gzip.compress(text.encode())).decode()
    return replace(found, message=text.encode())


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_message_is_an_event_that_can_be_replayed(version):
    for found in recorded(version):
        event = event_of(found)
        assert decode_event(encode_event(event)) == event
        assert decode_change(event, 1) is not None
        assert (event.source, event.instance, event.sequence) == ("onprem", "notification-log:onprem", 7)
        assert (event.notification_id, event.time_ms) == (found.id, found.time * 1000)
        assert event.catalog == (None if version == "2.3" else "hive")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_stream_of_ddl_is_told_as_it_was(version):
    changes = [change_of(found) for found in recorded(version)]
    reported = [(change.kind, set(change.keys), len(change.before), len(change.after)) for change in changes]
    assert_in_order(ALIKE, reported)
    if version == "2.3":
        assert not {kind for kind, *_ in reported} & {kind for kind, *_ in NOT_IN_2_3}
    else:
        assert_in_order(NOT_IN_2_3, reported)


def assert_in_order(wanted: list[Any], reported: list[Any]) -> None:
    rest = iter(reported)
    for item in wanted:
        assert item in rest, f"{item} was not told, or not in its place"


def test_the_recordings_have_every_kind_that_is_replayed():
    kinds = {found.kind for version in VERSIONS for found in recorded(version)}
    kinds |= {found.kind for version in MORE for found in recorded(version)}
    assert kinds & LEFT_OUT.keys() == {"OPEN_TXN"}
    assert kinds - LEFT_OUT.keys() == REPLAYED.keys()
    assert set(REPLAYED.values()) <= OBJECTS.keys()
    assert not REPLAYED.keys() & LEFT_OUT.keys()


@pytest.mark.parametrize("version", VERSIONS)
def test_objects_come_as_they_were_sent(version):
    created = changes_of(version, Kind.CREATE_TABLE)
    plain, keyed, view = created[0].after[0], created[1].after[0], created[2].after[0]
    assert plain.parameters["note"] == 'it\'s "ü" 漢 \U0001f600'
    assert (plain.sd.location, plain.tableType) == ("file:/tmp/pysync-recording/plain", "EXTERNAL_TABLE")
    assert [(key.name, key.type) for key in keyed.partitionKeys] == [("day", "string"), ("n", "int")]
    assert (view.tableType, view.viewOriginalText) == ("VIRTUAL_VIEW", "select id from renamed")
    altered = changes_of(version, Kind.ALTER_TABLE)
    assert [column.name for column in altered[0].before[0].sd.cols] == ["id"]
    assert [(column.name, column.comment) for column in altered[0].after[0].sd.cols][1:] == [("name", "added")]
    assert altered[1].after[0].sd.cols[1].type == "map<string,int>"


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_come_as_they_were_sent(version):
    added, one = changes_of(version, Kind.ADD_PARTITION)
    assert [found.values for found in added.after] == [["a/b=c:d", "0"], ["a/b=c:d", "1"], ["a/b=c:d", "2"]]
    assert added.after[0].sd.location == "file:/tmp/pysync-recording/keyed/day=a%2Fb%3Dc%3Ad/n=0"
    assert one.after[0].values == ["ü é", "7"]
    altered, renamed = changes_of(version, Kind.ALTER_PARTITION)
    assert altered.after[0].parameters["note"] == "new"
    assert (renamed.before[0].values, renamed.after[0].values) == (["ü é", "7"], ["z", "8"])
    dropped = [found.values for change in changes_of(version, Kind.DROP_PARTITION) for found in change.before]
    assert dropped == [["a/b=c:d", "0"], ["a/b=c:d", "1"], ["z", "8"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_functions_come_with_their_resources_and_go_by_name(version):
    (created,), (dropped,) = changes_of(version, Kind.CREATE_FUNCTION), changes_of(version, Kind.DROP_FUNCTION)
    function = created.after[0]
    assert (function.dbName, function.functionName, function.className) == ("sales", "fn", "org.F")
    assert function.resourceUris[0].uri == "file:/tmp/pysync-recording/f.jar"
    assert (dropped.before[0].dbName, dropped.before[0].functionName) == ("sales", "fn")


def test_hive_2_3_names_the_partition_that_rows_were_inserted_into():
    whole, part = changes_of("2.3", Kind.INSERT)
    assert dict(whole.event.attributes) == {"database": "sales", "table": "renamed"}
    assert part.event.attributes["partition.day"] == "z"
    assert part.event.attributes["partition.n"] == "8"


@pytest.mark.parametrize("version", ["3.1", "4.0"])
def test_later_versions_bring_the_table_and_partition_of_an_insert(version):
    whole, part = changes_of(version, Kind.INSERT)
    assert (whole.table.tableName, whole.after, whole.event.attributes["replace"]) == ("renamed", [], "false")
    assert (part.table.tableName, part.after[0].values) == ("keyed", ["z", "8"])


def test_a_dropped_object_of_which_only_the_name_is_told_has_no_create_time():
    dropped = [*changes_of("2.3", Kind.DROP_TABLE), *changes_of("2.3", Kind.DROP_DATABASE)]
    assert [change.created for change in dropped] == [0] * len(dropped)
    assert not any(change.deletes_files for change in dropped)


@pytest.mark.parametrize("version", ["3.1", "4.0"])
def test_a_dropped_table_has_its_create_time_where_it_is_told(version):
    first = changes_of(version, Kind.CREATE_TABLE)[0].created
    assert first > 0
    assert changes_of(version, Kind.DROP_TABLE)[0].created == first  # it was renamed in between


def test_a_created_database_of_which_only_the_name_is_told_is_read_at_the_source():
    created = changes_of("2.3", Kind.CREATE_DATABASE)
    assert [change.after[0].name for change in created] == ["sales", "kept"]
    assert created[0].after[0].parameters == {"read": "now"}


def test_a_created_database_that_is_gone_by_now_is_left_out():
    assert decode_notification(recorded("2.3")[0], STAMP, Source()) is None


@pytest.mark.parametrize("version", ["3.1", "4.0"])
def test_a_created_database_that_is_told_whole_is_not_read(version):
    source = Source()
    event = decode_notification(recorded(version)[0], STAMP, source)
    assert event is not None
    assert decode(hive.Database, event.after[0]).description == "ü"
    assert source.asked == []


@pytest.mark.parametrize("version", ["3.1", "4.0"])
def test_fields_that_this_pysync_does_not_know_survive(version):
    found = next(found for found in recorded(version) if found.kind == "CREATE_TABLE")
    raw = event_of(found).after[0]
    assert b"\x0b\x00\x11\x00\x00\x00\x04hive" in raw


@pytest.mark.parametrize("version", ["3.1", "4.0"])
@pytest.mark.parametrize(("reported", "kept"), [("true", "true"), ("false", "false"), (None, None)])
def test_a_truncate_is_marked(version, reported, kept):
    for kind in (Kind.ALTER_TABLE, Kind.ALTER_PARTITION):
        found = next(found for found in recorded(version) if found.kind == kind.value)
        assert event_of(repacked(found, isTruncateOp=reported)).attributes.get("truncate") == kept


def test_alter_partitions_of_hive_4_1_is_many_in_one():
    (found,) = (found for found in recorded("4.2-more") if found.kind == "ALTER_PARTITIONS")
    change = change_of(found)
    assert change.kind is Kind.ALTER_PARTITION
    values = [["a/b", "1"], ["b", "2"]]
    assert [it.values for it in change.after] == values == [it.values for it in change.before]
    assert [it.parameters["numRows"] for it in change.after] == ["42", "42"]


@pytest.mark.parametrize("kind", [*LEFT_OUT, "UNHEARD_OF", ""])
def test_kinds_that_are_not_replayed_are_left_out_whatever_their_message(kind):
    assert decode_notification(row(1, kind=kind, message="?", format=None), STAMP, SOURCE) is None


def test_the_docs_name_exactly_the_kinds_that_are_left_out():
    page = (Path(__file__).parents[2] / "docs" / "versions.md").read_text(encoding="utf-8")
    section = page.partition("\n## What is left out\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")]
    assert set(re.findall(r"[A-Z]+(?:_[A-Z]+)+|RELOAD", " ".join(rows))) == LEFT_OUT.keys()


@pytest.mark.parametrize(("catalog", "of"), [(None, None), ("", None), ("hive", None), ("spark", "spark")])
def test_a_row_says_the_catalog_where_its_message_does_not(catalog, of):
    for kind in ("DROP_FUNCTION", "DROP_DATABASE", "DROP_CONSTRAINT"):
        found = next(found for found in recorded("3.1") if found.kind == kind)
        made = decode_notification(replace(found, catalog=catalog), STAMP, SOURCE)
        assert catalog_of(decode_change(made, 1).database) == of


def test_a_change_of_no_partitions_is_no_event():
    found = next(found for found in recorded("3.1") if found.kind == "ADD_PARTITION")
    assert decode_notification(repacked(found, partitionListJson=[]), STAMP, SOURCE) is None


@pytest.mark.parametrize(
    "damaged",
    [
        {"message": b"not json"},
        {"message": b""},
        {"message": b"[1]"},
        {"message": b"[" * 100_000},
        {"message": b'{"db": "\xff"}'},
        {"format": None},
        {"format": "xml"},
        {"format": "gzip(json-2.0)"},
        {"format": "gzip(json-2.0)", "message": base64.b64encode(b"no gzip")},
        {"format": "gzip(json-2.0)", "message": base64.b64encode(gzip.compress(b"{}")[:-4])},
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_message_that_cannot_be_read_says_so_with_its_id_and_name(damaged):
    found = replace(recorded("2.3")[1], **damaged)
    with pytest.raises(UndecodableMessage, match=r"notification 2 \(CREATE_TABLE of sales\.Plain\) cannot be read: \S"):
        decode_notification(found, STAMP, SOURCE)


def test_a_message_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(messages, "LARGEST", 1000)
    bomb = base64.b64encode(gzip.compress(json.dumps({"db": "d" * 1001, "dbJson": "x"}).encode()))
    found = replace(recorded("4.0")[0], message=bomb)
    with pytest.raises(UndecodableMessage, match="larger than 1000 bytes"):
        decode_notification(found, STAMP, SOURCE)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_message_without_one_of_its_parts_is_refused_or_thin(version):
    """Whatever is taken out of whichever message, nothing else is raised, and no half of an event comes."""
    for found in recorded(version):
        for key in messages.unpacked(found):
            try:
                event = decode_notification(repacked(found, **{key: None}), STAMP, SOURCE)
            except UndecodableMessage:
                continue
            if event is not None:
                assert decode_change(event, 1) is not None


@settings(deadline=None)
@given(version=st.sampled_from(VERSIONS), at=st.integers(0, 24), cut=st.integers(0, 400), put=st.text(max_size=5))
def test_garbage_in_a_message_is_refused_or_harmless(version, at, cut, put):
    found = recorded(version)[at]
    spoiled = replace(found, message=found.message[:cut] + put.encode() + found.message[cut + len(put) :])
    with suppress(UndecodableMessage):
        decode_notification(spoiled, STAMP, SOURCE)


# --- constraints and statistics


@pytest.mark.parametrize("version", MORE)
def test_unique_and_not_null_constraints_come_as_they_were_added(version):
    ((unique,), (not_null,)) = (change_of(found).after for found in recorded(version)[:2])
    assert (unique.column_name, unique.key_seq, unique.uk_name) == ("id", 1, "the_uk")
    assert (not_null.column_name, not_null.nn_name) == ("id", "the_nn")
    for column in (unique, not_null):
        assert (column.enable_cstr, column.validate_cstr, column.rely_cstr) == (True, False, True)
        assert (column.table_db, column.table_name) == ("facts", "t")


def test_default_and_check_constraints_of_hive_4_come_with_their_expressions():
    ((default,), (check,)) = (change_of(found).after for found in recorded("4.2-more")[2:4])
    assert (default.default_value, default.dc_name) == ("7", "the_default")
    assert (check.check_expression, check.dc_name) == ("id > 0", "the_check")


@pytest.mark.parametrize("version", MORE)
def test_a_dropped_constraint_is_told_by_name_whatever_its_kind(version):
    (found,) = changes_of(version, Kind.DROP_CONSTRAINT)
    assert dict(found.event.attributes) == {"database": "facts", "table": "t", "constraint": "the_uk"}


def test_statistics_of_tables_and_partitions_are_told_by_name():
    reported = [change_of(found) for found in recorded("4.2-more") if "COL_STAT" in found.kind]
    assert {change.kind for change in reported} == {Kind.COLUMN_STATISTICS}
    assert [(change.table_name.table, change.event.attributes.get("partitions")) for change in reported] == [
        ("t", None),
        ("p", "day=a%2Fb/n=1"),
        ("p", "day=b/n=2"),
        ("p", "day=a%2Fb/n=1"),
        ("t", None),
        ("t", None),
        ("p", "day=b/n=2"),
        ("p", "day=b/n=2"),
    ]


@pytest.mark.parametrize("version", MORE)
def test_no_version_tells_whether_a_drop_deleted_files(version):
    kept, purged = (messages.unpacked(found).keys() for found in recorded(version) if found.table in {"purged", "kept"})
    assert kept == purged
    drops = [*changes_of(version, Kind.DROP_TABLE), *changes_of(version, Kind.DROP_PARTITION)]
    assert not any(change.deletes_files for change in drops)


@pytest.mark.parametrize("version", MORE)
def test_a_database_that_is_dropped_with_its_tables_comes_after_them(version):
    last = [(found.kind, found.table) for found in recorded(version)[-3:]]
    assert last[-1] == ("DROP_DATABASE", None)
    assert set(last[:2]) == {("DROP_TABLE", "t"), ("DROP_TABLE", "p")}


# --- where a change came from

EAST = {"pysync.source": "east", "pysync.event": "17.5.100.0.0"}
SHOP = hive.Database(name="shop", parameters=EAST)


def stamped(name: str = "t", parameters: dict[str, str] | None = None) -> Any:
    return table("shop", name, parameters=EAST if parameters is None else parameters)


def visited(found: Notification, *items: Any) -> tuple[str, ...]:
    event = decode_notification(found, STAMP, Source(*items))
    assert event is not None
    return event.visited


def told(kind: str, **message: Any) -> Notification:
    objects = {key: in_thrift_json(it) if hasattr(it, "thrift_spec") else it for key, it in message.items()}
    return row(1, kind=kind, database="shop", table="t", message=json.dumps({"db": "shop", "table": "t", **objects}))


@pytest.mark.parametrize(
    "found",
    [
        lambda: told("CREATE_TABLE", tableObjJson=stamped()),
        lambda: told("ALTER_TABLE", tableObjBeforeJson=stamped(parameters={}), tableObjAfterJson=stamped()),
        lambda: told("DROP_TABLE", tableObjJson=stamped()),
        lambda: told(
            "ADD_PARTITION", tableObjJson=stamped(), partitionListJson=[in_thrift_json(hive.Partition(["1"]))]
        ),
        lambda: told("INSERT", tableObjJson=stamped()),
        lambda: told("CREATE_DATABASE", dbJson=SHOP),
        lambda: told("ALTER_DATABASE", dbObjBeforeJson=SHOP, dbObjAfterJson=SHOP),
        lambda: told("UPDATE_TBL_COL_STAT_EVENT", tableObjJson=stamped()),
    ],
)
def test_what_a_sidecar_wrote_came_from_the_cluster_that_its_mark_names(found):
    source = Source()
    event = decode_notification(found(), STAMP, source)
    assert event is not None
    assert event.visited == ("east", "onprem")
    assert source.asked == []


def test_a_change_is_not_sent_back_to_where_it_came_from_but_goes_on_to_others():
    change = change_of(told("CREATE_TABLE", tableObjJson=stamped()))
    back, on = (Policy.of(settings_of(cluster=cluster)) for cluster in ("east", "north"))
    assert back.scope(change) is None
    assert back.rule_against_change(change) == "the change came from the cluster east"
    assert on.scope(change) is change


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        (lambda: told("DROP_CONSTRAINT", dbName="shop", tableName="T", constraintName="c"), "shop.t"),
        (lambda: told("DELETE_TBL_COL_STAT_EVENT", colName="id"), "shop.t"),
        (lambda: told("INSERT"), "shop.t"),
        (lambda: told("DROP_FUNCTION", functionName="f"), "shop"),
        (lambda: told("CREATE_FUNCTION", functionObjJson=hive.Function("f", "shop", "org.F")), "shop"),
    ],
)
def test_an_object_without_a_mark_came_from_where_what_it_is_part_of_came(found, asked):
    source = Source(stamped(), SHOP)
    event = decode_notification(found(), STAMP, source)
    assert event is not None
    assert event.visited == ("east", "onprem")
    assert set(source.asked) == {asked}


def test_a_client_that_gives_a_table_new_parameters_makes_it_its_own():
    mine = stamped(parameters={"note": "pysync.source is not here"})
    assert visited(told("ALTER_TABLE", tableObjBeforeJson=stamped(), tableObjAfterJson=mine)) == ("onprem",)


@pytest.mark.parametrize(
    "parameters", [{}, {"pysync.source": "onprem", "pysync.event": "1.2.3.4.5"}, {"pysync.source": "east"}]
)
def test_without_a_mark_of_another_cluster_a_change_came_from_nowhere(parameters):
    assert visited(told("CREATE_TABLE", tableObjJson=stamped(parameters=parameters))) == ("onprem",)


def test_a_part_of_what_is_gone_by_now_came_from_nowhere():
    assert visited(told("DROP_CONSTRAINT", dbName="shop", tableName="t", constraintName="c")) == ("onprem",)
    created = told("CREATE_FUNCTION", functionObjJson=hive.Function("f", "shop", "org.F"))
    assert decode_notification(created, STAMP, Source()) is None, "the drop of the database tells more"


def test_a_source_that_cannot_show_one_object_does_not_stop_the_log():
    source = Source()
    source.items["shop.t"] = hive.MetaException("it is broken")
    event = decode_notification(told("INSERT"), STAMP, source)
    assert event is not None
    assert event.visited == ("onprem",)
    source.items["shop.t"] = MetastoreUnavailable("it is away")
    with pytest.raises(MetastoreUnavailable):
        decode_notification(told("INSERT"), STAMP, source)


# --- objects in thrift's JSON


def in_thrift_json(struct: Any) -> str:
    buffer = TMemoryBuffer()
    struct.write(TJSONProtocol(buffer))
    return buffer.getvalue().decode()


texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
numbers = st.integers(-(2**31), 2**31 - 1)


@st.composite
def tables(draw):
    made = table(draw(texts), draw(texts), parameters=draw(st.dictionaries(texts, texts, max_size=4)))
    made.createTime, made.retention = draw(numbers), draw(numbers)
    made.sd = storage([(name, draw(texts)) for name in draw(st.lists(texts, max_size=4))], location=draw(texts))
    made.sd.compressed = draw(st.booleans())
    made.sd.sortCols = [hive.Order(draw(texts), draw(numbers))]
    made.partitionKeys = None if draw(st.booleans()) else made.sd.cols
    return made


@settings(deadline=None)
@given(tables())
def test_any_object_is_transcoded_byte_for_byte(made):
    text = in_thrift_json(made)
    assert thrift_json.to_binary(text) == encode(made) == thrift_json._from_protocol(text)


@pytest.mark.parametrize(
    ("written", "number"),
    [('"Infinity"', math.inf), ('"-Infinity"', -math.inf), ("-1.5e300", -1.5e300), ("7", 7.0)],
)
def test_doubles_are_transcoded_as_java_writes_them(written, number):
    text = f'{{"1":{{"dbl":{written}}},"3":{{"i64":-9223372036854775808}}}}'
    assert thrift_json.to_binary(text) == encode(hive.DoubleColumnStatsData(number, None, -(2**63), None))


def test_sets_and_maps_with_numbers_as_keys_are_transcoded():
    text = (
        '{"1":{"map":["i32","str",2,{"7":"a","-8":"b"}]},"2":{"set":["i64",2,5,6]},"3":{"map":["tf","i8",1,{"1":3}]}}'
    )
    assert thrift_json.to_binary(text) == thrift_json._from_protocol(text)


def test_a_skewed_table_whose_map_has_lists_as_keys_is_transcoded():
    """Hive writes such a map as what is no JSON."""
    text = '{"1":{"str":"t"},"3":{"map":["lst","str",1,{["str",2,"a","b"]:"hdfs://x"}]},"4":{"i32":5}}'
    with pytest.raises(ValueError, match="quotes"):
        json.loads(text)
    assert thrift_json.to_binary(text) == (
        b"\x0b\x00\x01\x00\x00\x00\x01t\r\x00\x03\x0f\x0b\x00\x00\x00\x01"
        b"\x0b\x00\x00\x00\x02\x00\x00\x00\x01a\x00\x00\x00\x01b\x00\x00\x00\x08hdfs://x\x08\x00\x04\x00\x00\x00\x05\x00"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "7",
        '{"1":7}',
        '{"1":{"str":7}}',
        '{"x":{"str":"a"}}',
        '{"1":{"i32":99999999999}}',
        '{"1":{"what":"a"}}',
        '{"1":{"lst":["str",5,"a"]}}',
        '{"1":{"lst":["str",1,"a"]},"2":{"rec":' * 200,
        '{"1":{"rec":' * 100 + "{}" + "}}" * 100,
    ],
)
def test_what_is_no_object_is_unreadable(text):
    if text.endswith("}}" * 100):
        text = text.replace("{}", '{["a"]}')  # thrift's own reader gets it
    with pytest.raises(UnreadableEvent):
        thrift_json.to_binary(text)


def test_a_partition_of_a_described_table_is_named_by_its_keys_in_their_order():
    keyed = table("db", "t", partition_keys=[("z", "string"), ("a", "string")])
    assert partition(keyed, ["1", "2"]).values == ["1", "2"]
    reported = {"tableObjJson": in_thrift_json(keyed), "partitions": [{"a": "2", "z": "1"}]}
    change = change_of(row(1, kind="DROP_PARTITION", message=json.dumps(reported)))
    assert change.before[0].values == ["1", "2"]
