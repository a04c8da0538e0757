"""What a harness of somebody else's kind need not write again: its author says how a store is opened, and no more."""

from __future__ import annotations

import secrets
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName
from pysync.targets.hive import name_of
from pysync.targets.kinds import target_kind
from pysync.targets.store import HasFunctions, Store
from pysync.targets.target import StoreTarget
from tests.conformance.harness import features_of

_WRITES = (
    *("create_database", "alter_database", "drop_database"),
    *("create_table", "alter_table", "replace_table", "drop_tables", "rename_table"),
    *("put_partitions", "add_partitions", "drop_partitions"),
    *("create_function", "alter_function", "drop_function"),
    *("add_constraint", "drop_constraint", "put_column_statistics", "drop_column_statistics"),
)


class StoreHarness:
    """Targets of the kind `kind`, which is found by its entry point, with the settings that `place` gives besides.

    What it calls writes are the store's own: those that the suite wants to see none of.
    """

    kind: str
    more: tuple[str, ...] = ()
    """What the place has that no store tells (TargetHarness.features)."""

    def __init__(self, root: Path) -> None:
        """`root` is an empty directory of its own."""
        self.writes: list[tuple[str, tuple[Any, ...]]] = []
        self.calls: list[str] = []
        self._root = root
        self._open: list[StoreTarget] = []

    def place(self) -> dict[str, Any]:
        """Its settings: where the place is that all targets share."""
        raise NotImplementedError

    @cached_property
    def features(self) -> frozenset[str]:
        """By what the store lacks."""
        return features_of(type(self._others), *self.more)

    def open(self, **settings: Any) -> StoreTarget:
        target = self._target(**settings)
        _record(target.store, self.writes)
        return target

    def new_database(self) -> str:
        return f"db_{secrets.token_hex(5)}"

    def location(self, path: str) -> str:
        return f"file:{self._root / 'data' / path}"

    def directory(self, location: str) -> Path:
        return Path(location.removeprefix("file:"))

    def create(self, item: Any) -> None:
        """As somebody else would, who knows of no marks and asks nobody whether he may."""
        store = self._others
        if isinstance(item, hive.Database):
            store.create_database(store.as_stored(item))
        else:
            store.create_table(store.as_stored(item))

    def alter(self, table: Any) -> None:
        store = self._others
        store.alter_table(store.as_stored(table), store.table(name_of(table)))

    def functions(self, database: str) -> dict[str, str]:
        assert isinstance(self._others, HasFunctions)
        return {found.functionName: found.className for found in self._others.functions(database)}

    def constraints(self, name: TableName) -> dict[str, list[str]]:
        raise NotImplementedError("say so: override this")

    def close(self) -> None:
        for target in self._open:
            target.close()

    def _target(self, **settings: Any) -> StoreTarget:
        kind = target_kind(self.kind)
        target = kind.open(kind.settings.model_validate({"name": "dr", "kind": self.kind, **self.place(), **settings}))
        assert isinstance(target, StoreTarget)
        self._open.append(target)
        return target

    @cached_property
    def _others(self) -> Store:
        """Somebody else's."""
        return self._target().store


def _record(store: Store, writes: list[tuple[str, tuple[Any, ...]]]) -> None:
    """Write down what the store is told to write."""

    def recorded(name: str, call: Any) -> Any:
        def wrapper(*args: Any, **more: Any) -> Any:
            done = call(*args, **more)
            if done is not False:  # it says that nothing was written
                writes.append((name, args))
            return done

        return wrapper

    for name in filter(partial(hasattr, store), _WRITES):
        setattr(store, name, recorded(name, getattr(store, name)))
