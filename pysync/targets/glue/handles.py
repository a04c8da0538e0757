"""Handles: how a store of Glue's notes, at the structs that it gives out, what it needs to write them back.

The handle of what was read is the object as Glue gave it; the handle of what `as_kept` gives is an Input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.names import normalized
from pysync.targets.aws.others import recorded, with_others, without_others
from pysync.targets.aws.translate import database_of, function_of, partition_of, table_of, translated
from pysync.targets.glue.batches import input_of

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
    """Structs with handles; `keep` are the patterns of parameters of others that stay (pysync.targets.aws.others)."""

    keep: Sequence[str]

    def read(self, kind: type[Any], found: Mapping[str, Any] | None) -> Any | None:
        """The struct of an object that was read, without what others set on an object of pysync's."""
        if found is None:
            return None
        # A partition has no mark.
        is_ours = kind is hive.Partition or Mark.read(found.get("Parameters")) is not None
        item = _OBJECTS[kind](without_others(found, self.keep) if is_ours else found)
        item.handle = found
        if is_link(found):  # a mark is of what the link leads to: pysync writes none
            item.parameters = {key: value for key, value in item.parameters.items() if key not in MARK_KEYS}
        return item

    def kept(self, item: Any, fields: Mapping[str, Any], lost: Sequence[str]) -> Any:
        """The struct that Glue will give back for this input of the item."""
        fields = recorded(fields) if self.keep else fields
        kept = _OBJECTS[type(item)]({**fields, **_belonging(item)})
        kept.handle = Input(fields, lost)
        return kept

    def filled(self, wanted: Any, there: Any) -> dict[str, Any]:
        """The input of an update of the object that is there; both have handles."""
        return self.filled_in(wanted.handle.fields, there.handle)

    def filled_in(self, wanted: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
        """The input of an update, which replaces everything: it repeats what stays, and what others set."""
        made = with_others(wanted, there, self.keep)
        found = {**{name: there[name] for name in _STAYS if there.get(name)}, **made}
        location = (there.get("StorageDescriptor") or {}).get("Location")
        if location and not (made.get("StorageDescriptor") or {}).get("Location"):
            found["StorageDescriptor"] = {**made.get("StorageDescriptor", {}), "Location": location}
        return found


def partition_fields(item: Any) -> Mapping[str, Any]:
    """The input of a wanted partition, or of one that was read and may have another location since."""
    if isinstance(item.handle, Input):
        return item.handle.fields
    found = input_of(item.handle)
    storage = {**(found.get("StorageDescriptor") or {})}
    if item.sd.location:
        storage["Location"] = item.sd.location
    return {**found, "StorageDescriptor": storage} if storage else found


def is_link(found: Mapping[str, Any]) -> bool:
    """Whether a database or table of Glue's is a resource link of Lake Formation."""
    return not _LINKS.isdisjoint(found)


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
