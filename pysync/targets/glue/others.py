"""Others: properties that others than pysync set on objects of the Data Catalog, which an update must not lose. Pure.

Athena's partition projection, crawlers and Lake Formation keep their settings among an object's parameters, where an
update replaces everything. So pysync notes in a parameter of the object (the record) which parameters it wrote. What is
not in it is somebody else's: a comparison does not see it, and an update repeats it. What is in it, and gone at the
source, goes. The record is written by the call that writes the parameters, so no crash can part the two.

Objects are the dicts of Glue's API. How files are read (formats, serde and its parameters) is always the source's.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pysync.model.definition import SERVER_PARAMETERS, STATISTICS, WRITTEN_PARAMETERS_KEY
from pysync.targets.aws import texts

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
    if texts.length(text) > texts.VALUE.longest:
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
