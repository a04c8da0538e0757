"""Handles: how a store of Glue's notes, at the structs that it gives out, what it needs to write them back.

The handle of what was read is the object as Glue gave it; the handle of what `as_stored` gives is an Input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.names import normalized
from pysync.targets.aws.inputs import translated
from pysync.targets.aws.structs import database_of, function_of, partition_of, table_of
from pysync.targets.glue.others import recorded, with_others, without_others
from pysync.targets.glue.partition_batches import input_of

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
