"""Hive's structs as the values of Spark's catalog, by py4j, and back; and what of them Spark has no place for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.definition import STATISTICS
from pysync.model.names import DEFAULT_PARTITION, normalized, partition_name, partition_values
from pysync.targets.base import Rejected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Locations: as Hive keeps them, a text without escapes, and as the URI that Spark's catalog wants. Pure.


_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)
_SAFE = "/:@!$&'()*+,;=~"


def uri(location: str | None) -> str | None:
    """The URI of a location; None for none."""
    if not location:
        return None
    scheme, authority, path = _parts(location)
    return scheme + authority + quote(path, safe=_SAFE)


def location(text: str | None) -> str | None:
    """The location of a URI, as Hadoop's Path writes it."""
    if not text:
        return None
    scheme, authority, path = _parts(text)
    return scheme + authority + unquote(path)


def plain(text: str | None) -> str | None:
    """A location as it comes back, without superfluous slashes."""
    if not text:
        return text
    scheme, authority, path = _parts(text)
    short = re.sub("/+", "/", path)
    return scheme + authority + (short.rstrip("/") or short[:1])


def _parts(text: str) -> tuple[str, str, str]:
    """`hdfs:`, `//host:1` and the path; an empty authority is none."""
    scheme, authority, path = _LOCATION.fullmatch(text).groups()  # type: ignore[union-attr]  # it matches any text
    return f"{scheme}:" if scheme else "", f"//{authority}" if authority else "", path


# Kept: a definition without what Spark's catalog has no place for, as it will come back when it is read. Pure.
#
# A field that is None says nothing: whatever the target has there is no difference (pysync.targets.diff).


TYPES = {"EXTERNAL_TABLE": "EXTERNAL", "MANAGED_TABLE": "MANAGED", "VIRTUAL_VIEW": "VIEW"}
"""Hive's types of tables, and what Spark calls them."""

_ASCENDING = 1
_FORMAT = "serialization.format"


def as_kept(item: Any) -> Any:
    """A Database, Table, Partition or Function as Spark's catalog keeps it, a copy.

    Raises Rejected for a table that it can keep in no form.
    """
    return _KEPT[type(item)](deepcopy(item))


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
        what = (table.tableType or "none").lower().replace("_", " ")
        raise Rejected(
            f"table {table.dbName}.{table.tableName}: Spark's catalog does not support the type {what}",
            "exclude the table",
        )
    external = {"EXTERNAL": "TRUE"} if table.tableType == "EXTERNAL_TABLE" else {}
    table.parameters = {**uncounted(table.parameters, "EXTERNAL"), **external}
    table.retention = table.ownerType = table.rewriteEnabled = table.creationMetadata = None
    table.sd = _storage_as_kept(table.sd or hive.StorageDescriptor(cols=[]))
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
    partition.sd = _storage_as_kept(partition.sd or hive.StorageDescriptor(cols=[]))
    for name in ("cols", "numBuckets", "bucketCols", "sortCols"):
        setattr(partition.sd, name, None)
    return partition


def _function(function: Any) -> Any:
    function.functionName = normalized(function.functionName)
    function.ownerName = function.ownerType = None
    return function


def _storage_as_kept(storage: Any) -> Any:
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


_KEPT = {hive.Database: _database, hive.Table: _table, hive.Partition: _partition, hive.Function: _function}


# The schema of a table as Spark wants it, from Hive's columns. Pure.


PLAIN = frozenset(
    {"tinyint", "smallint", "int", "bigint", "boolean", "float", "double", "string", "binary", "timestamp", "date"}
)
"""Types that Spark need not be asked about."""

_RAW = "__CHAR_VARCHAR_TYPE_STRING"


def schema(columns: Iterable[Any]) -> str:
    """The columns (FieldSchemas) as the JSON of a StructType.

    For chars and varchars Spark notes the type by which it creates the column in the metastore. Every type is given as
    such a note: so it arrives word for word, where Spark's own spelling would change it (struct<A:int> and the like).
    """
    return json.dumps({"type": "struct", "fields": [_field(column) for column in columns]})


def _field(column: Any) -> dict[str, Any]:
    metadata = {_RAW: column.type} | ({"comment": column.comment} if column.comment is not None else {})
    return {"name": column.name, "type": "string", "nullable": True, "metadata": metadata}


# Forms: Hive's structs as the values of Spark's catalog, in JSON's terms, and back. Pure.


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
    mine, its = storage_form(wanted), storage_form(storage)
    return all(mine[name] == its[name] for name in ("inputFormat", "outputFormat", "serde", "properties"))


def function_form(function: Any) -> tuple[str, list[tuple[str, str]]]:
    """Its class, and its resources as (jar, file or archive, URI)."""
    kinds = hive.ResourceType._VALUES_TO_NAMES
    return function.className, [(kinds[it.resourceType].lower(), it.uri) for it in function.resourceUris or ()]


def function(database: str, name: str, class_name: str, resources: Sequence[Mapping[str, str]]) -> Any:
    """The Function of a CatalogFunction."""
    kinds = hive.ResourceType._NAMES_TO_VALUES
    found = [hive.ResourceUri(kinds[it["kind"].upper()], it["uri"]) for it in resources]
    return hive.Function(normalized(name), database, class_name, None, None, 0, hive.FunctionType.JAVA, found)


def _storage(form: Form) -> Any:
    return with_format(
        hive.StorageDescriptor(
            location=location(form["locationUri"]),
            inputFormat=form["inputFormat"],
            outputFormat=form["outputFormat"],
            serdeInfo=hive.SerDeInfo(serializationLib=form["serde"], parameters=dict(form["properties"])),
        )
    )


# Jvm: values of Spark's catalog made and read by py4j.
#
# Whole objects go over as JSON, one call each, by the Jackson that Spark brings: a call for each of their fields
# would take most of the time. Only CatalogTable is made by its constructor. Its arguments differ between versions of
# Spark, so they are found by name, and most of them have defaults.


_CATALOG = "org.apache.spark.sql.catalyst.catalog."
_MAP = "scala.collection.immutable.Map"
_SEQ = "scala.collection.immutable.Seq"


class Jvm:
    """Values of one session; any number of threads may use it."""

    def __init__(self, session: SparkSession) -> None:
        """Asks the session for a few objects that live as long as it."""
        self._session = session
        self._jvm = session._jvm
        self._gateway = session.sparkContext._gateway
        self._mapper = self._jvm.com.fasterxml.jackson.databind.ObjectMapper()
        self._mapper.registerModule(self._jvm.com.fasterxml.jackson.module.scala.DefaultScalaModule())
        self._catalog = self._jvm.org.apache.spark.sql.catalyst.catalog
        self._arguments = self._constructor_arguments()

    def database(self, form: Form) -> Any:
        """A CatalogDatabase."""
        return self._value(form, _CATALOG + "CatalogDatabase")

    def map(self, pairs: dict[str, str]) -> Any:
        """A Scala Map."""
        return self._value(pairs, _MAP)

    def option(self, value: Any) -> Any:
        """A Scala Option; None is none."""
        return self._jvm.scala.Option.apply(value)

    def table(self, table: Any) -> Any:
        """A CatalogTable as Hive keeps it: what Spark notes of its own tables stays in the parameters as it is."""
        buckets = bucket_form(table.sd)
        keys = list(table.partitionKeys or ())
        self._check_types([*table.sd.cols, *keys])
        # Spark has a place of its own for each of these two.
        parameters = {
            key: value for key, value in (table.parameters or {}).items() if key not in {"comment", "EXTERNAL"}
        }
        catalyst = self._jvm.org.apache.spark.sql.catalyst
        given = {
            "identifier": catalyst.TableIdentifier(table.tableName, self.option(table.dbName)),
            "tableType": getattr(self._catalog.CatalogTableType, TYPES[table.tableType])(),
            "storage": self._value(storage_form(table.sd), _CATALOG + "CatalogStorageFormat"),
            "schema": self._jvm.org.apache.spark.sql.types.DataType.fromJson(schema([*table.sd.cols, *keys])),
            "partitionColumnNames": self._value([key.name for key in keys], _SEQ),
            "bucketSpec": self.option(buckets and self._value(buckets, _CATALOG + "BucketSpec")),
            "properties": self.map(parameters),
            "viewText": self.option(table.viewExpandedText),
            "viewOriginalText": self.option(table.viewOriginalText),
            "comment": self.option((table.parameters or {}).get("comment")),
            **({"owner": table.owner} if table.owner else {}),
        }
        made = self._catalog.CatalogTable
        return made(*(given[name] if name in given else getattr(made, default)() for name, default in self._arguments))

    def _check_types(self, columns: Sequence[Any]) -> None:
        """Have Spark refuse a type that it does not know: it could not read the table, nor add partitions to it."""
        parser = self._session._jsparkSession.sessionState().sqlParser()
        for text in sorted({column.type for column in columns} - PLAIN):
            parser.parseDataType(text)

    def no_columns(self) -> Any:
        """An empty Java list."""
        return self._jvm.java.util.ArrayList()

    def thrift(self, struct: Any) -> bytes:
        """A struct of Hive's own classes as thrift binary."""
        # Of the struct's own class loader: Spark may load the metastore's classes apart from its own.
        kind = struct.getClass().getClassLoader().loadClass("org.apache.thrift.TSerializer")
        made = kind.getConstructor(self._array("Class")).newInstance(self._array("Object"))
        return bytes(made.serialize(struct))

    def partitions(self, found: Sequence[Form]) -> Any:
        """A Scala Seq of CatalogTablePartitions."""
        kind = self._class(_CATALOG + "CatalogTablePartition")
        made = self._mapper.readerForListOf(kind).readValue(json.dumps(found))
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(made)

    def read(self, value: Any) -> Any:
        """What a value of the catalog holds."""
        return self._read(value)

    def function(self, database: str, name: str, class_name: str, resources: Sequence[tuple[str, str]]) -> Any:
        """A CatalogFunction."""
        kinds = self._catalog.FunctionResourceType
        made = self._jvm.java.util.ArrayList()
        for kind, uri in resources:
            made.add(self._catalog.FunctionResource(kinds.fromString(kind), uri))
        catalyst = self._jvm.org.apache.spark.sql.catalyst
        identifier = catalyst.FunctionIdentifier(name, self.option(database))
        return self._catalog.CatalogFunction(
            identifier, class_name, self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(made)
        )

    def function_form(self, function: Any) -> tuple[str, list[dict[str, str]]]:
        """The class of a CatalogFunction and its resources."""
        resources = function.resources()
        each = (resources.apply(at) for at in range(resources.size()))
        return function.className(), [{"kind": it.resourceType().resourceType(), "uri": it.uri()} for it in each]

    def static(self, loader: Any, name: str, method: str, argument: Any) -> Any:
        """Call a static method of one argument on a class of that loader, which need not be Spark's own."""
        found = loader.loadClass(name).getMethods()
        kind = argument.getClass()
        called = next(it for it in found if it.getName() == method and list(it.getParameterTypes()) == [kind])
        return called.invoke(None, self._array("Object", argument))

    def _array(self, kind: str, *items: Any) -> Any:
        """A Java array of the kind java.lang.`kind`."""
        found = self._gateway.new_array(getattr(self._jvm.java.lang, kind), len(items))
        for at, item in enumerate(items):
            found[at] = item
        return found

    def _constructor_arguments(self) -> list[tuple[str, str]]:
        """The names of a CatalogTable's arguments, in their order, and the methods that give their defaults."""
        constructors = self._class(_CATALOG + "CatalogTable").getDeclaredConstructors()
        widest = max(constructors, key=lambda it: it.getParameterCount())
        names = [it.getName() for it in widest.getParameters()]
        return [(name, f"apply$default${at}") for at, name in enumerate(names, 1)]

    def _value(self, value: Any, kind: str) -> Any:
        return self._mapper.readValue(json.dumps(value), self._class(kind))

    def _read(self, value: Any) -> Any:
        return json.loads(self._mapper.writeValueAsString(value))

    def _class(self, name: str) -> Any:
        return self._jvm.java.lang.Class.forName(name)
