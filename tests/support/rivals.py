"""Clients of several metastores that all work on the same few names: databases, tables, partitions, functions."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from tests.support import partition, table

DATABASES = ("shared0", "shared1")
TABLES = tuple(f"t{number}" for number in range(5))
DAYS = tuple(str(number) for number in range(1, 5))
FUNCTIONS = ("f0", "f1")
_RETRY_SECONDS = 0.2


class Rival(threading.Thread):
    """Sends random DDL to one metastore until `stop`; `done` counts what was answered with yes.

    Its databases are within `warehouse`, wherever they are born: a Hive 2.3 cannot change the location of one.
    """

    def __init__(self, uri: str, warehouse: Path, seed: int, pause: float) -> None:
        super().__init__(name=f"rival-{seed}", daemon=True)
        self.done = self.refused = 0
        self._metastore = Metastore(uri, timeout=60)
        self._chance = random.Random(seed)
        self._warehouse = warehouse
        self._pause = pause
        self._stop_asked = threading.Event()
        self._actions: dict[Callable[[str], None], float] = {
            self._create_table: 4,
            self._alter: 8,
            self._rename: 2,
            self._drop_table: 2,
            self._recreate: 1,
            self._add_partition: 8,
            self._add_partitions: 3,
            self._alter_partition: 3,
            self._drop_partition: 5,
            self._create_function: 2,
            self._drop_function: 2,
            self._drop_database: 0.3,
        }

    def run(self) -> None:
        while not self._stop_asked.wait(self._chance.uniform(0, 2 * self._pause)):
            try:
                self._once()
                self.done += 1
            except MetastoreError:
                time.sleep(_RETRY_SECONDS)
            except (TException, AttributeError, IndexError):  # somebody else was faster
                self.refused += 1
        self._metastore.close()

    def stop(self) -> None:
        """Ask it to end."""
        self._stop_asked.set()

    def _once(self) -> None:
        database = self._chance.choice(DATABASES)
        if self._metastore.database(database) is None:
            made = hive.Database(name=database, locationUri=f"file:{self._warehouse / database}", parameters={})
            self._call(lambda client: client.create_database(made))
        action = self._chance.choices(list(self._actions), list(self._actions.values()))[0]
        action(database)

    def _call(self, request: Callable[[Any], Any]) -> Any:
        return self._metastore.call(request)

    def _some_table(self, database: str) -> Any:
        """One that is there, with partitions or without; AttributeError where none is."""
        return self._metastore.table(database, self._chance.choice(TABLES))

    def _value(self) -> str:
        return f"{self.name}-{self._chance.randrange(100_000)}"

    def _create_table(self, database: str) -> None:
        made = table(database, self._chance.choice(TABLES), partition_keys=[("day", "string")])
        made.parameters["note"] = self._value()
        self._call(lambda client: client.create_table(made))

    def _alter(self, database: str) -> None:
        found = self._some_table(database)
        if self._chance.random() < 0.2 and found.sd.cols and len(found.sd.cols) < 6:
            found.sd.cols.append(hive.FieldSchema(f"c{len(found.sd.cols)}", "string", None))
        else:
            found.parameters["note"] = self._value()
        self._call(lambda client: client.alter_table(database, found.tableName, found))

    def _rename(self, database: str) -> None:
        found = self._some_table(database)
        old, found.tableName = found.tableName, self._chance.choice(TABLES)
        self._call(lambda client: client.alter_table(database, old, found))

    def _drop_table(self, database: str) -> None:
        self._call(lambda client: client.drop_table(database, self._chance.choice(TABLES), False))

    def _recreate(self, database: str) -> None:
        name = self._chance.choice(TABLES)
        self._call(lambda client: client.drop_table(database, name, False))
        made = table(database, name, partition_keys=[("day", "string")], parameters={"note": self._value()})
        self._call(lambda client: client.create_table(made))

    def _add_partition(self, database: str) -> None:
        part = partition(self._some_table(database), [self._chance.choice(DAYS)])
        part.parameters["note"] = self._value()
        self._call(lambda client: client.add_partition(part))

    def _add_partitions(self, database: str) -> None:
        """By the call that takes no context along."""
        of = self._some_table(database)
        parts = [partition(of, [day]) for day in self._chance.sample(DAYS, 2)]
        request = hive.AddPartitionsRequest(database, of.tableName, parts, True, False)
        self._call(lambda client: client.add_partitions_req(request))

    def _alter_partition(self, database: str) -> None:
        of, day = self._some_table(database), self._chance.choice(DAYS)
        part = self._call(lambda client: client.get_partition(database, of.tableName, [day]))
        part.parameters["note"] = self._value()
        self._call(lambda client: client.alter_partition(database, of.tableName, part))

    def _drop_partition(self, database: str) -> None:
        name, day = self._chance.choice(TABLES), self._chance.choice(DAYS)
        self._call(lambda client: client.drop_partition(database, name, [day], False))

    def _create_function(self, database: str) -> None:
        made = hive.Function(
            self._chance.choice(FUNCTIONS), database, f"org.C{self._chance.randrange(9)}", "me",
            hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [],
        )  # fmt: skip
        self._call(lambda client: client.create_function(made))

    def _drop_function(self, database: str) -> None:
        self._call(lambda client: client.drop_function(database, self._chance.choice(FUNCTIONS)))

    def _drop_database(self, database: str) -> None:
        self._call(lambda client: client.drop_database(database, False, True))
