"""Targets of kind spark: the catalog of one Spark session, on an embedded metastore."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.targets.spark import SparkSettings, spark_target
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark.store import SparkStore
from pysync.targets.spark_request import SparkConfig
from pysync.targets.target import StoreTarget
from tests.conformance.harness import features_of

_WRITES = ("create_", "alter_", "add_", "drop_")
SHORT_LIFE = {"spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}


class SparkHarness:
    """All targets share one session, whatever their settings; somebody else goes to the metastore itself."""

    kind = "spark"
    features = features_of(SparkStore, "managed")
    other_serde = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
    """A serde without a class would be refused."""
    many = 130
    """Partitions that are more than are read one by one; each costs some calls of the Spark's metastore."""

    def __init__(self, uri: str, root: Path) -> None:
        self.writes: list[tuple[str, tuple[Any, ...]]] = []
        self.calls: list[str] = []
        self._uri, self._root = uri, root
        self._hms = Metastore(uri)
        (root / "spark").mkdir()
        self._host = SparkHost(self.settings().spark_request(), root / "spark")

    def settings(self, **values: Any) -> SparkSettings:
        """The settings of a target called `dr`."""
        spark = SparkConfig(settings={**SHORT_LIFE, "spark.sql.warehouse.dir": f"file:{self._root}"})
        made = SparkSettings.model_validate({"name": "dr", "kind": "spark", "metastore": self._uri, **values})
        made.use_spark(spark)
        return made

    def open(self, **values: Any) -> StoreTarget:
        settings = self.settings(**values)
        settings.use(self._host)
        target = spark_target(settings)
        _record(target.store.catalog, self.writes, self.calls)
        return target

    def new_database(self) -> str:
        return f"db_{secrets.token_hex(5)}"

    def location(self, path: str) -> str:
        return f"file:{self._root / path}"

    def directory(self, location: str) -> Path:
        return Path(location.removeprefix("file:"))

    def create(self, item: Any) -> None:
        if isinstance(item, hive.Database):
            self._hms.call(lambda client: client.create_database(item))
        else:
            self._hms.call(lambda client: client.create_table(item))

    def alter(self, table: Any) -> None:
        name, context = (table.dbName, table.tableName), hive.EnvironmentContext({})
        self._hms.call(lambda client: client.alter_table_with_environment_context(*name, table, context))

    def functions(self, database: str) -> dict[str, str]:
        return {found.functionName: found.className for found in self._hms.functions(database)}

    def constraints(self, name: TableName) -> dict[str, list[str]]:
        raise NotImplementedError("Spark's catalog has none")

    def close(self) -> None:
        self._host.close()
        self._hms.close()


def _record(catalog: Any, writes: list[tuple[str, tuple[Any, ...]]], calls: list[str]) -> None:
    """Write down the calls of this catalog that change something, and all that it asks of Spark."""

    def recorded(name: str, call: Any) -> Any:
        def wrapper(*args: Any, **more: Any) -> Any:
            writes.append((name, args))
            return call(*args, **more)

        return wrapper

    def asked(what: str, request: Any) -> Any:
        calls.append(what)
        return ask(what, request)

    ask, catalog._call = catalog._call, asked
    for name in dir(catalog):
        if name.startswith(_WRITES):
            setattr(catalog, name, recorded(name, getattr(catalog, name)))
