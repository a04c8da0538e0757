"""As stored: a definition without what Spark's catalog has no place for, as it will come back when it is read. Pure.

A field that is None says nothing: whatever the target has there is no difference (pysync.targets.diff).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.definition import STATISTICS
from pysync.model.names import DEFAULT_PARTITION, normalized
from pysync.targets.base import Rejected
from pysync.targets.spark.locations import plain

if TYPE_CHECKING:
    pass


TYPES = {"EXTERNAL_TABLE": "EXTERNAL", "MANAGED_TABLE": "MANAGED", "VIRTUAL_VIEW": "VIEW"}
"""Hive's types of tables, and what Spark calls them."""
_ASCENDING = 1
_FORMAT = "serialization.format"


def as_stored(item: Any) -> Any:
    """A Database, Table, Partition or Function as Spark's catalog keeps it, a copy.

    Raises Rejected for a table that it can keep in no form.
    """
    return _AS_STORED[type(item)](deepcopy(item))


def with_format(storage: Any) -> Any:
    """Add in place the parameter that Hive gives to every serde that lacks it, and return the StorageDescriptor."""
    if storage.serdeInfo is not None:
        storage.serdeInfo.parameters = {_FORMAT: "1", **(storage.serdeInfo.parameters or {})}
    return storage


def uncounted(parameters: Mapping[str, str] | None, *others: str) -> dict[str, str]:
    """The parameters without statistics: the metastore counts them at every change, which Spark cannot prevent."""
    return {key: value for key, value in (parameters or {}).items() if key not in STATISTICS and key not in others}


def _database(database: Any) -> Any:
    database.ownerType = database.privileges = database.managedLocationUri = None
    database.locationUri = plain(database.locationUri)
    return database


def _table(table: Any) -> Any:
    if table.tableType not in TYPES:
        kind = (table.tableType or "none").lower().replace("_", " ")
        raise Rejected(
            f"table {table.dbName}.{table.tableName}: Spark's catalog does not support the type {kind}",
            "exclude the table",
        )
    external = {"EXTERNAL": "TRUE"} if table.tableType == "EXTERNAL_TABLE" else {}
    table.parameters = {**uncounted(table.parameters, "EXTERNAL"), **external}
    table.retention = table.ownerType = table.rewriteEnabled = table.creationMetadata = None
    table.sd = _storage_as_stored(table.sd or hive.StorageDescriptor(cols=[]))
    table.partitionKeys = table.partitionKeys or []
    if table.tableType == "VIRTUAL_VIEW":
        table.sd = hive.StorageDescriptor(cols=table.sd.cols)
    else:
        table.viewOriginalText = table.viewExpandedText = None
    return table


def _partition(partition: Any) -> Any:
    """A partition without columns and buckets of its own: Spark reads all partitions as their table."""
    partition.parameters = uncounted(partition.parameters)
    partition.values = [value or DEFAULT_PARTITION for value in partition.values]
    partition.sd = _storage_as_stored(partition.sd or hive.StorageDescriptor(cols=[]))
    for name in ("cols", "numBuckets", "bucketCols", "sortCols"):
        setattr(partition.sd, name, None)
    return partition


def _function(function: Any) -> Any:
    function.functionName = normalized(function.functionName)
    function.ownerName = function.ownerType = None
    return function


def _storage_as_stored(storage: Any) -> Any:
    storage.cols = storage.cols or []
    storage.location = plain(storage.location)
    storage.parameters = storage.skewedInfo = storage.storedAsSubDirectories = storage.compressed = None
    with_format(storage)
    if storage.serdeInfo is not None:
        storage.serdeInfo.name = None
    bucketed = bool(storage.bucketCols) and (storage.numBuckets or 0) > 0
    storage.numBuckets = storage.numBuckets if bucketed else -1
    storage.bucketCols = [normalized(name) for name in storage.bucketCols] if bucketed else []
    orders = storage.sortCols if bucketed else []
    upwards = all(order.order == _ASCENDING for order in orders or ())
    # Spark knows no descending order, and notes none at all then.
    storage.sortCols = [hive.Order(normalized(it.col), _ASCENDING) for it in orders or ()] if upwards else []
    return storage


_AS_STORED = {hive.Database: _database, hive.Table: _table, hive.Partition: _partition, hive.Function: _function}
