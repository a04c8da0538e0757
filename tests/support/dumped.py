"""Dumps of a source in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.dump.index import KIND, SUFFIX, indexed
from pysync.dump.manifest import Manifest, Within
from pysync.dump.pieces import opened
from pysync.dump.record import HEAD, Reply
from pysync.dump.write import DumpSelection, Writing
from pysync.model.names import TableName, partition_name
from pysync.model.wire import encode
from pysync.resync.wanted import EVERYTHING
from tests.support.refreshing import Hms

ASKED = Manifest(id="a1", source="onprem", within=(Within(),), upto=7, began_at=100.0)


class Source(Hms):
    """A metastore in memory that keeps its answers as a Recorder does; `hooks` run when a table is asked for."""

    def __init__(self, *names: str, created: int = 100) -> None:
        super().__init__(*names, created=created)
        self.kept: list[Reply] = []
        self.hooks: dict[str, Any] = {}
        self.read: list[str] = []

    def taken(self) -> tuple[Reply, ...]:
        kept, self.kept = tuple(self.kept), []
        return kept

    def call(self, _: Any) -> list[str]:
        """get_functions of any database."""
        return self._keep("get_functions", [it.functionName for it in self.made])

    def database(self, name: str) -> Any | None:
        found = super().database(name)
        return found and self._keep("get_database", found)

    def functions(self, of: str) -> list[Any]:
        return [self._keep("get_function", it) for it in super().functions(of)]

    def table(self, of: str, name: str) -> Any | None:
        self.read.append(f"{of}.{name}")
        self.hooks.pop(f"{of}.{name}", lambda: None)()
        found = super().table(of, name)
        return found and self._keep("get_table_req", hive.GetTableResult(found)).table

    def partition_names(self, of: str, name: str) -> list[str]:
        return [partition_name(["day"], it.values) for it in self.parts[TableName(of, name)]]

    def partitions_by_name(self, of: str, name: str, names: Sequence[str]) -> list[Any]:
        found = [it for it in self.parts[TableName(of, name)] if partition_name(["day"], it.values) in names]
        return self._keep("get_partitions_by_names", found)

    def _keep(self, call: str, success: Any) -> Any:
        result = getattr(ThriftHiveMetastore, f"{call}_result")(success=success)
        self.kept.append(Reply(call, encode(result)))
        return success


def write(directory: Path, source: Hms, selection: DumpSelection | None = None, **changes: Any) -> Manifest:
    """Dump everything, or go on with it."""
    with opened(directory, ASKED.model_copy(update=changes)) as pieces:
        found = indexed(directory, pieces.manifest)
        writing = Writing(source, selection or DumpSelection(EVERYTHING), found.last, pieces.manifest.counts)
        pieces.write(KIND, SUFFIX, HEAD, writing.parts(lambda *_: None))
        pieces.finish(pieces.manifest.model_copy(update={"finished_at": 101.0}))
    return pieces.manifest


def filled() -> Source:
    source = Source("db.plain", "other.t")
    source.add("db.days", *map(str, range(3)))
    source.made = [hive.Function("f", "db", "org.F", "me", hive.PrincipalType.USER, 1, 1, [])]
    return source
