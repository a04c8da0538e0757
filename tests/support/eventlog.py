"""The event log of a test: every call that its clients made on the source, and the answer. It knows nothing of pysync.

Every table that a client writes gets the number of the call into its parameter `version`, so that what is seen at the
target can be told from what came before and after it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreCallFailed, MetastoreError
from tests.support.ddl import DdlClient

VERSION = "version"
DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"
_REFUSALS = (
    hive.NoSuchObjectException,
    hive.AlreadyExistsException,
    hive.InvalidOperationException,
    hive.InvalidObjectException,
)

T = TypeVar("T")
Versions = dict[str, int]
"""The version of every table, by `db.table`."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: `events` is how many the listener has to tell of if it was done."""

    version: int
    name: str
    database: str
    table: str = ""
    new_table: str = ""  # of a rename
    events: int = 1
    answer: str = UNKNOWN


class EventLog:
    """Filled by any number of clients, each of which works in a database of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._version = 0

    def next_version(self) -> int:
        with self._lock:
            self._version += 1
            return self._version

    def add(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)

    def calls(self, answer: str) -> list[Call]:
        with self._lock:
            return [call for call in self._calls if call.answer == answer]

    def committed(self) -> int:
        """The events of the calls that were answered: the source has committed them for sure."""
        return sum(call.events for call in self.calls(DONE))

    def uncertain(self) -> int:
        """The events of the calls that got no answer."""
        return sum(call.events for call in self.calls(UNKNOWN))

    def retold(self, metastore_log: Path) -> int:
        """The most events that the source may have told twice.

        HMS does a call again that met a deadlock in its database, and the first time may have told of it already: of
        the tables of a database that is dropped it tells before the commit.
        """
        again = metastore_log.read_text(encoding="utf-8", errors="replace").count("Retrying HMSHandler after")
        return again * max((call.events for call in self.calls(DONE)), default=0)

    def expected(self) -> tuple[Versions, set[str]]:
        """The versions that the tables must have in the end, and the tables of which the log cannot tell."""
        versions: Versions = {}
        unsure: set[str] = set()
        with self._lock:
            for call in self._calls:
                _replay(call, versions, unsure)
        return versions, unsure


def _replay(call: Call, versions: Versions, unsure: set[str]) -> None:
    key, new = f"{call.database}.{call.table}", f"{call.database}.{call.new_table or call.table}"
    if call.answer == UNKNOWN:
        unsure |= {key, new} | {it for it in versions if call.name == "drop_database" and _is_in(it, call.database)}
    if call.answer != DONE:
        return
    if call.name == "drop_database":
        for gone in [it for it in versions if _is_in(it, call.database)]:
            del versions[gone]
    elif call.name == "drop_table":
        versions.pop(key, None)
    elif call.name in {"create_table", "alter_table"}:
        versions.pop(key, None)
        versions[new] = call.version
    if call.name in {"create_table", "alter_table", "drop_table"}:
        unsure -= {key, new}


def _is_in(key: str, database: str) -> bool:
    return key.partition(".")[0] == database


class _Recorder:
    """A thrift client that notes the changing call which is made on it, and stamps its table."""

    def __init__(self, client: Any, log: EventLog) -> None:
        self._client = client
        self._log = log
        self.call: Call | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def _note(self, name: str, database: str, table: str = "", **more: Any) -> Call:
        self.call = Call(self._log.next_version(), name, database, table, **more)
        return self.call

    def create_database(self, database: Any) -> None:
        self._note("create_database", database.name)
        self._client.create_database(database)

    def drop_database(self, name: str, delete_data: bool, cascade: bool) -> None:
        events = 1 + len(self._client.get_all_tables(name))
        self._note("drop_database", name, events=events)
        self._client.drop_database(name, delete_data, cascade)

    def create_table(self, table: Any) -> None:
        call = self._note("create_table", table.dbName, table.tableName)
        table.parameters[VERSION] = str(call.version)
        self._client.create_table(table)

    def alter_table(self, database: str, name: str, table: Any) -> None:
        call = self._note("alter_table", database, name, new_table=table.tableName)
        table.parameters[VERSION] = str(call.version)
        self._client.alter_table(database, name, table)

    def drop_table(self, database: str, name: str, delete_data: bool) -> None:
        self._note("drop_table", database, name)
        self._client.drop_table(database, name, delete_data)

    def add_partitions_req(self, request: Any) -> Any:
        self._note("add_partitions", request.dbName, request.tblName)
        return self._client.add_partitions_req(request)

    def drop_partition(self, database: str, table: str, values: list[str], delete_data: bool) -> Any:
        self._note("drop_partition", database, table)
        return self._client.drop_partition(database, table, values, delete_data)

    def rename_partition(self, database: str, table: str, values: list[str], new: Any) -> None:
        self._note("rename_partition", database, table)
        self._client.rename_partition(database, table, values, new)


class RecordingMetastore(Metastore):
    """A connection whose changes are logged with their answers."""

    def __init__(self, uri: str, log: EventLog) -> None:
        super().__init__(uri, timeout=20)
        self._log = log

    def call(self, request: Callable[[Any], T]) -> T:
        recorders: list[_Recorder] = []

        def recorded(client: Any) -> T:
            recorders.append(_Recorder(client, self._log))
            return request(recorders[0])

        answer = UNKNOWN
        try:
            result = super().call(recorded)
        except _REFUSALS:
            answer = REFUSED
            raise
        except MetastoreError as error:
            answer = UNKNOWN if isinstance(error, MetastoreCallFailed) else REFUSED
            raise
        else:
            answer = DONE
            return result
        finally:
            if recorders and (call := recorders[0].call) is not None:
                self._log.add(_answered(call, answer))


def _answered(call: Call, answer: str) -> Call:
    return Call(call.version, call.name, call.database, call.table, call.new_table, call.events, answer)


class LoggedClient(DdlClient):
    """A client of random DDL whose calls go to an event log."""

    def __init__(self, uri: str, database: str, seed: int, log: EventLog, pause: float = 0.0) -> None:
        super().__init__(uri, database, seed, pause)
        self._metastore = RecordingMetastore(uri, log)

    def _once(self) -> None:
        """A database that a call without an answer has dropped after all makes its tables invalid."""
        with suppress(hive.InvalidObjectException):
            super()._once()


class OrderWatch(threading.Thread):
    """Reads the versions at the target again and again: those of one table must never go back."""

    def __init__(self, uri: str, databases: list[str]) -> None:
        super().__init__(name="order-watch", daemon=True)
        self.seen = 0
        self.broken: list[str] = []
        self._uri = uri
        self._databases = databases
        self._newest: Versions = {}
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(1.0):
            try:
                with Metastore(self._uri, timeout=10) as metastore:
                    self._look(versions(metastore, self._databases))
            except (MetastoreError, hive.MetaException):
                continue  # the target is stopped, or a lock of its database ran out: nothing was seen

    def _look(self, found: Mapping[str, int]) -> None:
        for key, version in found.items():
            newest = self._newest.get(key, 0)
            self.seen += version > newest
            if version < newest:
                self.broken.append(f"{key} went from version {newest} back to {version}")
            self._newest[key] = version

    def stop(self) -> None:
        self._over.set()
        self.join(60)


def versions(metastore: Metastore, databases: list[str]) -> Versions:
    """The versions of all tables of these databases, as a metastore has them now."""
    found: Versions = {}
    for database in databases:
        for name in metastore.tables(database):
            table = metastore.table(database, name)
            if table is not None and VERSION in table.parameters:
                found[f"{database}.{name}"] = int(table.parameters[VERSION])
    return found
