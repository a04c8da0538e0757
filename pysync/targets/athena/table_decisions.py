"""Tables and databases: the decision that brings what is there, if anything, to what is wanted. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from pysync.model.definition import STATISTICS
from pysync.model.names import TableName
from pysync.targets.athena import statements as ddl
from pysync.targets.athena.decisions import (
    _DEFAULT,
    NOTHING,
    Decision,
    Leftover,
    Properties,
    create_properties,
    decision_from,
    has_mark_of,
)
from pysync.targets.athena.hive_types import hive_type, is_readable_as, same_type
from pysync.targets.athena.quoting import InexpressibleError, identifier, place

_REPLACING_SERDES = frozenset({"org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"})
"""The serdes for which Athena documents REPLACE COLUMNS."""


# The serde's own, which Hive adds to every table that is created without it.
_DEFAULT_FORMAT = ("serialization.format", "1")


def decide_database(wanted: Any, existing: Any | None) -> Decision:
    """CREATE or ALTER DATABASE. Removed properties, another comment or location are left over.

    The owner, for whom a catalog has no field, is among the properties. Every source has a database `default`, whose
    place is seldom on S3: nobody misses it.
    """
    is_elsewhere = wanted.name == _DEFAULT and not (wanted.locationUri or ddl.S3).startswith(ddl.S3)
    of_place = [Leftover("the location", harmless=is_elsewhere)]
    if existing is None:
        pairs, location = create_properties(wanted.parameters), None if is_elsewhere else wanted.locationUri
        created = decision_from(lambda: [ddl.create_database(wanted.name, wanted.description, location, pairs)])
        return Decision(created.statements, (*created.leftovers, *(of_place if is_elsewhere else ())))
    properties = Properties.between(wanted.parameters, existing.parameters)
    leftovers = properties.leftovers()
    leftovers += [Leftover("the comment")] if wanted.description and wanted.description != existing.description else []
    leftovers += of_place if not same_location(wanted.locationUri, existing.locationUri) else []
    if not properties.changed and has_mark_of(wanted.parameters, existing.parameters):
        return Decision((), tuple(leftovers))
    altered = decision_from(lambda: [ddl.set_database_properties(wanted.name, properties.to_set(wanted.parameters))])
    return Decision(altered.statements, (*altered.leftovers, *leftovers))


def decide_table(wanted: Any, existing: Any | None) -> Decision:
    """CREATE TABLE, or the ALTERs that lead from `existing` to `wanted`; with other partition keys, DROP and CREATE.

    Where `inexpressible_reason` gives a reason, everything is left over.
    """
    reason = inexpressible_reason(wanted) or (inexpressible_reason(existing) if existing is not None else None)
    if reason is not None:
        return Decision((), (Leftover(reason),))
    if existing is None:
        return _create(wanted)
    if not same_keys(wanted, existing):
        created = _create(wanted)
        # Nothing is dropped that no statement could create again.
        dropped = (ddl.drop_table(name_of(wanted)),) if created.statements else ()
        return Decision((*dropped, *created.statements), created.leftovers)
    return _alter(wanted, existing)


def inexpressible_reason(table: Any) -> str | None:
    """Why no statement may touch this table at all; None if it is a plain external table on S3.

    Athena would not only fail on the others: its DROP of an Iceberg table deletes the files.
    """
    parameters, storage = table.parameters or {}, table.sd
    if table.tableType != "EXTERNAL_TABLE":
        return f"a {(table.tableType or 'table').lower().replace('_', ' ')}"
    for key in ("table_type", "storage_handler"):
        if key in parameters:
            return f"a table with {key} {parameters[key]!r:.80}"
    try:
        place(table.dbName, table.tableName)
        for column in (*storage.cols, *(table.partitionKeys or ())):
            identifier(column.name)
            hive_type(column.type)
    except InexpressibleError as error:
        return str(error)
    if not (storage.location or "").startswith(ddl.S3):
        return f"the location {storage.location!r:.200}, which does not begin with {ddl.S3}"
    return None


def name_of(table: Any) -> TableName:
    """The table's name."""
    return TableName.of(table.dbName, table.tableName)


def same_columns(wanted: Sequence[Any] | None, existing: Sequence[Any] | None) -> bool:
    """Whether two lists of columns are the same, with their comments."""
    new, old = list(wanted or ()), list(existing or ())
    return len(new) == len(old) and all(map(_same_column, new, old))


def same_location(wanted: str | None, existing: str | None) -> bool:
    """Whether two locations are one. A slash at the end does not count; where none is wanted, any will do."""
    return not wanted or wanted.rstrip("/") == (existing or "").rstrip("/")


def same_format(wanted: Any, existing: Any) -> bool:
    """Whether two storages have the same serde, with its parameters, and formats."""
    new, old = wanted.serdeInfo, existing.serdeInfo
    if (new and new.serializationLib) != (old and old.serializationLib):
        return False
    if (wanted.inputFormat, wanted.outputFormat) != (existing.inputFormat, existing.outputFormat):
        return False
    new_parameters, old_parameters = dict((new and new.parameters) or {}), dict((old and old.parameters) or {})
    key, default = _DEFAULT_FORMAT
    return {key: default, **new_parameters} == {key: default, **old_parameters}


def _create(wanted: Any) -> Decision:
    made = _as_created(wanted)
    created = decision_from(lambda: [ddl.create_table(wanted, create_properties(wanted.parameters))])
    leftovers = (*created.leftovers, *Properties.between(wanted.parameters, made.parameters).leftovers())
    return Decision(created.statements, (*leftovers, *_beyond(wanted, made)))


def _alter(wanted: Any, existing: Any) -> Decision:
    columns = _columns(wanted, existing)
    moved = NOTHING
    if not same_location(wanted.sd.location, existing.sd.location):
        moved = decision_from(lambda: [ddl.set_location(wanted)])
    properties = Properties.between(wanted.parameters, existing.parameters)
    written = columns.statements or moved.statements or properties.changed
    marked = NOTHING
    if written or not has_mark_of(wanted.parameters, existing.parameters):
        marked = decision_from(lambda: [ddl.set_properties(wanted, properties.to_set(wanted.parameters))])
    # The mark last: an alter that is cut short is not taken for done.
    parts = (columns, moved, marked)
    leftovers = [leftover for part in parts for leftover in part.leftovers]
    leftovers += [*properties.leftovers(), *_beyond(wanted, existing)]
    return Decision(tuple(statement for part in parts for statement in part.statements), tuple(leftovers))


def _columns(wanted: Any, existing: Any) -> Decision:
    wanted_columns, existing_columns = wanted.sd.cols, existing.sd.cols
    if same_columns(wanted_columns, existing_columns):
        return NOTHING
    added = wanted_columns[len(existing_columns) :]
    if len(wanted_columns) > len(existing_columns) and same_columns(
        wanted_columns[: len(existing_columns)], existing_columns
    ):
        return Decision((), (_DATES,)) if _has_dates(added) else decision_from(lambda: [ddl.add_columns(wanted, added)])
    serde = wanted.sd.serdeInfo and wanted.sd.serdeInfo.serializationLib
    if serde not in _REPLACING_SERDES or not same_format(wanted.sd, existing.sd):
        return Decision((), (Leftover(f"columns of a table with the serde {serde}"),))
    if not all(is_readable_as(old.type, new.type) for old, new in zip(existing_columns, wanted_columns)):  # noqa: B905, as far as both reach
        return Decision((), (Leftover("a column type that cannot read the old type"),))
    return (
        Decision((), (_DATES,)) if _has_dates(wanted_columns) else decision_from(lambda: [ddl.replace_columns(wanted)])
    )


_DATES = Leftover("columns of type date, which Athena can neither add nor replace")


def _has_dates(columns: Sequence[Any]) -> bool:
    return any(same_type(column.type, "date") for column in columns)


def _same_column(wanted: Any, existing: Any) -> bool:
    return (
        wanted.name.lower() == existing.name.lower()
        and same_type(wanted.type, existing.type)
        and (wanted.comment or "") == (existing.comment or "")
    )


def same_keys(wanted: Any, existing: Any) -> bool:
    """Whether two tables have partition keys of the same names. With other keys it is another table."""
    new, old = wanted.partitionKeys or (), existing.partitionKeys or ()
    return [key.name.lower() for key in new] == [key.name.lower() for key in old]


def _same_key_types(wanted: Any, existing: Any) -> bool:
    pairs = zip(wanted.partitionKeys or (), existing.partitionKeys or (), strict=True)
    return all(same_type(one.type, other.type) for one, other in pairs)


def _as_created(wanted: Any) -> Any:
    """The table as a CREATE of it leaves it: without what the statement does not express."""
    made = deepcopy(wanted)
    made.owner, made.retention = None, 0
    made.parameters = {key: value for key, value in (wanted.parameters or {}).items() if key not in STATISTICS}
    made.sd.compressed, made.sd.parameters, made.sd.storedAsSubDirectories = False, {}, False
    made.sd.sortCols, made.sd.skewedInfo = [], None
    made.sd.serdeInfo.name = None
    return made


def _beyond(wanted: Any, existing: Any) -> Iterator[Leftover]:
    """What differs and is in no statement on a table that exists; properties are not looked at."""
    yield from _owner(wanted.owner, existing.owner)
    if not same_format(wanted.sd, existing.sd):
        yield Leftover("a new serde or format")
    if not _same_key_types(wanted, existing):
        yield Leftover("the type of a partition key")
    elif not same_columns(wanted.partitionKeys, existing.partitionKeys):
        yield Leftover("the comment of a partition key", harmless=True)
    # A retention that is not set at the source may be anything at the target.
    if wanted.retention and wanted.retention != existing.retention:
        yield Leftover("the retention", harmless=True)
    yield from storage_leftovers(wanted.sd, existing.sd)


def storage_leftovers(wanted: Any, existing: Any) -> Iterator[Leftover]:
    """How two storages differ beyond columns, location and format, which no statement on an existing object expresses.

    What a reader would take for true of files of which it is not is not harmless. A partition that a statement adds has
    all of it from its table.
    """
    if _buckets(wanted) != _buckets(existing):
        yield Leftover("buckets")
    of_files = {
        "the sort order in buckets": (wanted.sortCols, existing.sortCols),
        "skewed values": (_skew(wanted), _skew(existing)),
        "stored as subdirectories": (wanted.storedAsSubDirectories, existing.storedAsSubDirectories),
    }
    others = {
        "compressed": (wanted.compressed, existing.compressed),
        "storage parameters": (wanted.parameters, existing.parameters),
        "the name of the serde": (wanted.serdeInfo.name, existing.serdeInfo.name),
    }
    for name, (new_value, old_value) in {**of_files, **others}.items():
        if (new_value or None) != (old_value or None):
            yield Leftover(name, harmless=name in others or not old_value)


def _owner(wanted: str | None, existing: str | None) -> list[Leftover]:
    return [Leftover("the owner", harmless=True)] if wanted and wanted != existing else []


def _skew(storage: Any) -> tuple[Any, ...]:
    skew = storage.skewedInfo
    if skew is None or not skew.skewedColNames:
        return ()
    return (skew.skewedColNames, skew.skewedColValues, skew.skewedColValueLocationMaps or {})


def _buckets(storage: Any) -> tuple[int, list[str]]:
    columns = [column.lower() for column in storage.bucketCols or ()]
    return (storage.numBuckets or 0) if columns else 0, columns
