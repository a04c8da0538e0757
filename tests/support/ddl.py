"""A client that sends random, valid DDL to a metastore, as fast as it is answered, and lives through its restarts."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from tests.support import partition, table

_RETRY_SECONDS = 0.1


class DdlClient(threading.Thread):
    """Works in one database of its own until `stop`; `done` counts the statements that were answered.

    A call that got no answer may have been carried out, so it looks at the metastore before it goes on.
    """

    def __init__(self, uri: str, database: str, seed: int, pause: float = 0.0) -> None:
        super().__init__(name=f"ddl-{database}", daemon=True)
        self.database = database
        self.done = 0
        self.error: BaseException | None = None
        self._metastore = Metastore(uri, timeout=20)
        self._random = random.Random(seed)
        self._pause = pause
        self._stop_asked = threading.Event()
        self._named = 0

    def run(self) -> None:
        try:
            while not self._stop_asked.wait(self._pause):
                self._once()
        except BaseException as error:
            self.error = error
        finally:
            self._metastore.close()

    def stop(self) -> None:
        """End it; raises what it ended with."""
        self._stop_asked.set()
        self.join(60)
        assert not self.is_alive(), f"{self.name} hangs"
        if self.error is not None:
            raise self.error

    def _once(self) -> None:
        done = (hive.NoSuchObjectException, hive.AlreadyExistsException, hive.InvalidOperationException)
        try:
            with suppress(*done):  # a call without an answer had been carried out after all
                self._statement()
                self.done += 1
        except MetastoreError:
            time.sleep(_RETRY_SECONDS)

    def _statement(self) -> None:
        if self._metastore.database(self.database) is None:
            self._create_database()
            return
        tables = self._metastore.tables(self.database)
        if len(tables) < 3:
            self._create_table()
            return
        chosen = self._metastore.table(self.database, self._random.choice(tables))
        weights = {
            self._create_table: 2,
            self._add_partitions: 8,
            self._drop_partition: 3,
            self._rename_partition: 2,
            self._alter: 4,
            self._rename: 2,
            self._drop: 2,
            self._recreate: 1,
            self._drop_database: 0.2,
        }
        action: Callable[..., None] = self._random.choices(list(weights), list(weights.values()))[0]
        if action in {self._create_table, self._drop_database}:
            action()
        elif chosen is not None:
            action(chosen)

    def _new_name(self) -> str:
        self._named += 1
        return f"t{self._named}"

    def _create_database(self) -> None:
        new = hive.Database(name=self.database, description=f"no. {self._named}", parameters={})
        self._metastore.call(lambda client: client.create_database(new))

    def _drop_database(self) -> None:
        self._metastore.call(lambda client: client.drop_database(self.database, True, True))

    def _create_table(self) -> None:
        new = table(self.database, self._new_name(), partition_keys=[("day", "string"), ("part", "int")])
        self._metastore.call(lambda client: client.create_table(new))

    def _recreate(self, old: Any) -> None:
        """Drop a table and create another of its name, with other columns, at once."""
        self._drop(old)
        new = table(self.database, old.tableName, partition_keys=[("day", "string"), ("part", "int")])
        new.sd.cols.append(hive.FieldSchema(f"again{self._random.randrange(1000)}", "string", "made anew"))
        self._metastore.call(lambda client: client.create_table(new))

    def _drop(self, old: Any) -> None:
        self._metastore.call(lambda client: client.drop_table(self.database, old.tableName, False))

    def _rename(self, old: Any) -> None:
        name, old.tableName = old.tableName, self._new_name()
        self._metastore.call(lambda client: client.alter_table(self.database, name, old))

    def _alter(self, old: Any) -> None:
        if self._random.random() < 0.5:
            old.parameters[f"note{self._random.randrange(3)}"] = f"value '{self._random.randrange(1000)}\" é"
        else:
            old.sd.cols.append(hive.FieldSchema(f"c{len(old.sd.cols)}", "string", "added"))
        self._metastore.call(lambda client: client.alter_table(self.database, old.tableName, old))

    def _add_partitions(self, of: Any) -> None:
        day = f"2026-01-{self._random.randrange(1, 29):02d}"
        first = self._random.randrange(1_000_000)
        new = [partition(of, [day, str(first + n)]) for n in range(self._random.choice((1, 1, 3)))]
        request = hive.AddPartitionsRequest(self.database, of.tableName, new, True, False)
        self._metastore.call(lambda client: client.add_partitions_req(request))

    def _drop_partition(self, of: Any) -> None:
        values = self._some_partition(of)
        if values is not None:
            self._metastore.call(lambda client: client.drop_partition(self.database, of.tableName, values, False))

    def _rename_partition(self, of: Any) -> None:
        values = self._some_partition(of)
        if values is None:
            return
        found = self._metastore.call(lambda client: client.get_partition(self.database, of.tableName, values))
        found.values = [values[0], str(self._random.randrange(1_000_000, 2_000_000))]
        self._metastore.call(lambda client: client.rename_partition(self.database, of.tableName, values, found))

    def _some_partition(self, of: Any) -> list[str] | None:
        names = self._metastore.partition_names(self.database, of.tableName)
        if not names:
            return None
        return [part.partition("=")[2] for part in self._random.choice(names).split("/")]
