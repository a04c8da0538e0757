"""Jvm: values of Spark's catalog made and read by py4j.

Whole objects go over as JSON, one call each, by the Jackson that Spark brings: a call for each of their fields would
take most of the time. Only CatalogTable is made by its constructor. Its arguments differ between versions of Spark, so
they are found by name, and most of them have defaults.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pysync.targets.spark.forms import Form, bucket_form, storage_form
from pysync.targets.spark.schema import PLAIN, schema
from pysync.targets.spark.stored import TYPES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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

    def partitions(self, forms: Sequence[Form]) -> Any:
        """A Scala Seq of CatalogTablePartitions."""
        kind = self._class(_CATALOG + "CatalogTablePartition")
        made = self._mapper.readerForListOf(kind).readValue(json.dumps(forms))
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
        methods = loader.loadClass(name).getMethods()
        kind = argument.getClass()
        called = next(it for it in methods if it.getName() == method and list(it.getParameterTypes()) == [kind])
        return called.invoke(None, self._array("Object", argument))

    def _array(self, kind: str, *items: Any) -> Any:
        """A Java array of the kind java.lang.`kind`."""
        array = self._gateway.new_array(getattr(self._jvm.java.lang, kind), len(items))
        for at, item in enumerate(items):
            array[at] = item
        return array

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
