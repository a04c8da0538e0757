"""What the conformance suite asks of a kind of target, besides the Target protocol itself."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, Protocol

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.targets.base import Target
from pysync.targets.hms import HmsSettings, hms_target
from pysync.targets.hms.store import HmsStore
from pysync.targets.store import Capability, Store
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source

_WRITES = ("add_", "alter_", "append_", "create_", "drop_", "exchange_", "rename_", "truncate_", "setMetaConf", "fire_")
_FEATURES = {
    "functions": Capability.FUNCTIONS,
    "constraints": Capability.CONSTRAINTS,
    "statistics": Capability.FILE_STATISTICS,
    "column statistics": Capability.COLUMN_STATISTICS,
    "columns": Capability.OWN_PARTITION_COLUMNS,
}


def features_of(store: type[Store], *more: str) -> frozenset[str]:
    """What a store does not lack, and `more`."""
    return frozenset({name for name, it in _FEATURES.items() if it not in store.lacks} | {*more})


BOTH_WAYS = "both ways"
"""A feature: homes decide, and not marks."""


def needs_marks(harness: TargetHarness, reason: str) -> None:
    """Skip a test of what only the judge of one way has."""
    if BOTH_WAYS in harness.features:
        pytest.skip(f"both ways {reason}")


class TargetHarness(Protocol):
    """A server of one kind, shared by the tests: each works in databases of its own."""

    kind: str

    @property
    def features(self) -> frozenset[str]:
        """What the kind has of: functions, constraints, statistics (as they are given), column statistics, columns (of
        partitions, other than their table's); managed (tables whose files are its own), contexts (of calls), trash;
        BOTH_WAYS.

        The last four no store tells."""

    writes: list[tuple[str, tuple[Any, ...]]]
    """The writing calls that its targets have made, to be cleared at will: name and arguments."""
    calls: list[str]
    """The names of all calls that they have made, reading ones, too; to be cleared at will."""

    def open(self, **settings: Any) -> Target:
        """A new target with these settings."""

    def new_database(self) -> str:
        """A name that nobody has."""

    def location(self, path: str) -> str:
        """A location for data that the target can reach, its directory not yet there."""

    def directory(self, location: str) -> Path:
        """Where the files of a location are."""

    def create(self, item: Any) -> None:
        """Create a Database or Table as somebody else would: not through pysync."""

    def alter(self, table: Any) -> None:
        """Alter a Table, as it was read from a target, as somebody else would."""

    def functions(self, database: str) -> dict[str, str]:
        """The functions that are there, with their classes."""

    def constraints(self, name: TableName) -> dict[str, list[str]]:
        """The keys that are there, with their columns."""

    def close(self) -> None:
        """Close what was opened."""


class HmsHarness:
    """Targets of kind hms on one embedded metastore."""

    kind = "hms"
    features = features_of(HmsStore, "managed", "contexts", "trash")

    def __init__(self, uri: str, root: Path, hms: Metastore | None = None) -> None:
        self.writes: list[tuple[str, tuple[Any, ...]]] = []
        self.calls: list[str] = []
        self._uri, self._root = uri, root
        self._hms = hms or Metastore(uri)
        self._open: list[StoreTarget] = []

    def open(self, **settings: Any) -> StoreTarget:
        target = hms_target(HmsSettings(name="dr", kind="hms", metastore=self._uri, **settings))
        self.record(target)
        self._open.append(target)
        return target

    def record(self, target: Any) -> None:
        """Write down its calls, also those by the user who writes what a source tells."""
        reading = target.store.hms
        target.store.visited = Source().visited
        for hms in {id(it): it for it in (reading, target.store.hms)}.values():
            record(hms, self.writes, self.calls)

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
        primary = hive.PrimaryKeysRequest(name.database, name.table)
        foreign = hive.ForeignKeysRequest(None, None, name.database, name.table)
        found: dict[str, list[str]] = {}
        for key in self._hms.call(lambda client: client.get_primary_keys(primary)).primaryKeys:
            found.setdefault(key.pk_name, []).append(key.column_name)
        for key in self._hms.call(lambda client: client.get_foreign_keys(foreign)).foreignKeys:
            found.setdefault(key.fk_name, []).append(key.fkcolumn_name)
        return found

    def partition_names(self, name: TableName) -> list[str]:
        return self._hms.partition_names(name.database, name.table)

    def close(self) -> None:
        for target in self._open:
            target.close()
        self._hms.close()


class BothWays:
    """Makes the targets of a harness go both ways: to the cluster `west`, whose home for the suite's source is there.

    Of two objects that were born under one name the smaller cluster's stays. So `onprem`, the source, is as strong as
    a source is one way.
    """

    @property
    def features(self) -> frozenset[str]:
        found: frozenset[str] = super().features  # type: ignore[misc]
        return found - {"trash"} | {BOTH_WAYS}

    def open(self, **settings: Any) -> Any:
        return super().open(both_ways=True, cluster="west", **settings)  # type: ignore[misc]


class HmsBothWaysHarness(BothWays, HmsHarness):
    """As its name says."""


class _Recorder:
    """A client that writes down its calls, with arguments those that change something."""

    def __init__(self, client: Any, writes: list[tuple[str, tuple[Any, ...]]], calls: list[str]) -> None:
        self._client, self._writes, self._calls = client, writes, calls

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        def recorded(*args: Any) -> Any:
            self._calls.append(name)
            if name.startswith(_WRITES):
                self._writes.append((name, args))
            return call(*args)

        return recorded


def record(hms: Metastore, writes: list[tuple[str, tuple[Any, ...]]], calls: list[str]) -> None:
    """Write down the calls of this connection."""
    plain = hms.call
    hms.call = lambda request: plain(lambda client: request(_Recorder(client, writes, calls)))  # type: ignore[method-assign]


def plain(value: Any) -> Any:
    """A struct as a dict, without what a server sets by itself."""
    if hasattr(value, "thrift_spec"):
        left_out = {"createTime", "handle", "lastAccessTime", "privileges"}
        return {key: plain(item) for key, item in vars(value).items() if key not in left_out}
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key != "transient_lastDdlTime"}
    return [plain(item) for item in value] if isinstance(value, list) else value


def state(target: Target, *databases: str) -> dict[str, Any]:
    """Everything that the target has in these databases."""
    found: dict[str, Any] = {}
    for database in databases:
        found[database] = plain(target.database(database))
        for name in (TableName(database, table) for table in target.tables(database)):
            parts = sorted((plain(part) for part in target.partitions(name)), key=lambda part: part["values"])
            found[str(name)] = (plain(target.table(name)), parts)
    return found
