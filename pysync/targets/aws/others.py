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
from pysync.targets.aws import limits

Fields = Mapping[str, Any]
Patterns = Sequence[str]

_PREFIX = "pysync."
_STORAGE = "StorageDescriptor"
# Never somebody else's, and not in the record: so most partitions need none.
_OURS = SERVER_PARAMETERS | STATISTICS | {"EXTERNAL", "metadata_location", "previous_metadata_location", "table_type"}
_ALL = True
"""In the record, in place of names: everything is pysync's, because the names do not fit into a parameter's value."""


def recorded(fields: Fields) -> Fields:
    """The input of a table, partition or database with the record of its parameters."""
    parameters = {key: value for key, value in _parameters(fields).items() if key != WRITTEN_PARAMETERS_KEY}
    names = {
        "parameters": sorted(it for it in parameters if not _is_ours(it)),
        "storage": sorted(_parameters(fields.get(_STORAGE))),
    }
    found = {part: its for part, its in names.items() if its}
    if not found:
        return {**fields, "Parameters": parameters} if "Parameters" in fields else fields
    text = json.dumps(found, separators=(",", ":"))
    if limits.length(text) > limits.VALUE.longest:
        text = json.dumps({"parameters": _ALL, "storage": _ALL})
    return {**fields, "Parameters": {**parameters, WRITTEN_PARAMETERS_KEY: text}}


def without_others(there: Fields, keep: Patterns) -> Fields:
    """An object as it was read, without the properties of others that are to be kept."""
    record = _record(there)
    found = _less(there, _others(_parameters(there), record.get("parameters", ()), keep))
    storage = found.get(_STORAGE)
    if storage:
        others = _others(_parameters(storage), record.get("storage", ()), keep)
        found = {**found, _STORAGE: _less(storage, others)} if others else found
    return found


def with_others(wanted: Fields, there: Fields, keep: Patterns) -> dict[str, Any]:
    """The input of an update of the object that is there, with the properties of others that are to be kept."""
    record = _record(there)
    found = _more(wanted, _others(_parameters(there), record.get("parameters", ()), keep))
    if keys := wanted.get("PartitionKeys"):
        found["PartitionKeys"] = columns_with_others(keys, there.get("PartitionKeys"), keep)
    storage, its = wanted.get(_STORAGE), there.get(_STORAGE) or {}
    if storage:
        made = _more(storage, _others(_parameters(its), record.get("storage", ()), keep))
        if columns := storage.get("Columns"):
            made["Columns"] = columns_with_others(columns, its.get("Columns"), keep)
        found[_STORAGE] = made
    return found


def columns_with_others(
    wanted: Sequence[Fields], there: Sequence[Fields] | None, keep: Patterns
) -> list[dict[str, Any]]:
    """Glue's columns with the parameters of the columns of the same names; a source has none."""
    its = {column["Name"].lower(): _parameters(column) for column in there or ()}
    return [_more(column, _others(its.get(column["Name"].lower(), {}), (), keep)) for column in wanted]


def _others(parameters: Mapping[str, str], written: Collection[str] | bool, keep: Patterns) -> dict[str, str]:
    """The parameters that pysync did not write, as far as they match the patterns."""
    if isinstance(written, bool):
        return {}
    left = (key for key in parameters if key not in written and not _is_ours(key))
    return {key: parameters[key] for key in left if any(fnmatchcase(key, pattern) for pattern in keep)}


def _record(there: Fields) -> Mapping[str, Collection[str] | bool]:
    """The names in an object's record, by the part that they are in; empty if it has none that can be read."""
    try:
        found = json.loads(_parameters(there).get(WRITTEN_PARAMETERS_KEY, "{}"))
    except (ValueError, RecursionError):
        return {}
    return {part: _names(names) for part, names in found.items()} if isinstance(found, dict) else {}


def _names(value: Any) -> Collection[str] | bool:
    if isinstance(value, list):
        return frozenset(it for it in value if isinstance(it, str))
    return _ALL if value is _ALL else ()


def _is_ours(key: str) -> bool:
    return key in _OURS or key.startswith(_PREFIX)


def _parameters(item: Fields | None) -> Mapping[str, str]:
    return (item or {}).get("Parameters") or {}


def _less(item: Fields, others: Mapping[str, str]) -> Fields:
    if not others:
        return item
    return {**item, "Parameters": {key: value for key, value in _parameters(item).items() if key not in others}}


def _more(item: Fields, others: Mapping[str, str]) -> dict[str, Any]:
    return {**item, "Parameters": {**others, **_parameters(item)}} if others else dict(item)
