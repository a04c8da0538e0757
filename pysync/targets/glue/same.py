"""Is what Glue has what an input says? Pure, and in Glue's own words.

What Glue sets by itself does not count, nor does the mark of pysync; nor what HMS has no word for. What Glue does not
hold as the source has it was translated already, so that it is not written again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pysync.model.definition import OWN_STATISTICS, SERVER_PARAMETERS, told
from pysync.model.mark import Mark
from pysync.model.names import normalized

# The fields of inputs that come from the source, at any depth; all others are Glue's own.
_FIELDS = frozenset(
    {
        *("Description", "LocationUri", "Parameters"),
        *("Owner", "Retention", "StorageDescriptor", "PartitionKeys"),
        *("ViewOriginalText", "ViewExpandedText", "TableType"),
        *("Columns", "Location", "InputFormat", "OutputFormat", "Compressed", "NumberOfBuckets", "SerdeInfo"),
        *("BucketColumns", "SortColumns", "SkewedInfo", "StoredAsSubDirectories"),
        *("Name", "Type", "Comment", "SerializationLibrary", "Column", "SortOrder"),
        *("SkewedColumnNames", "SkewedColumnValues", "SkewedColumnValueLocationMaps"),
        *("ClassName", "OwnerName", "OwnerType", "ResourceUris", "ResourceType", "Uri"),
    }
)
# What stays at Glue where the source says nothing: it may have been put there by hand.
_KEPT = ("Description", "LastAnalyzedTime", "LocationUri")


def same(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether Glue's `there` is what the input `wanted` says: of databases, tables, partitions or functions."""
    return all(
        _RULES.get(name, _same)(wanted.get(name), there.get(name)) for name in _FIELDS & (wanted.keys() | there.keys())
    )


def differences(wanted: Mapping[str, Any], there: Mapping[str, Any], path: str = "") -> list[str]:
    """In which fields the two differ, by the rules of `same`: `StorageDescriptor.Location: 's3://b' instead of …`."""
    found: list[str] = []
    for name in sorted(_FIELDS & (wanted.keys() | there.keys())):
        mine, its = wanted.get(name), there.get(name)
        if _RULES.get(name, _same)(mine, its):
            continue
        where = f"{path}.{name}" if path else name
        if name == "Parameters":
            found += told(where, *_parameters(mine, its))
        elif isinstance(mine, Mapping) and isinstance(its, Mapping):
            found += differences(mine, its, where)
        else:
            found += told(where, mine, its) or [f"{where}: {its!r} instead of {mine!r}"]
    return found


def up_to_date(wanted: Mapping[str, Any], there: Mapping[str, Any], mark: Mark) -> bool:
    """Whether a database or table needs no write: it is the same, of the same source and the same creation.

    The position in the mark does not count: a definition that has not changed since an older event is still right.
    The creation does, so that a late drop of the object's predecessor does not take it for that one.
    """
    written = Mark.read(there.get("Parameters"))
    ours = written is not None and written.source == mark.source and mark.created in {0, written.created}
    return ours and same(wanted, there)


def same_columns(wanted: Any, there: Any) -> bool:
    """Whether two lists of Glue's columns are the same."""
    return _same(wanted, there)


def filled(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    """The input for an update, which replaces everything: with what stays where the source says nothing."""
    found = {**{name: there[name] for name in _KEPT if there.get(name)}, **wanted}
    location = there.get("StorageDescriptor", {}).get("Location")
    if location and not wanted.get("StorageDescriptor", {}).get("Location"):
        found["StorageDescriptor"] = {**wanted.get("StorageDescriptor", {}), "Location": location}
    return found


def _same(wanted: Any, there: Any) -> bool:
    if isinstance(wanted, Mapping) or isinstance(there, Mapping):
        return same(wanted or {}, there or {})
    if isinstance(wanted, list) or isinstance(there, list):
        mine, its = wanted or [], there or []
        return len(mine) == len(its) and all(map(_same, mine, its))
    return (wanted or None) == (there or None)


def _same_parameters(wanted: Mapping[str, str] | None, there: Mapping[str, str] | None) -> bool:
    mine, its = _parameters(wanted, there)
    return mine == its


def _parameters(
    wanted: Mapping[str, str] | None, there: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters that count, of both."""
    mine = {key: value for key, value in (wanted or {}).items() if key not in SERVER_PARAMETERS}
    unasked = SERVER_PARAMETERS | (OWN_STATISTICS - mine.keys())
    return mine, {key: value for key, value in (there or {}).items() if key not in unasked}


def _same_map(wanted: Mapping[str, str] | None, there: Mapping[str, str] | None) -> bool:
    return (wanted or {}) == (there or {})


def _same_name(wanted: str | None, there: str | None) -> bool:
    return normalized(wanted or "") == normalized(there or "")


def _same_location(wanted: str | None, there: str | None) -> bool:
    return not wanted or wanted.rstrip("/") == (there or "").rstrip("/")


def _same_if_said(wanted: str | None, there: str | None) -> bool:
    return not wanted or wanted == there


_RULES: Mapping[str, Callable[[Any, Any], bool]] = {
    "Column": _same_name,
    "Description": _same_if_said,
    "Location": _same_location,
    "LocationUri": _same_location,
    "Name": _same_name,
    "Parameters": _same_parameters,
    "SkewedColumnValueLocationMaps": _same_map,
}
