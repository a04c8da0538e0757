"""A real Hive with transactions: its engine, its compactor, and its metastore, which has pysync's listener."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pysync.metastore.client import Metastore
from tests.support import wait_until
from tests.versions.releases import RELEASES
from tests.views.hive import Hive

_JAVA = Path(__file__).with_name("java")
_TRANSACTIONS = {
    "hive.support.concurrency": "true",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    "hive.exec.dynamic.partition": "true",
    "hive.exec.dynamic.partition.mode": "nonstrict",
    "hive.compactor.initiator.on": "false",
    "hive.compactor.worker.threads": "0",
    "hive.compactor.crud.query.based": "false",
    "hive.strict.managed.tables": "false",
    "hive.create.as.insert.only": "false",
    "metastore.strict.managed.tables": "false",
    "hive.metastore.client.capability.check": "false",
    "metastore.expression.proxy": "org.apache.hadoop.hive.ql.optimizer.ppr.PartitionExpressionForMetastore",
    "metastore.thrift.bind.host": "127.0.0.1",
    "metastore.metadata.transformer.class": " ",  # Hive 4's refuses transactional tables of a client by thrift
}


def abort(session: Any, statement: str) -> str:
    """Run a statement in a session, whose transaction is aborted when its files are written; what it gives."""
    for name in ("hive.in.test", "hive.test.rollbacktxn"):
        session.set(name, "true")
    try:
        return str(session.run("default", statement))
    finally:
        for name in ("hive.test.rollbacktxn", "hive.in.test"):
            session.set(name, "false")


class HiveAndMetastore(Hive):
    """With the interface that a Stage has of a source; Hive's own statements go by thrift, too."""

    QUERIES = "pysync.lab.TransactionQueries"

    def __init__(
        self,
        version: str,
        directory: Path,
        *,
        port: int,
        jars: Sequence[Path],
        overrides: Mapping[str, str],
        **_: Any,
    ) -> None:
        self._version, self._directory = version, directory
        self._jars, self._overrides = jars, overrides
        self.port, self.uri = port, f"thrift://127.0.0.1:{port}"
        self.warehouse = directory / "warehouse"
        self.is_running = False

    def start(self) -> None:
        """Start the engine, then the metastore; returns when it answers."""
        self._directory.mkdir(parents=True, exist_ok=True)
        RELEASES[self._version].bring()
        shutil.copytree(RELEASES[self._version].derby, self._directory / "derby")
        database = {"javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self._directory / 'derby'}"}
        settings = {**_TRANSACTIONS, **database, **self._overrides}
        sources = sorted(_JAVA.glob("*.java"))
        super().__init__(self._version, self._directory, sources=sources, jars=self._jars, overrides=settings)
        self.is_running = True
        self._queries.serve(self.port)
        wait_until(self._answers, seconds=60, what="the metastore")
        self._queries.set("hive.metastore.uris", self.uri)
        self._queries.set("metastore.thrift.uris", self.uri)

    def stop(self) -> None:
        """End both."""
        if self.is_running:
            self.close()

    def run(self, *statements: str) -> None:
        """Run statements in the database `default`. Raises HiveRefused."""
        for it in statements:
            self.rows("default", it)

    def abort(self, statement: str) -> None:
        """Run a statement whose transaction is aborted when its files are written."""
        abort(self._queries, statement)

    def session(self) -> Any:
        """Another session, for a thread of its own; `run(database, statement)` as `HiveQueries` has it."""
        session = self._queries.another()
        session.set("hive.metastore.uris", self.uri)
        session.set("metastore.thrift.uris", self.uri)
        return session

    def compact(self, table: str, kind: str) -> None:
        """Compact a table, or `table partition (…)`: `minor` or `major`."""
        self.run(f"alter table {table} compact '{kind}'")
        self._queries.compact("Worker")

    def clean(self) -> None:
        """Remove what compactions have made obsolete."""
        self._queries.compact("Cleaner")

    def _answers(self) -> bool:
        try:
            with Metastore(self.uri) as metastore:
                return bool(metastore.databases())
        except Exception:
            return False
