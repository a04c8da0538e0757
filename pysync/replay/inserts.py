"""Inserts: rows that came without any other change become a refresh of what they came into. Pure.

Only for targets that copy files: a refresh reads the table or partition at the source and puts it, and what is put has
its files copied before.
"""

from __future__ import annotations

from dataclasses import replace

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.names import partition_name

_PARTITION = "partition."


def as_refresh(change: Change) -> Change:
    """The change of an insert as a refresh of its table, or of the partition that it went into; others as they are."""
    name = change.table_name
    if change.kind is not Kind.INSERT or name is None:
        return change
    attributes = {"database": name.database, "table": name.table, "created": str(_created(change))}
    partition = _partition(change)
    if partition:
        attributes["partitions"] = partition
    event = replace(change.event, kind=Kind.REFRESH, attributes=attributes, table=None, before=(), after=())
    return Change(event, change.position)


def _created(change: Change) -> int:
    return getattr(change.table, "createTime", None) or 0


def _partition(change: Change) -> str:
    """Its name; empty where the table has no partitions, or the event does not tell which."""
    if change.after and change.table is not None:
        return partition_name([key.name for key in change.table.partitionKeys or ()], change.after[0].values)
    attributes = change.event.attributes
    told = {key.removeprefix(_PARTITION): value for key, value in attributes.items() if key.startswith(_PARTITION)}
    return partition_name(list(told), list(told.values())) if told else ""
