"""What an update must not lose: properties that others set, and the columns that partitions have of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.definition import SERVER_PARAMETERS, STATISTICS, WRITTEN_PARAMETERS_KEY
from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.names import TableName, normalized
from pysync.targets.aws import translate
from pysync.targets.aws.translate import database_of, function_of, partition_of, table_of, translated
from pysync.targets.glue.catalog import GET_PAGE, Failures, Sender, chunks, input_of, update_partitions

# Others: properties that others than pysync set on objects of the Data Catalog, which an update must not lose. Pure.
#
# Athena's partition projection, crawlers and Lake Formation keep their settings among an object's parameters, where
# an update replaces everything. So pysync notes in a parameter of the object (the record) which parameters it wrote.
# What is not in it is somebody else's: a comparison does not see it, and an update repeats it. What is in it, and
# gone at the source, goes. The record is written by the call that writes the parameters, so no crash can part the
# two.
#
# Objects are the dicts of Glue's API. How files are read (formats, serde and its parameters) is always the source's.


Fields = Mapping[str, Any]
Patterns = Sequence[str]

_PREFIX = "pysync."
_STORAGE = "StorageDescriptor"
# Never somebody else's, and not in the record: so most partitions need none.
_WRITTEN_BY_PYSYNC = (
    SERVER_PARAMETERS | STATISTICS | {"EXTERNAL", "metadata_location", "previous_metadata_location", "table_type"}
)
_ALL = True
"""In the record, in place of names: everything is pysync's, because the names do not fit into a parameter's value."""


def recorded(fields: Fields) -> Fields:
    """The input of a table, partition or database with the record of its parameters."""
    parameters = {key: value for key, value in _parameters(fields).items() if key != WRITTEN_PARAMETERS_KEY}
    names = {
        "parameters": sorted(it for it in parameters if not _is_written_by_pysync(it)),
        "storage": sorted(_parameters(fields.get(_STORAGE))),
    }
    not_empty = {part: keys for part, keys in names.items() if keys}
    if not not_empty:
        return {**fields, "Parameters": parameters} if "Parameters" in fields else fields
    text = json.dumps(not_empty, separators=(",", ":"))
    if translate.length(text) > translate.VALUE.longest:
        text = json.dumps({"parameters": _ALL, "storage": _ALL})
    return {**fields, "Parameters": {**parameters, WRITTEN_PARAMETERS_KEY: text}}


def without_others(existing: Fields, patterns: Patterns) -> Fields:
    """An object as it was read, without the properties of others that are to be kept."""
    record = _record(existing)
    own = _less(existing, _others(_parameters(existing), record.get("parameters", ()), patterns))
    storage = own.get(_STORAGE)
    if storage:
        others = _others(_parameters(storage), record.get("storage", ()), patterns)
        own = {**own, _STORAGE: _less(storage, others)} if others else own
    return own


def with_others(wanted: Fields, existing: Fields, patterns: Patterns) -> dict[str, Any]:
    """The input of an update of the object that is there, with the properties of others that are to be kept."""
    record = _record(existing)
    merged = _more(wanted, _others(_parameters(existing), record.get("parameters", ()), patterns))
    if keys := wanted.get("PartitionKeys"):
        merged["PartitionKeys"] = columns_with_others(keys, existing.get("PartitionKeys"), patterns)
    storage, existing_storage = wanted.get(_STORAGE), existing.get(_STORAGE) or {}
    if storage:
        merged_storage = _more(storage, _others(_parameters(existing_storage), record.get("storage", ()), patterns))
        if columns := storage.get("Columns"):
            merged_storage["Columns"] = columns_with_others(columns, existing_storage.get("Columns"), patterns)
        merged[_STORAGE] = merged_storage
    return merged


def columns_with_others(
    wanted: Sequence[Fields], existing: Sequence[Fields] | None, patterns: Patterns
) -> list[dict[str, Any]]:
    """Glue's columns with the parameters of the columns of the same names; a source has none."""
    existing_parameters = {column["Name"].lower(): _parameters(column) for column in existing or ()}
    return [
        _more(column, _others(existing_parameters.get(column["Name"].lower(), {}), (), patterns)) for column in wanted
    ]


def _others(parameters: Mapping[str, str], written: Collection[str] | bool, patterns: Patterns) -> dict[str, str]:
    """The parameters that pysync did not write, as far as they match the patterns."""
    if isinstance(written, bool):
        return {}
    unknown = (key for key in parameters if key not in written and not _is_written_by_pysync(key))
    return {key: parameters[key] for key in unknown if any(fnmatchcase(key, pattern) for pattern in patterns)}


def _record(existing: Fields) -> Mapping[str, Collection[str] | bool]:
    """The names in an object's record, by the part that they are in; empty if it has none that can be read."""
    try:
        record = json.loads(_parameters(existing).get(WRITTEN_PARAMETERS_KEY, "{}"))
    except (ValueError, RecursionError):
        return {}
    return {part: _names(names) for part, names in record.items()} if isinstance(record, dict) else {}


def _names(value: Any) -> Collection[str] | bool:
    if isinstance(value, list):
        return frozenset(it for it in value if isinstance(it, str))
    return _ALL if value is _ALL else ()


def _is_written_by_pysync(key: str) -> bool:
    return key in _WRITTEN_BY_PYSYNC or key.startswith(_PREFIX)


def _parameters(item: Fields | None) -> Mapping[str, str]:
    return (item or {}).get("Parameters") or {}


def _less(item: Fields, others: Mapping[str, str]) -> Fields:
    if not others:
        return item
    return {**item, "Parameters": {key: value for key, value in _parameters(item).items() if key not in others}}


def _more(item: Fields, others: Mapping[str, str]) -> dict[str, Any]:
    return {**item, "Parameters": {**others, **_parameters(item)}} if others else dict(item)


# Handles: how a store of Glue's notes, at the structs that it gives out, what it needs to write them back.
#
# The handle of what was read is the object as Glue gave it; the handle of what `as_stored` gives is an Input.


# What stays at Glue where the source says nothing: it may have been put there by hand.
_STAYS = ("Description", "LastAnalyzedTime", "LocationUri", "CreateTableDefaultPermissions")
_LINKS = frozenset({"TargetDatabase", "TargetTable"})
_OBJECTS: Mapping[Any, Callable[[Mapping[str, Any]], Any]] = {
    hive.Database: database_of,
    hive.Table: table_of,
    hive.Partition: partition_of,
    hive.Function: function_of,
}


@dataclass(frozen=True, slots=True)
class Input:
    """The input of Glue's call, and what Glue cannot hold of the object."""

    fields: Mapping[str, Any]
    lost: Sequence[str]


@dataclass(frozen=True, slots=True)
class Handles:
    """Structs with handles. Parameters of others that match `preserved_patterns` stay."""

    preserved_patterns: Sequence[str]

    def read(self, kind: type[Any], answer: Mapping[str, Any] | None) -> Any | None:
        """The struct of an object that was read, without what others set on an object of pysync's."""
        if answer is None:
            return None
        # A partition has no mark.
        is_pysyncs = kind is hive.Partition or Mark.read(answer.get("Parameters")) is not None
        item = _OBJECTS[kind](without_others(answer, self.preserved_patterns) if is_pysyncs else answer)
        item.handle = answer
        if is_link(answer):  # a mark is of what the link leads to: pysync writes none
            item.parameters = {key: value for key, value in item.parameters.items() if key not in MARK_KEYS}
        return item

    def as_stored(self, item: Any, fields: Mapping[str, Any], lost: Sequence[str]) -> Any:
        """The struct that Glue will give back for this input of the item."""
        fields = recorded(fields) if self.preserved_patterns else fields
        expected = _OBJECTS[type(item)]({**fields, **_belonging(item)})
        expected.handle = Input(fields, lost)
        return expected

    def filled(self, wanted: Any, existing: Any) -> dict[str, Any]:
        """The input of an update of the object that is there; both have handles."""
        return self.filled_in(wanted.handle.fields, existing.handle)

    def filled_in(self, wanted: Mapping[str, Any], existing: Mapping[str, Any]) -> dict[str, Any]:
        """The input of an update, which replaces everything: it repeats what stays, and what others set."""
        made = with_others(wanted, existing, self.preserved_patterns)
        complete = {**{name: existing[name] for name in _STAYS if existing.get(name)}, **made}
        location = (existing.get("StorageDescriptor") or {}).get("Location")
        if location and not (made.get("StorageDescriptor") or {}).get("Location"):
            complete["StorageDescriptor"] = {**made.get("StorageDescriptor", {}), "Location": location}
        return complete


def partition_fields(item: Any) -> Mapping[str, Any]:
    """The input of a wanted partition, or of one that was read and may have another location since."""
    if isinstance(item.handle, Input):
        return item.handle.fields
    fields = input_of(item.handle)
    storage = {**(fields.get("StorageDescriptor") or {})}
    if item.sd.location:
        storage["Location"] = item.sd.location
    return {**fields, "StorageDescriptor": storage} if storage else fields


def is_link(answer: Mapping[str, Any]) -> bool:
    """Whether a database or table of Glue's is a resource link of Lake Formation."""
    return not _LINKS.isdisjoint(answer)


def fields_of(table: Any) -> Mapping[str, Any]:
    """A table in Glue's own words; wanted or read."""
    handle = getattr(table, "handle", None)
    if handle is None:
        return translated(table)[0]
    return handle.fields if isinstance(handle, Input) else handle


def columns_of(item: Mapping[str, Any]) -> Sequence[Any]:
    """The columns of one of Glue's objects."""
    return (item.get("StorageDescriptor") or {}).get("Columns") or []


def _belonging(item: Any) -> dict[str, str]:
    """The database of a table or function, which is in no input."""
    return {"DatabaseName": normalized(item.dbName)} if isinstance(item, hive.Table | hive.Function) else {}


# A table's columns in its partitions, which have their own: Athena refuses to read partitions that do not fit.


Policy = Literal["none", "append", "full"]


def columns_for(policy: Policy, partition: Sequence[Any], table: Sequence[Any]) -> Sequence[Any]:
    """The columns that a partition shall have, of its own and its table's."""
    if policy == "full":
        return table
    is_beginning = _types(partition) == _types(table[: len(partition)])
    return table if policy == "append" and is_beginning else partition


def spread(send: Sender, name: TableName, columns: Sequence[Any], policy: Policy, patterns: Sequence[str]) -> int:
    """Give the partitions the columns, as the policy says; how many were changed.

    Parameters of the partitions' columns stay if they match `preserved_patterns`.
    """
    changed = 0
    for page in chunks(send.catalog.partitions(name), GET_PAGE):
        others = [
            partition for partition in map(input_of, page) if _replace_columns(partition, columns, policy, patterns)
        ]
        failures = Failures(name)
        update_partitions(send, name, others, failures)  # one that is gone needs no columns
        failures.raise_any()
        changed += len(others)
    return changed


def same_columns(wanted: Sequence[Any], existing: Sequence[Any]) -> bool:
    """Whether two lists of Glue's columns are the same, but for their parameters, which others set."""
    return [_compared_fields(column) for column in wanted] == [_compared_fields(column) for column in existing]


def _replace_columns(
    partition: dict[str, Any], columns: Sequence[Any], policy: Policy, patterns: Sequence[str]
) -> bool:
    """Put the columns into the partition's input. True if they differ from those that it had."""
    storage = partition.get("StorageDescriptor") or {}
    existing_columns = storage.get("Columns") or []
    wanted = list(columns_for(policy, existing_columns, columns))
    if same_columns(wanted, existing_columns):
        return False
    partition["StorageDescriptor"] = {**storage, "Columns": columns_with_others(wanted, existing_columns, patterns)}
    return True


def _compared_fields(column: Mapping[str, Any]) -> tuple[Any, ...]:
    rest = (column.get(name) or "" for name in ("Type", "Comment"))
    return column["Name"].lower(), *rest


def _types(columns: Sequence[Any]) -> list[tuple[str, str]]:
    return [(column["Name"].lower(), column.get("Type", "")) for column in columns]
