"""Are two definitions the same? Pure.

What the server sets by itself does not count, nor does pysync's mark: an alter that changes nothing else is not worth a
write, and two clusters that replicate to each other would never come to rest. Statistics do count: a server counts the
files of a directory that it finds, and a planner would believe that a table without counts is empty. A field that the
definition leaves unset (None) does not count either: the server decides it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model import idl
from pysync.model.data_versions import without_version
from pysync.model.definition import (
    ACCURATE,
    OWN_STATISTICS,
    PURGE,
    SERVER_PARAMETERS,
    STATISTICS,
    differing,
    without_vain_purge,
)
from pysync.model.difference import Difference
from pysync.model.names import normalized

_SERVERS_FIELDS = frozenset(
    {
        "createTime",
        "id",
        "handle",  # what a store notes of an object: pysync.targets.store
        "lastAccessTime",
        "materializationTime",
        "privileges",
        "temporary",
        "validTxnList",
    }
)
_NEWER = {kind: frozenset(field[2] for field in fields) for kind, fields in idl.NEWER_FIELDS.items()}
# A server that knows the newer fields of a struct always sets this one of them.
_WITNESS = {hive.Database: "type", hive.Table: "ownerType"}
# Hive 4 makes managed tables external ones (MetastoreDefaultTransformer), and says so in the first of these.
_TRANSLATED = "TRANSLATED_TO_EXTERNAL"
TRANSLATION = frozenset({_TRANSLATED, "EXTERNAL", PURGE})
# Scheme, authority and path. It matches any text, so that a malformed location is compared and not refused.
_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)


def same(wanted: Any, existing: Any) -> bool:
    """Whether `existing` is what `wanted` describes: two Databases, Tables, Partitions, Functions, ..."""
    existing = _without_vain_purge(wanted, existing)
    if is_translated(wanted, existing):
        return _same_fields(wanted, existing, _SERVERS_FIELDS | {"tableType"})
    return _same_value(wanted, existing)


def alike(one: Any, existing: Any) -> bool:
    """The same for two objects from different metastores: statistics are ignored."""
    return same(countless(one), countless(existing))


def countless(item: Any) -> Any:
    """The object without its statistics. Not a deep copy; the object itself if it has none."""
    parameters = getattr(item, "parameters", None)
    if not parameters or STATISTICS.isdisjoint(parameters):
        return item
    return _with_parameters(item, {key: value for key, value in parameters.items() if key not in STATISTICS})


def _without_vain_purge(wanted: Any, existing: Any) -> Any:
    """The existing table without a property that its metastore ignores and mappings leave out; else as it is."""
    if not isinstance(existing, hive.Table) or PURGE in (wanted.parameters or {}):
        return existing
    parameters = without_vain_purge(existing)
    return existing if len(parameters) == len(existing.parameters or ()) else _with_parameters(existing, parameters)


def _with_parameters(item: Any, parameters: dict[str, str]) -> Any:
    copy = item.__class__.__new__(item.__class__)  # shallow; copy.copy would go through pickle's protocol
    copy.__dict__.update(item.__dict__)
    copy.parameters = parameters
    return copy


def differences(wanted: Any, existing: Any) -> list[str]:
    """The fields in which the two differ, as `sd.location: 'file:/b' instead of 'file:/a'`; none if they are the same.

    Both may be lists of structs, as the columns of a constraint are.
    """
    return list(dict.fromkeys(map(str, fields(wanted, existing))))


def fields(wanted: Any, existing: Any) -> list[Difference]:
    """The same with the values of both; `existing` has the old ones."""
    if same(wanted, existing):
        return []
    if isinstance(wanted, list):
        pairs = zip(wanted, existing, strict=True) if len(wanted) == len(existing) else ()
        differing_fields = [it for one, other in pairs for it in _fields("", one, other, _SERVERS_FIELDS)]
        return differing_fields or differing("columns", wanted, existing)
    existing = _without_vain_purge(wanted, existing)
    ignored = _SERVERS_FIELDS | {"tableType"} if is_translated(wanted, existing) else _SERVERS_FIELDS
    return _fields("", wanted, existing, ignored)


def same_location(wanted: str | None, existing: str | None) -> bool:
    """Whether two locations are the same; the server's default stands for a part that `wanted` leaves out.

    What that default is, a metastore does not say: it may be any file system, an object store too. So where `wanted`
    has no scheme, the path alone decides. Where it has one, a location without any is another.
    Where `wanted` has no version (pysync.model.data_versions), any one of it will do.
    """
    if not wanted:
        return True
    scheme, authority, path = _parts(wanted)
    existing_scheme, existing_authority, existing_path = _parts(existing or "")
    is_there = path in {existing_path, without_version(existing_path)}
    return is_there and scheme in {"", existing_scheme} and authority in {"", existing_authority}


def path_of(location: str | None) -> str:
    """The path of a location, without scheme, authority and the slash at its end."""
    return _parts(location or "")[2]


def _parts(location: str) -> tuple[str, str, str]:
    scheme, authority, path = _LOCATION.fullmatch(location).groups()  # type: ignore[union-attr]  # it matches any text
    return scheme or "", authority or "", path.rstrip("/")


def is_translated(wanted: Any, existing: Any) -> bool:
    """Whether the wanted table is managed and `existing` is external only because Hive 4 translated it."""
    managed = isinstance(wanted, hive.Table) and wanted.tableType == "MANAGED_TABLE"
    return managed and _TRANSLATED in (existing.parameters or {})


def _same_value(wanted: Any, existing: Any) -> bool:
    if wanted is None:
        return True
    if hasattr(wanted, "thrift_spec"):
        return _same_fields(wanted, existing, _SERVERS_FIELDS)
    if isinstance(wanted, (list, tuple)):
        items = existing or []
        if wanted == items:  # the columns of most partitions, in a tenth of the time
            return True
        return len(wanted) == len(items) and all(map(_same_value, wanted, items))
    return (wanted or None) == (existing or None)  # HMS gives "", 0 and {} back for what was unset


def _same_fields(wanted: Any, existing: Any, ignored: frozenset[str]) -> bool:
    names = [name for name in vars(wanted) if name not in ignored and _can_hold(existing, name)]
    return all(_RULES.get(name, _same_value)(getattr(wanted, name), getattr(existing, name, None)) for name in names)


def _fields(path: str, wanted: Any, existing: Any, ignored: frozenset[str]) -> list[Difference]:
    """The fields in which two structs differ, by the same rules as `same`."""
    result: list[Difference] = []
    for name in sorted(vars(wanted).keys() - ignored):
        new, old = getattr(wanted, name), getattr(existing, name, None)
        if not _can_hold(existing, name) or _RULES.get(name, _same_value)(new, old):
            continue
        field_path = f"{path}.{name}" if path else name
        if name == "parameters":
            result += differing(field_path, *_parameters(new, old))
        elif hasattr(new, "thrift_spec") and old is not None:
            result += _fields(field_path, new, old, _SERVERS_FIELDS)
        else:
            result += differing(field_path, new, old) or [Difference(field_path, old, new)]
    return result


def _can_hold(existing: Any, name: str) -> bool:
    """Whether the server that gave `existing` knows the field (see pysync.model.idl)."""
    return (
        name not in _NEWER.get(type(existing), ()) or getattr(existing, _WITNESS.get(type(existing), name)) is not None
    )


def same_parameters(wanted: Mapping[str, str] | None, existing: Mapping[str, str] | None) -> bool:
    """Whether the parameters of two objects are the same; those that the server sets are ignored."""
    compared, existing_compared = _parameters(wanted, existing)
    return compared == existing_compared


def _parameters(
    wanted: Mapping[str, str] | None, existing: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters of both that are compared."""
    wanted, existing = _basic(wanted or {}), _basic(existing or {})
    compared = {key: value for key, value in wanted.items() if key not in SERVER_PARAMETERS}
    # Spark reads the path of its own tables among the parameters of their serdes.
    if (path := compared.get("path")) and path == without_version(existing.get("path") or ""):
        existing = {**existing, "path": path}
    # The target's server may add these by itself; they count only if the source has them, too. To a table that the
    # source has as an external one it adds none: there they are left of when it was managed, and purge its files.
    translated = _TRANSLATED in existing and wanted.get("EXTERNAL", "").upper() != "TRUE"
    added = OWN_STATISTICS | (TRANSLATION if translated else frozenset())
    ignored = SERVER_PARAMETERS | (added - compared.keys())
    return compared, {key: value for key, value in existing.items() if key not in ignored}


def _basic(parameters: Mapping[str, str]) -> Mapping[str, str]:
    """The parameters without the names of columns that have statistics: each metastore writes those that it has."""
    if ACCURATE not in parameters:
        return parameters
    try:
        statistics = json.loads(parameters[ACCURATE])
        del statistics["COLUMN_STATS"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return parameters
    others = {key: value for key, value in parameters.items() if key != ACCURATE}
    return {**others, ACCURATE: json.dumps(statistics, separators=(",", ":"))} if statistics else others


def same_counts(wanted: Mapping[str, str] | None, existing: Mapping[str, str] | None) -> bool:
    """Whether the statistics among the parameters of two objects are the same."""
    compared, existing_compared = _parameters(wanted, existing)
    return all(compared.get(key) == existing_compared.get(key) for key in STATISTICS)


def sources_of(made: Any) -> dict[str, tuple[int, int, int]]:
    """How many rows of each source table changed since a materialized view was built, by `db.table`.

    Only Hive 4 counts them. Empty if a mapping renamed the tables, so that the counts cannot be assigned to them.
    """
    counts = {
        f"{it.table.dbName}.{it.table.tableName}".lower(): (it.insertedCount, it.updatedCount, it.deletedCount)
        for it in made.sourceTables or ()
    }
    # A name may have the catalog in front: hive.db.table.
    names = {".".join(name.lower().split(".")[-2:]) for name in made.tablesUsed or ()}
    return counts if counts.keys() == names else {}


def same_creation(wanted: Any, existing: Any) -> bool:
    """Whether two materialized views have the same tables, in any order, and the same counts if both know them."""
    if wanted is None or existing is None:
        return wanted is None
    counts, existing_counts = sources_of(wanted), sources_of(existing)
    known = not counts or not existing_counts or counts == existing_counts
    return known and _same_fields(wanted, existing, _SERVERS_FIELDS | {"sourceTables"})


def _same_comment(wanted: str | None, existing: str | None) -> bool:
    return (wanted or "") == (existing or "")


def _same_name(wanted: str | None, existing: str | None) -> bool:
    return wanted is None or normalized(wanted) == normalized(existing or "")


def _same_column(wanted: str | None, existing: str | None) -> bool:
    """Columns keep the client's case in an event, and lose it in the metastore. They keep spaces at their ends."""
    return wanted is None or wanted.lower() == (existing or "").lower()


_RULES: Mapping[str, Callable[[Any, Any], bool]] = {
    "location": same_location,
    "locationUri": same_location,
    "managedLocationUri": same_location,
    "creationMetadata": same_creation,
    "parameters": same_parameters,
    **dict.fromkeys(("pk_name", "fk_name", "uk_name", "nn_name", "dc_name", "column_name"), _same_name),
    **dict.fromkeys(("name", "col"), _same_column),
    "comment": _same_comment,  # none is none: it is not the server that writes comments
}
