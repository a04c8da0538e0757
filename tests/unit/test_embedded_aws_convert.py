"""Glue's objects survive the way into Hive's form and back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pysync.lab.aws import conversion
from pysync.lab.aws.mirror import _changed
from pysync.model.wire import decode, encode

NAMES = st.text(min_size=1, max_size=8)
PARAMETERS = st.dictionaries(NAMES, st.text(max_size=8), max_size=3)
COLUMNS = st.lists(
    st.fixed_dictionaries({"Name": NAMES, "Type": NAMES}, optional={"Comment": st.text(max_size=8)}), max_size=3
)
STORAGE = st.fixed_dictionaries(
    {
        "Columns": COLUMNS,
        "Location": st.text(min_size=1).map("s3://b/{}".format),
        "InputFormat": NAMES,
        "OutputFormat": NAMES,
        "Compressed": st.booleans(),
        "NumberOfBuckets": st.integers(-1, 100),
        "SerdeInfo": st.fixed_dictionaries(
            {"SerializationLibrary": NAMES, "Parameters": PARAMETERS}, optional={"Name": NAMES}
        ),
        "BucketColumns": st.lists(NAMES, max_size=2),
        "SortColumns": st.lists(st.fixed_dictionaries({"Column": NAMES, "SortOrder": st.integers(0, 1)}), max_size=2),
        "Parameters": PARAMETERS,
        "SkewedInfo": st.just({"SkewedColumnNames": [], "SkewedColumnValues": [], "SkewedColumnValueLocationMaps": {}}),
        "StoredAsSubDirectories": st.booleans(),
    }
)
TABLES = st.fixed_dictionaries(
    {
        "Name": NAMES,
        "Retention": st.integers(0, 1000),
        "StorageDescriptor": STORAGE,
        "PartitionKeys": COLUMNS,
        "TableType": NAMES,
        "Parameters": PARAMETERS,
    },
    optional={"LastAccessTime": st.integers(1, 2**31 - 1), "ViewOriginalText": NAMES, "ViewExpandedText": NAMES},
)


def over_the_wire(struct: Any) -> Any:
    """The struct as it comes back from Java."""
    return decode(type(struct), encode(struct))


@given(table=TABLES)
def test_a_table_survives(table: dict[str, Any]) -> None:
    hive = over_the_wire(conversion.table_to_hive({**table, "DatabaseName": "d"}))
    assert hive.dbName == "d"
    assert conversion.table_to_glue(hive) == table


@given(table=TABLES, storage=STORAGE, values=st.lists(NAMES, max_size=3), parameters=PARAMETERS)
def test_a_partition_survives(
    table: dict[str, Any], storage: dict[str, Any], values: list[str], parameters: dict[str, str]
) -> None:
    part = {"Values": values, "StorageDescriptor": storage, "Parameters": parameters}
    owner = conversion.table_to_hive({**table, "DatabaseName": "d"})
    assert conversion.partition_to_glue(over_the_wire(conversion.partition_to_hive(part, owner))) == part


@given(table=TABLES, values=st.lists(NAMES, max_size=3))
def test_a_partition_without_storage_has_its_tables(table: dict[str, Any], values: list[str]) -> None:
    owner = conversion.table_to_hive({**table, "DatabaseName": "d"})
    found = conversion.partition_to_glue(over_the_wire(conversion.partition_to_hive({"Values": values}, owner)))
    assert found["StorageDescriptor"] == table["StorageDescriptor"]


@given(name=NAMES, description=st.none() | st.text(max_size=8), parameters=PARAMETERS, path=st.none() | NAMES)
def test_a_database_survives(name: str, description: str | None, parameters: dict[str, str], path: str | None) -> None:
    members = {"Description": description, "LocationUri": f"s3://b/{path}" if path else None}
    database = {"Name": name, "Parameters": parameters, **{key: value for key, value in members.items() if value}}
    found = conversion.database_to_glue(over_the_wire(conversion.database_to_hive(database)))
    assert {key: value for key, value in found.items() if value or key == "Parameters"} == database


def test_a_location_that_hive_made_up_is_left_out() -> None:
    hive = conversion.database_to_hive({"Name": "d", "LocationUri": "s3://embedded-warehouse/default/d.db"})
    assert "LocationUri" not in conversion.database_to_glue(hive)


@given(glue=TABLES, before=TABLES, after=TABLES)
def test_only_what_a_statement_changed_is_written(
    glue: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> None:
    known = {**glue, "Description": "only Glue knows", "DatabaseName": "not to be written"}
    members = (*glue, "Description")
    assert _changed(known, before, before, members) == {**glue, "Description": "only Glue knows"}
    new = _changed(known, before, after, members)
    assert (new["Description"], "DatabaseName" in new) == ("only Glue knows", False)
    for name in {*before, *after} - {"StorageDescriptor"}:
        kept = glue.get(name) if before.get(name) == after.get(name) else after.get(name)
        assert new.get(name) == kept, name
    for name, value in after["StorageDescriptor"].items():
        kept = glue if before["StorageDescriptor"][name] == value else after
        assert new["StorageDescriptor"][name] == kept["StorageDescriptor"][name], name
