"""No field of a Hive 4 object is lost between two Hive 4 servers: what both answer is compared field by field, raw.

The objects are sent with every field that the IDL of Hive 4 has. What a server does not keep it does not answer with
(write ids of its clients, capabilities, statistics within an object, file metadata); what it answers must be the same,
but for what it sets by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TType

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import CAPABILITIES, Metastore
from pysync.model.definition import SERVER_PARAMETERS, STATISTICS
from tests.support import partition, table
from tests.versions import raw
from tests.versions.conftest import Report
from tests.versions.raw import Items, Pairs, Raw, texts
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need, settle

HIVE_4 = "4.1.0"

# By what marks a struct: the fields that its server sets by itself.
_DATABASE_OWN = {9: "createTime"}
_TABLE_OWN = {4: "createTime", 19: "writeId", 25: "id"}
_PARTITION_OWN = {4: "createTime", 10: "writeId"}
_FUNCTION_OWN = {6: "createTime"}
_CREATION_OWN = {6: "materializationTime"}
_SERVERS_PARAMETERS = SERVER_PARAMETERS | STATISTICS  # the latter are the affair of test_traps.py
_UNKEPT = (TType.STRUCT, Raw({1: (TType.BYTE, 1), 2: (TType.BYTE, 1), 3: (TType.LIST, texts("data"))}))


class Side:
    """One of the two metastores, asked by raw calls."""

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore

    def call(self, name: str, *args: tuple[int, Any]) -> Any:
        """A call with these arguments, of the types given; what it answers, raw."""
        sent = Raw(dict(enumerate(args, 1)))
        return self._metastore.call(lambda client: raw.call(client, name, sent))

    def table(self, database: str, name: str) -> Raw:
        request = hive.GetTableRequest(database, name, CAPABILITIES)
        found: Raw = self.call("get_table_req", struct(Raw.of(request))).get(1)
        return found

    def answers(self) -> Iterator[tuple[str, Raw]]:
        """What it answers of every object of the database `full`, by name, without what it sets by itself."""
        yield "database full", without(self.call("get_database", text("full")), _DATABASE_OWN)
        for name in sorted(self.call("get_all_tables", text("full")).items):
            word = name.decode()
            yield f"table {word}", of_table(self.table("full", word))
        found = self.call("get_partitions_by_names", text("full"), text("t"), (TType.LIST, texts("k=1", "k=2")))
        for item in found.items:
            yield f"partition {item.get(1).items}", without(item, _PARTITION_OWN)
        yield "function", without(self.call("get_function", text("full"), text("fn")), _FUNCTION_OWN)


def text(word: str) -> tuple[int, bytes]:
    return TType.STRING, word.encode()


def struct(value: Raw) -> tuple[int, Raw]:
    return TType.STRUCT, value


def without(item: Raw, own: Mapping[int, str]) -> Raw:
    """Without the fields and parameters that its server sets."""
    return Raw({at: (kind, _told(value)) for at, (kind, value) in item.fields.items() if at not in own})


def _told(value: Any) -> Any:
    if not isinstance(value, Pairs) or value.kinds != (TType.STRING, TType.STRING):
        return value
    return replace(value, pairs=tuple(pair for pair in value.pairs if pair[0].decode() not in _SERVERS_PARAMETERS))


def of_table(item: Raw) -> Raw:
    """A table, and the tables within it if it is a materialized view."""
    found = without(item, _TABLE_OWN)
    made = found.get(16)
    if made is None:
        return found
    used = [source.having(1, TType.STRUCT, of_table(source.get(1))) for source in made.get(7).items]
    used.sort(key=lambda source: bytes(source.get(1).get(1)))  # both are sets, though one is sent as a list
    made = without(made, _CREATION_OWN).having(7, TType.LIST, Items(TType.STRUCT, tuple(used)))
    made = made.having(4, TType.SET, Items(TType.STRING, tuple(sorted(made.get(4).items))))
    return found.having(16, TType.STRUCT, made)


def full_database(root: str) -> Raw:
    plain = hive.Database(
        name="full", description="d", locationUri=f"{root}/full", parameters={"a": "1"}, ownerName="bob", ownerType=2
    )
    newer = {8: text("hive"), 9: (TType.I32, 5), 10: text(f"{root}/managed"), 11: (TType.I32, 1)}
    return with_fields(Raw.of(plain), newer)


def full_serde(word: str) -> Raw:
    plain = hive.SerDeInfo(f"name{word}", "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", {"x": word})
    newer = {4: text(f"about{word}"), 5: text(f"Ser{word}"), 6: text(f"Deser{word}"), 7: (TType.I32, 1)}
    return with_fields(Raw.of(plain), newer)


def full_table(root: str, name: str, word: str = "") -> Raw:
    """A table with every field of Hive 4's IDL."""
    plain = table("full", name, partition_keys=[("k", "string")], location=f"{root}/{name}")
    plain.sd.serdeInfo, plain.retention, plain.lastAccessTime = full_serde(word), 9, 8
    dictionary = Raw({1: (TType.MAP, Pairs((TType.STRING, TType.LIST), ((b"k", texts("v")),)))})
    newer = {
        14: (TType.BOOL, False),
        15: (TType.BOOL, True),
        17: text("hive"),
        18: (TType.I32, 1 if word else 2),
        19: (TType.I64, 7),
        20: (TType.BOOL, True),
        22: (TType.BYTE, 8),
        23: (TType.LIST, texts("EXTREAD")),
        24: (TType.LIST, texts("EXTWRITE")),
        25: (TType.I64, 99),
        26: _UNKEPT,
        27: struct(dictionary),
        28: (TType.I64, 1),
    }
    return with_fields(Raw.of(plain), newer)


def full_partition(of: Any, root: str, value: str, word: str = "") -> Raw:
    plain = partition(of, [value])
    plain.sd.location, plain.sd.serdeInfo = f"{root}/t/k={value}", full_serde(word)
    plain.parameters = {"p": word}
    newer = {9: text("hive"), 10: (TType.I64, 5), 11: (TType.BOOL, True), 13: _UNKEPT}
    return with_fields(Raw.of(plain), newer)


def full_view(root: str, base: Raw) -> Raw:
    """A materialized view, with how many rows of its table have changed since."""
    plain = table("full", "mv", location=f"{root}/mv")
    plain.tableType, plain.parameters, plain.rewriteEnabled = "MATERIALIZED_VIEW", {}, True
    plain.viewOriginalText = plain.viewExpandedText = "SELECT 1"
    used = Raw({1: struct(base), 2: (TType.I64, 3), 3: (TType.I64, 4), 4: (TType.I64, 5)})
    made = Raw(
        {
            1: text("hive"),
            2: text("full"),
            3: text("mv"),
            4: (TType.SET, texts("full.base")),
            5: text("1:2::"),
            7: (TType.LIST, Items(TType.STRUCT, (used,))),
        }
    )
    return with_fields(Raw.of(plain), {16: struct(made)})


def with_fields(item: Raw, fields: Mapping[int, tuple[int, Any]]) -> Raw:
    return Raw({**item.fields, **fields})


def create_all(side: Side, metastore: Metastore, root: str) -> None:
    side.call("create_database", struct(full_database(root)))
    side.call("create_table", struct(full_table(root, "t")))
    side.call("create_table", struct(Raw.of(table("full", "base", location=f"{root}/base"))))
    side.call("create_table", struct(full_view(root, side.table("full", "base"))))
    of = metastore.table("full", "t")
    side.call("add_partition", struct(full_partition(of, root, "1")))
    request = Raw.of(hive.AddPartitionsRequest("full", "t", [], True, False))
    two = Items(TType.STRUCT, (full_partition(of, root, "2"),))
    side.call("add_partitions_req", struct(request.having(3, TType.LIST, two)))
    new = hive.Function("fn", "full", "org.example.F", "ann", 2, 3, 1, [hive.ResourceUri(1, f"{root}/f.jar")])
    side.call("create_function", struct(Raw.of(new).having(9, TType.STRING, "hive")))


def alter_all(side: Side, metastore: Metastore, root: str) -> None:
    there = side.call("get_database", text("full"))
    altered = there.having(10, TType.STRING, f"{root}/managed_elsewhere").having(6, TType.STRING, "eve")
    side.call("alter_database", text("full"), struct(altered))
    side.call("alter_table", text("full"), text("t"), struct(full_table(root, "t", "2")))
    view = side.table("full", "mv")
    side.call("alter_table", text("full"), text("mv"), struct(view.having(15, TType.BOOL, False)))
    of = metastore.table("full", "t")
    side.call("alter_partition", text("full"), text("t"), struct(full_partition(of, root, "1", "2")))


def lost(source: Side, target: Side) -> list[str]:
    """What differs, by object and field."""
    wanted, there = dict(source.answers()), dict(target.answers())
    found = [f"{name}: missing or extra" for name in wanted.keys() ^ there.keys()]
    for name in wanted.keys() & there.keys():
        found += [f"{name}: {it}" for it in raw.differences(wanted[name], there[name])]
    return sorted(found)


@pytest.mark.timeout(300)
def test_no_field_is_lost_between_two_hive_4(tmp_path: Path, report: Report) -> None:
    need(report, HIVE_4)
    root = f"file:{tmp_path}/data"
    with Stage(tmp_path, source=metastore_of(HIVE_4), target=metastore_of(HIVE_4)) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as here, Metastore(stage.target.uri) as far:
            source, target = Side(here), Side(far)
            create_all(source, here, root)
            settle(stage)
            assert stage.status()["targets"][0]["parked"] == 0, stage.sidecar_log.read_text()
            assert source.table("full", "t").fields.keys() >= {7, 15, 17, 18}, "the source has kept them"
            assert source.table("full", "mv").get(16).get(7).items[0].get(2) == 3
            assert lost(source, target) == []
            alter_all(source, here, root)
            settle(stage)
            assert source.table("full", "t").get(18) == 1, "the source has changed them"
            assert source.table("full", "mv").get(15) is False
            assert lost(source, target) == []
            assert stage.status()["targets"][0]["parked"] == 0
