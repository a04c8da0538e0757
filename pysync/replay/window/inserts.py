"""Inserts: an insert becomes a refresh of the table or partition that got the rows. Pure.

Only for targets that copy files: a refresh puts what it reads, and files are copied before anything is put.
"""

from __future__ import annotations

from dataclasses import replace

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.names import partition_name

_PARTITION = "partition."


def as_refresh(change: Change) -> Change:
    """An insert as a refresh of its table or partition; other changes as they are."""
    name = change.table_name
    if change.kind is not Kind.INSERT or name is None:
        return change
    created = getattr(change.table, "createTime", None) or 0
    attributes = {"database": name.database, "table": name.table, "created": str(created)}
    partition = _partition(change)
    if partition:
        attributes["partitions"] = partition
    event = replace(change.event, kind=Kind.REFRESH, attributes=attributes, table=None, before=(), after=())
    return Change(event, change.position)


def _partition(change: Change) -> str:
    """The partition's name; empty if the table has none, or the event does not say it."""
    if change.after and change.table is not None:
        return partition_name([key.name for key in change.table.partitionKeys or ()], change.after[0].values)
    # HMS 2.3: its InsertEvent has the values by key; those of 3.1 and later have the Partition.
    attributes = change.event.attributes
    values = {key.removeprefix(_PARTITION): value for key, value in attributes.items() if key.startswith(_PARTITION)}
    return partition_name(list(values), list(values.values())) if values else ""
