"""Histories of DDL as events, for the benchmarks: what a listener would have sent, without a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.event import Event, Kind
from pysync.model.wire import encode
from tests.support import partition, table

_CREATED = 1_700_000_000
_KEYS = (("day", "string"), ("hour", "int"))


class History:
    """Events of one source, numbered; `database` is created by the first of them."""

    def __init__(self, database: str, location: str) -> None:
        self.database = database
        self._location = location
        self._sequence = 0

    def begin(self) -> Event:
        """CREATE_DATABASE."""
        return self._event(Kind.CREATE_DATABASE, after=[self._database()])

    def end(self) -> Event:
        """DROP_DATABASE, which is empty."""
        return self._event(Kind.DROP_DATABASE, before=[self._database()], attributes={"delete_data": "false"})

    def drop(self, of: Any) -> Event:
        """DROP_TABLE."""
        return self._event(Kind.DROP_TABLE, before=[of], attributes={"delete_data": "false"})

    def table(self, name: str, columns: int = 8) -> Any:
        """A partitioned table with some columns, as its source has it."""
        found = table(self.database, name, partition_keys=_KEYS)
        found.createTime = _CREATED
        found.sd.cols = [hive.FieldSchema(f"c{number}", "string", None) for number in range(columns)]
        found.sd.location = f"{self._location}/{self.database}.db/{name}"
        return found

    def churn(self, tables: int, rounds: int) -> Iterator[Event]:
        """The same tables created, altered four times and dropped, again and again; they are there at the end."""
        names = [f"churn{number}" for number in range(tables)]
        for number in range(rounds):
            for name in names:
                found = self.table(name)
                yield self.create(found)
                for change in range(4):
                    yield self.alter(found, note=f"{number}.{change}")
                if number < rounds - 1:
                    yield self.drop(found)

    def ingest(self, owners: Sequence[Any], partitions: int) -> Iterator[Event]:
        """Partitions added one by one, turn by turn, to tables that are there."""
        for number in range(partitions):
            owner = owners[number % len(owners)]
            yield self._event(Kind.ADD_PARTITION, of=owner, after=[self.partition(owner, number)])

    def mixed(self, owners: Sequence[Any], rounds: int) -> Iterator[Event]:
        """What a warehouse does in a day: partitions added and their statistics set, columns added, some dropped."""
        for number in range(rounds):
            for owner in owners:
                added = self.partition(owner, number)
                yield self._event(Kind.ADD_PARTITION, of=owner, after=[added])
                counted = deepcopy(added)
                counted.parameters = {
                    "numRows": str(number),
                    "numFiles": "1",
                    "totalSize": "1024",
                    "rawDataSize": "512",
                }
                yield self._event(Kind.ALTER_PARTITION, of=owner, before=[added], after=[counted])
                if number >= 20:
                    old = self.partition(owner, number - 20)
                    yield self._event(Kind.DROP_PARTITION, of=owner, before=[old], attributes={"delete_data": "false"})
                if number % 10 == 0:
                    yield self.alter(owner, note=str(number))

    def create(self, of: Any) -> Event:
        """CREATE_TABLE."""
        return self._event(Kind.CREATE_TABLE, after=[of])

    def partition(self, of: Any, number: int) -> Any:
        """The partition of that number."""
        found = partition(of, [f"2026-{number // 24 % 336 // 28 + 1:02d}-{number // 24 % 28 + 1:02d}", str(number)])
        found.sd.cols = of.sd.cols
        found.sd.location = f"{of.sd.location}/{number}"
        found.createTime = _CREATED
        return found

    def alter(self, of: Any, note: str) -> Event:
        """ALTER_TABLE: another parameter `note`."""
        before = encode(of)
        of.parameters = {**of.parameters, "note": note}
        return self._event(Kind.ALTER_TABLE, raw_before=(before,), after=[of])

    def _database(self) -> Any:
        return hive.Database(self.database, "bench", f"{self._location}/{self.database}.db", {})

    def _event(
        self,
        kind: Kind,
        *,
        of: Any = None,
        before: Sequence[Any] = (),
        raw_before: tuple[bytes, ...] = (),
        after: Sequence[Any] = (),
        attributes: dict[str, str] | None = None,
    ) -> Event:
        self._sequence += 1
        return Event(
            kind,
            "bench",
            f"bench-{self.database}",
            self._sequence,
            _CREATED * 1000,
            attributes=attributes or {},
            table=encode(of) if of is not None else None,
            before=raw_before or tuple(map(encode, before)),
            after=tuple(map(encode, after)),
        )


# The fact tables of TPC-DS, which a warehouse loads by day, with their numbers of columns.
TPC_DS = {
    "store_sales": 23,
    "store_returns": 20,
    "catalog_sales": 34,
    "catalog_returns": 27,
    "web_sales": 34,
    "web_returns": 24,
    "inventory": 4,
}
