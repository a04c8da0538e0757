"""Forms: Hive's structs as the values of Spark's catalog, in JSON's terms, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import normalized, partition_name, partition_values
from pysync.targets.spark.locations import location, uri
from pysync.targets.spark.stored import uncounted, with_format

if TYPE_CHECKING:
    pass


Form = dict[str, Any]
_OWNER = "owner"  # Spark keeps the owner of a database among its properties


def database_form(database: Any, default: str) -> Form:
    """A CatalogDatabase; its place is `default` unless it names one."""
    owner = {_OWNER: database.ownerName} if database.ownerName else {}
    return {
        "name": normalized(database.name),
        "description": database.description or "",
        "locationUri": uri(database.locationUri or default),
        "properties": {**(database.parameters or {}), **owner},
    }


def database(form: Form) -> Any:
    """The Database of a CatalogDatabase."""
    parameters = dict(form["properties"])
    owner = parameters.pop(_OWNER, None)
    place = location(form["locationUri"])
    return hive.Database(form["name"], form["description"], place, parameters, None, owner, hive.PrincipalType.USER)


def storage_form(storage: Any) -> Form:
    """A CatalogStorageFormat."""
    serde = (storage and storage.serdeInfo) or hive.SerDeInfo()
    return {
        "locationUri": uri(storage and storage.location),
        "inputFormat": storage and storage.inputFormat,
        "outputFormat": storage and storage.outputFormat,
        "serde": serde.serializationLib,
        "compressed": False,
        "properties": serde.parameters or {},
    }


def bucket_form(storage: Any) -> Form | None:
    """A BucketSpec; None for a table without buckets."""
    if not storage or not storage.bucketCols or (storage.numBuckets or 0) <= 0:
        return None
    return {
        "numBuckets": storage.numBuckets,
        "bucketColumnNames": storage.bucketCols,
        "sortColumnNames": [order.col for order in storage.sortCols or ()],
    }


def partition_form(partition: Any, keys: Sequence[str]) -> Form:
    """A CatalogTablePartition."""
    return {
        "spec": dict(zip(keys, partition.values, strict=True)),
        "storage": storage_form(partition.sd),
        "parameters": partition.parameters or {},
    }


def partition(form: Form, of: Any) -> Any:
    """The Partition of a CatalogTablePartition of this table, whose columns it has."""
    spec = {normalized(key): value for key, value in form["spec"].items()}
    storage = _storage(form["storage"])
    storage.cols = of.sd.cols
    return hive.Partition(
        values=[spec[normalized(key.name)] for key in of.partitionKeys],
        dbName=of.dbName,
        tableName=of.tableName,
        createTime=form["createTime"] // 1000,
        sd=storage,
        parameters=uncounted(form["parameters"]),
    )


def name(partition: Any, of: Any) -> str:
    """The name that HMS gives a partition of this table."""
    return partition_name([key.name for key in of.partitionKeys], partition.values)


def spec(name: str, keys: Sequence[str]) -> dict[str, str]:
    """The values of the partition of that name, by the table's keys."""
    return dict(zip(keys, partition_values(name), strict=True))


def same_format(wanted: Any, storage: Any) -> bool:
    """Whether two StorageDescriptors have the same formats and the same serde with its parameters."""
    wanted_form, existing_form = storage_form(wanted), storage_form(storage)
    return all(
        wanted_form[name] == existing_form[name] for name in ("inputFormat", "outputFormat", "serde", "properties")
    )


def function_form(function: Any) -> tuple[str, list[tuple[str, str]]]:
    """Its class, and its resources as (jar, file or archive, URI)."""
    kinds = hive.ResourceType._VALUES_TO_NAMES
    return function.className, [(kinds[it.resourceType].lower(), it.uri) for it in function.resourceUris or ()]


def function(database: str, name: str, class_name: str, resources: Sequence[Mapping[str, str]]) -> Any:
    """The Function of a CatalogFunction."""
    kinds = hive.ResourceType._NAMES_TO_VALUES
    uris = [hive.ResourceUri(kinds[it["kind"].upper()], it["uri"]) for it in resources]
    return hive.Function(normalized(name), database, class_name, None, None, 0, hive.FunctionType.JAVA, uris)


def _storage(form: Form) -> Any:
    return with_format(
        hive.StorageDescriptor(
            location=location(form["locationUri"]),
            inputFormat=form["inputFormat"],
            outputFormat=form["outputFormat"],
            serdeInfo=hive.SerDeInfo(serializationLib=form["serde"], parameters=dict(form["properties"])),
        )
    )
