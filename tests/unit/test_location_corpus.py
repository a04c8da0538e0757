"""Every location in a definition is mapped, left or refused: each key, wherever it stands, with every scheme."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.reencoding import Frame
from pysync.model.table_formats import data_location
from pysync.replay.window.mapping import NameMapping
from pysync.targets.base import Rejected
from tests.support import partition, table
from tests.support.events import database, settings
from tests.support.location_corpus import BAGS, FIELDS, LOCATION_KEYS, OTHER_KEYS, PREFIXES, REFUSED, VALUES, Key, Value

MAPPING = NameMapping.of(settings(locations=PREFIXES))
NO_FRAME = Frame(plain=False)
by_key = pytest.mark.parametrize("key", LOCATION_KEYS, ids=[it.name for it in LOCATION_KEYS])


def item_of(kind: str) -> Any:
    """A new object of the source."""
    if kind == "database":
        return database("db")
    if kind == "function":
        return hive.Function("f", "db", "C", "ann", 1, 0, 1, [hive.ResourceUri(1, "")])
    of = table("db", "t", location="")
    of.sd.skewedInfo = hive.SkewedInfo([], [], {})
    of.sd.parameters = {}
    return of if kind == "table" else partition(of, ["1"])


def mapped(item: Any) -> Any:
    """The object as the target gets it."""
    if isinstance(item, hive.Partition):
        MAPPING.apply_to_partition(item, NO_FRAME)
    else:
        MAPPING.apply_to(item)
    return item


def wrong(new: Callable[[str], Any], read: Callable[[Any], Any]) -> list[str]:
    """The values of the corpus that become something else than it says; `new` makes an object with one of them."""
    return [f"{it.name}: {found}" for it in VALUES if (found := _became(new(it.text), read)) != _wanted(it)]


def _became(item: Any, read: Callable[[Any], Any]) -> Any:
    try:
        return read(mapped(item))
    except Rejected as error:
        return REFUSED if "leaves its prefix" in str(error) else str(error)


def _wanted(value: Value) -> str:
    return value.text if value.mapped is None else value.mapped


def with_value(kind: str, path: str, value: Any) -> Any:
    """A new object with this value at the end of a path."""
    item = item_of(kind)
    owner, _, name = path.rpartition(".")
    setattr(attrgetter(owner)(item) if owner else item, name, value)
    return item


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_a_location(field: str) -> None:
    kind, _, path = field.partition(".")
    assert wrong(lambda text: with_value(kind, path, text), attrgetter(path)) == []


@pytest.mark.parametrize("kind", ["table", "partition"])
def test_where_skewed_values_are(kind: str) -> None:
    def skewed(text: str) -> Any:
        return with_value(kind, "sd.skewedInfo", hive.SkewedInfo(["a"], [["1"]], {("1",): text}))

    assert wrong(skewed, lambda it: it.sd.skewedInfo.skewedColValueLocationMaps[("1",)]) == []


def test_the_resources_of_a_function() -> None:
    def function(text: str) -> Any:
        return with_value("function", "resourceUris", [hive.ResourceUri(1, text)])

    assert wrong(function, lambda it: it.resourceUris[0].uri) == []


@by_key
@pytest.mark.parametrize("bag", BAGS)
def test_a_parameter_that_is_a_location(bag: str, key: Key) -> None:
    kind, _, path = bag.partition(".")
    assert wrong(lambda text: with_value(kind, path, {key.name: text}), lambda it: attrgetter(path)(it)[key.name]) == []


@pytest.mark.parametrize("key", OTHER_KEYS, ids=[it.name for it in OTHER_KEYS])
@pytest.mark.parametrize("bag", [*BAGS, "database.parameters"])
def test_a_parameter_that_is_no_location_stays(bag: str, key: Key) -> None:
    kind, _, path = bag.partition(".")
    for value in VALUES:
        item = with_value(kind, path, {key.name: value.text})
        assert attrgetter(path)(mapped(item))[key.name] == value.text


@by_key
def test_no_reader_looks_for_a_location_among_the_parameters_of_a_database(key: Key) -> None:
    found = mapped(database("db", parameters={key.name: "hdfs://a/wh"}))
    assert found.parameters == {key.name: "hdfs://a/wh"}


@pytest.mark.parametrize("path", ["path", "PATH", "Path"])
@pytest.mark.parametrize("provider", ["csv", "json", "text", "delta"])
def test_where_the_files_of_a_table_of_spark_are_is_mapped(provider: str, path: str) -> None:
    for value in VALUES:
        if value.mapped == REFUSED or not value.text:
            continue  # the first is above, and without a location the placeholder stays
        item = item_of("table")
        item.parameters = {"spark.sql.sources.provider": provider}
        item.sd.location = "hdfs://a/wh/t-__PLACEHOLDER__"
        item.sd.serdeInfo.parameters = {path: value.text}
        assert data_location(item) == value.text
        assert data_location(mapped(item)) == (value.mapped or value.text)


def test_the_files_of_a_paimon_table_are_where_its_parameter_says() -> None:
    item = item_of("table")
    item.sd.location = "hdfs://a/wh/t"
    item.parameters = {"paimon_location": "s3a://b/t"}
    assert data_location(item) == "hdfs://a/wh/t"
    item.parameters["storage_handler"] = "org.apache.paimon.hive.PaimonStorageHandler"
    assert data_location(item) == "s3a://b/t"
    assert data_location(mapped(item)) == "s3a://c/t"


def test_the_corpus_is_whole() -> None:
    """Each key once, each with who reads it; the readers of the formats that pysync knows are all there."""
    names = [it.name for it in (*LOCATION_KEYS, *OTHER_KEYS)]
    assert len({*names}) == len(names)
    assert all(it.read_by for it in (*LOCATION_KEYS, *OTHER_KEYS))
    assert {it.read_by.partition(":")[0] for it in LOCATION_KEYS} >= {"Hive", "Spark", "Iceberg", "Hudi", "Athena"}
