"""What a case is, and the source at which it is played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.model.names import partition_name
from tests.support import storage

Make = Callable[[Any], None]


class Play:
    """One case's table at the source, changed by calls of the metastore, as Hive and Spark make them."""

    def __init__(self, metastore: Metastore, database: str, name: str, root: str) -> None:
        self.database, self.name = database, name
        self.location = f"{root}/{name}"
        self._metastore = metastore

    def create(self, make: Make, keys: Sequence[tuple[str, str]]) -> None:
        self._call("create_table", plain(self, make, keys))

    def table(self) -> Any:
        return self._metastore.table(self.database, self.name)

    def alter(self, change: Make) -> None:
        """Alter the table; `change` gets it as it is."""
        table = self.table()
        change(table)
        self._call("alter_table", self.database, self.name, table)
        self.name = table.tableName

    def add(self, *values: Sequence[str], location: str | None = None, change: Make | None = None) -> None:
        """Add partitions, in their default places or in those that `location` gives, with {} for their number."""
        table, parts = self.table(), []
        for number, one in enumerate(values):
            part = hive.Partition(list(one), self.database, self.name, parameters={}, sd=deepcopy(table.sd))
            keys = [key.name for key in table.partitionKeys]
            place = partition_name(keys, one) if location is None else location.format(number)
            part.sd.location = f"{table.sd.location}/{place}"
            (change or _nothing)(part)
            parts.append(part)
        self._call("add_partitions", parts)

    def alter_partition(self, values: Sequence[str], change: Make) -> None:
        part = self._partition(values)
        change(part)
        self._call("alter_partition", self.database, self.name, part)

    def rename_partition(self, old: Sequence[str], new: Sequence[str]) -> None:
        part = self._partition(old)
        part.values = list(new)
        self._call("rename_partition", self.database, self.name, list(old), part)

    def drop_partition(self, values: Sequence[str]) -> None:
        self._call("drop_partition", self.database, self.name, list(values), False)

    def drop(self) -> None:
        self._call("drop_table", self.database, self.name, False)

    def _partition(self, values: Sequence[str]) -> Any:
        return next(it for it in self._metastore.partitions(self.database, self.name) if it.values == list(values))

    def _call(self, method: str, *arguments: Any) -> None:
        self._metastore.call(lambda client: getattr(client, method)(*arguments))


Step = Callable[[Play], None]


def _nothing(_: Any) -> None:
    pass


def columns(*pairs: tuple[str, str]) -> list[Any]:
    return [hive.FieldSchema(name, kind, None) for name, kind in pairs]


def plain(play: Play, make: Make, keys: Sequence[tuple[str, str]]) -> Any:
    """An external table of text, of which statements say everything but the owner; then made the case's."""
    found = hive.Table(
        tableName=play.name,
        dbName=play.database,
        owner="ann",
        sd=storage((("a", "int"), ("b", "string")), play.location),
        partitionKeys=columns(*keys),
        parameters={"EXTERNAL": "TRUE"},
        tableType="EXTERNAL_TABLE",
    )
    found.sd.serdeInfo.parameters = {"serialization.format": "1"}
    make(found)
    return found


@dataclass(frozen=True, slots=True)
class Case:
    """A table, how it is made, and what happens to it later: each step after the targets have seen the one before.

    `said`: statements of Athena say all of it. The others need the Glue API, and are parked where that may not be used.
    `refused`: the statements say all of it, but Athena refuses them with these words (a regular expression); then it is
    as with the others. `only_here`: the real Athena has a class that the embedded one lacks, and refuses none of them.
    """

    title: str
    make: Make = _nothing
    keys: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()
    said: bool = True
    refused: str = ""
    only_here: bool = False

    def parks(self, *, here: bool) -> bool:
        """Whether it is parked without the Glue API; `here` is the embedded Athena."""
        return not self.said or bool(self.refused and (here or not self.only_here))
