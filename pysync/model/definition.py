"""Definition: a metastore object as plain values that can be compared, without what its server sets by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.difference import Difference
from pysync.model.home import BIRTHS_KEY
from pysync.model.mark import MARK_KEYS
from pysync.model.table_formats import WRITTEN_KEY

# Set by the server that keeps the object, or by the way it came; never part of what a client defined.
SERVER_FIELDS = frozenset({"createTime", "id", "lastAccessTime", "materializationTime", "privileges", "validTxnList"})
VIEW = "VIRTUAL_VIEW"
"""The type of a view."""
VIEWS = frozenset({VIEW, "MATERIALIZED_VIEW"})
PURGE = "external.table.purge"
"""The parameter with which Hive 4 deletes the files of an external table, too."""
WRITTEN_PARAMETERS_KEY = "pysync.parameters"
"""The parameter in which a target keeps which parameters pysync wrote, where others set some, too."""
LAST_ID_KEY = "pysync.last.id"
"""The parameter of a database at a target that says up to which event id of the source's log everything is there."""
VIEW_DATABASE_KEY = "view.catalogAndNamespace.part.1"
"""The property of a view of Spark with the database that was the current one when it was created."""
# What an unset field means to a server that knows it; one that does not leaves it unset.
_DEFAULTS = {(hive.Table, "ownerType"): hive.PrincipalType.USER, (hive.Database, "type"): 1}
_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
_EMPTY: tuple[Any, ...] = ({}, [], "")
# The last two are set by the engine whose DDL altered the table: Hive or Athena.
SERVER_PARAMETERS = frozenset(
    MARK_KEYS
    | {BIRTHS_KEY, LAST_ID_KEY, WRITTEN_KEY, WRITTEN_PARAMETERS_KEY}
    | {"transient_lastDdlTime", "last_modified_by", "last_modified_time"}
)

ACCURATE = "COLUMN_STATS_ACCURATE"
"""Which statistics of an object are right: of its files and rows, and of which columns."""
# What Hive knows of the files (StatsSetupConst, HMS 2.3 to 4.0): each metastore counts its own.
STATISTICS = frozenset(
    {
        ACCURATE,
        "numFiles",
        "numFilesErasureCoded",
        "numPartitions",
        "numRows",
        "rawDataSize",
        "totalSize",
    }
)

# A metastore may set it though the source does not: it says which column statistics that metastore keeps.
OWN_STATISTICS = frozenset({ACCURATE})


def database_in_view(properties: Mapping[str, str] | None, own: str) -> str:
    """The database in which a view's names without one are: `own`, that of the view, unless Spark wrote another."""
    return (properties or {}).get(VIEW_DATABASE_KEY) or own


def is_external(table: Any) -> bool:
    """Whether its files are not its metastore's to delete: its parameter EXTERNAL says so, whatever its type."""
    return bool((table.parameters or {}).get("EXTERNAL", "").upper() == "TRUE")


def loses_files(table: Any) -> bool:
    """Whether the metastore that has the table deletes its files with it, or those of a partition, if a drop asks so.

    Measured on Hive 2.3.10, 3.1.3, 4.0.1, 4.1.0 and 4.2.0: files of external tables go in Hive 4 alone, with a property
    that the older ones ignore (tests/versions/test_files_of_drops.py).
    """
    purges = table.id is not None and (table.parameters or {}).get(PURGE, "").upper() == "TRUE"
    return not is_external(table) or purges


def without_vain_purge(table: Any) -> dict[str, str]:
    """The table's parameters; without the one that has Hive 4 purge files, if the table's own metastore ignores it."""
    parameters: dict[str, str] = table.parameters or {}
    if table.id is not None or PURGE not in parameters:
        return parameters
    return {key: value for key, value in parameters.items() if key != PURGE}


def is_index(table: Any) -> bool:
    """Whether it is the table of an index of Hive 2.3: only its own metastore needs it, so it is never replicated."""
    return bool(table.tableType == "INDEX_TABLE")


def definition(item: Any, *, statistics: bool = False) -> dict[str, Any]:
    """A struct of the metastore's IDL as nested dicts and lists, without unset and empty fields.

    With `statistics` the parameters that count files and rows are included.
    """
    left_out = SERVER_PARAMETERS if statistics else SERVER_PARAMETERS | STATISTICS
    plain: dict[str, Any] = _plain(item)
    parameters = {k: v for k, v in plain.pop("parameters", {}).items() if k not in left_out}
    return {**plain, "parameters": parameters} if parameters else plain


def differences(wanted: Mapping[str, Any] | None, there: Mapping[str, Any] | None) -> list[str]:
    """The fields in which two definitions differ, as `sd.cols: [...] instead of [...]`; or `missing`, or `extra`."""
    if wanted is None or there is None:
        return [] if wanted is there else ["missing" if there is None else "extra"]
    return [str(it) for it in _differences("", wanted, there)]


def differing(path: str, wanted: Any, there: Any) -> list[Difference]:
    """The differences between the values of one field, whose name is `path`."""
    return list(_differences(path, _plain(wanted), _plain(there)))


def _differences(path: str, wanted: Any, there: Any) -> Iterator[Difference]:
    named = _named(wanted), _named(there)
    if all(named) and named[0] != named[1]:  # of columns in another order all are shown
        wanted, there = (part or whole for part, whole in zip(named, (wanted, there), strict=True))
    if isinstance(wanted, Mapping) and isinstance(there, Mapping):
        for key in sorted(wanted.keys() | there.keys()):
            yield from _differences(f"{path}.{key}" if path else key, wanted.get(key), there.get(key))
    elif wanted != there:
        yield Difference(path, there, wanted)


def _named(value: Any) -> dict[str, Any]:
    """A list of columns as a dict by name; empty if it is anything else."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return {}
    names = [item.get("name", item.get("Name")) for item in value]
    return dict(zip(names, value, strict=True)) if None not in names and len(set(names)) == len(names) else {}


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if hasattr(value, "thrift_spec"):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def _fields(struct: Any) -> dict[str, Any]:
    """The fields of a struct that are set; empty ones count as unset."""
    fields: dict[str, Any] = {}
    kind: Any = type(struct)
    for name in _names(kind):
        value = getattr(struct, name)
        if not (value is None or _DEFAULTS.get((kind, name)) == value):
            plain = _plain(value)
            if plain not in _EMPTY:
                fields[name] = plain
    return fields


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(spec[2] for spec in kind.thrift_spec if spec and spec[2] not in SERVER_FIELDS)
