"""Bodies: the fields of an event, from the message of a notification, by kind.

Hive 2.3 gives names alone where later versions give the object. The differences to the listener's events are in
docs/versions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from pysync.capture.notifications.log import Notification
from pysync.capture.notifications.thrift_json import to_binary
from pysync.model.event import Kind
from pysync.model.names import partition_name
from pysync.model.wire import decode, encode

Message = Mapping[str, Any]

EventFields = Mapping[str, Any]
"""Fields of an Event by name: `table`, `before`, `after`, `attributes`."""


def _create_database(message: Message) -> EventFields:
    return {"after": _objects(message.get("dbJson"))}


def _alter_database(message: Message) -> EventFields:
    before, after = to_binary(message["dbObjBeforeJson"]), to_binary(message["dbObjAfterJson"])
    return {"before": (before,), "after": (after,)}


def _drop_database(message: Message) -> EventFields:
    return {"before": _objects(message.get("dbJson")) or (encode(hive.Database(name=_name(message, "db"))),)}


def _create_table(message: Message) -> EventFields:
    return {"after": (to_binary(message["tableObjJson"]),)}


def _alter_table(message: Message) -> EventFields:
    before, after = to_binary(message["tableObjBeforeJson"]), to_binary(message["tableObjAfterJson"])
    return {"before": (before,), "after": (after,), "attributes": _attributes(truncate=message.get("isTruncateOp"))}


def _drop_table(message: Message) -> EventFields:
    named = hive.Table(dbName=_name(message, "db"), tableName=_name(message, "table"))
    return {"before": _objects(message.get("tableObjJson")) or (encode(named),)}


def _add_partition(message: Message) -> EventFields:
    return {"table": to_binary(message["tableObjJson"]), "after": tuple(map(to_binary, message["partitionListJson"]))}


def _alter_partition(message: Message) -> EventFields:
    """ALTER_PARTITIONS gives a list of them as they are now; none of them was renamed."""
    if "partitionListJson" in message:
        before = after = tuple(map(to_binary, message["partitionListJson"]))
    else:
        before, after = ((to_binary(message[f"partitionObj{when}Json"]),) for when in ("Before", "After"))
    attributes = _attributes(truncate=message.get("isTruncateOp"))
    return {"table": to_binary(message["tableObjJson"]), "before": before, "after": after, "attributes": attributes}


def _drop_partition(message: Message) -> EventFields:
    """No version gives the partitions themselves, only the values of their keys."""
    table = to_binary(message["tableObjJson"])
    described: Any = decode(_Described, table)
    keys = [key.name for key in described.partitionKeys or ()]
    partitions = [
        hive.Partition(values=[values[key] for key in keys], dbName=described.dbName, tableName=described.tableName)
        for values in message["partitions"]
    ]
    return {"table": table, "before": tuple(map(encode, partitions))}


def _insert(message: Message) -> EventFields:
    keys = message.get("partKeyVals") or {}
    attributes = _attributes(
        database=_name(message, "db"),
        table=_name(message, "table"),
        replace=message.get("replace"),
        **{f"partition.{key}": value for key, value in keys.items()},
    )
    table = _objects(message.get("tableObjJson"))
    return {
        "table": table[0] if table else None,
        "after": _objects(message.get("ptnObjJson")),
        "attributes": attributes,
    }


def _create_function(message: Message) -> EventFields:
    return {"after": (to_binary(message["functionObjJson"]),)}


def _drop_function(message: Message) -> EventFields:
    named = hive.Function(dbName=_name(message, "db"), functionName=_name(message, "functionName"))
    return {"before": (encode(named),)}


def _add_constraint(message: Message, listed: str) -> EventFields:
    return {"after": tuple(map(to_binary, message[listed]))}


def _drop_constraint(message: Message) -> EventFields:
    names = {"database": "dbName", "table": "tableName", "constraint": "constraintName"}
    return {"attributes": {ours: _name(message, theirs) for ours, theirs in names.items()}}


def _statistics(message: Message, row: Notification) -> EventFields:
    """The messages name the table in their column alone, and the partition by its name or by its values."""
    if not row.database or not row.table:
        raise ValueError("the notification names no table")
    table, partition = _objects(message.get("tableObjJson")), message.get("partName")
    if "partVals" in message:
        described: Any = decode(_Described, table[0])
        partition = partition_name([key.name for key in described.partitionKeys or ()], message["partVals"])
    return {
        "attributes": _attributes(database=row.database, table=row.table, partitions=partition),
    }


def fields_of(kind: Kind, message: Message, row: Notification) -> EventFields:
    """The fields of an event of this kind. Raises ValueError, KeyError, TypeError and UnreadableEvent."""
    return _statistics(message, row) if kind is Kind.COLUMN_STATISTICS else _BODIES[kind](message)


_BODIES: Mapping[Kind, Callable[[Message], EventFields]] = {
    Kind.CREATE_DATABASE: _create_database,
    Kind.ALTER_DATABASE: _alter_database,
    Kind.DROP_DATABASE: _drop_database,
    Kind.CREATE_TABLE: _create_table,
    Kind.ALTER_TABLE: _alter_table,
    Kind.DROP_TABLE: _drop_table,
    Kind.ADD_PARTITION: _add_partition,
    Kind.ALTER_PARTITION: _alter_partition,
    Kind.DROP_PARTITION: _drop_partition,
    Kind.INSERT: _insert,
    Kind.CREATE_FUNCTION: _create_function,
    Kind.DROP_FUNCTION: _drop_function,
    Kind.ADD_PRIMARYKEY: partial(_add_constraint, listed="primaryKeyListJson"),
    Kind.ADD_FOREIGNKEY: partial(_add_constraint, listed="foreignKeyListJson"),
    Kind.ADD_UNIQUECONSTRAINT: partial(_add_constraint, listed="uniqueConstraintListJson"),
    Kind.ADD_NOTNULLCONSTRAINT: partial(_add_constraint, listed="notNullConstraintListJson"),
    Kind.ADD_DEFAULTCONSTRAINT: partial(_add_constraint, listed="defaultConstraintListJson"),
    Kind.ADD_CHECKCONSTRAINT: partial(_add_constraint, listed="checkConstraintListJson"),
    Kind.DROP_CONSTRAINT: _drop_constraint,
}


def _objects(text: str | None) -> tuple[bytes, ...]:
    return (to_binary(text),) if text else ()


def _name(message: Message, key: str) -> str:
    name = message[key]
    if not isinstance(name, str) or not name:
        raise ValueError(f"the message has no {key}")
    return name


def _attributes(**values: str | None) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}


class _Column(TBase):  # type: ignore[misc]
    thrift_spec = (None, (1, TType.STRING, "name", "UTF8", None))
    name = None


class _Described(TBase):  # type: ignore[misc]
    """As much of a Table as it takes to name its partitions."""

    thrift_spec = (
        None,
        (1, TType.STRING, "tableName", "UTF8", None),
        (2, TType.STRING, "dbName", "UTF8", None),
        *[None] * 5,
        (8, TType.LIST, "partitionKeys", (TType.STRUCT, [_Column, _Column.thrift_spec], False), None),
    )
    tableName = dbName = partitionKeys = None  # noqa: N815
