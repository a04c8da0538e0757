"""Reads: what is asked of a source, a living metastore or one that was written down (pysync.dump)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from pysync.model.names import TableName
from pysync.model.snapshot import Snapshot


class Reads(Protocol):
    """The reading half of `Metastore`, whose docstrings say what each answers; they raise MetastoreError."""

    @property
    def uri(self) -> object:
        """Where it is, for people."""

    def databases(self) -> list[str]:
        """The names of all databases."""

    def database(self, name: str) -> Any | None:
        """A `ttypes.Database`."""

    def tables(self, database: str) -> list[str]:
        """The names of all tables and views of a database."""

    def views(self, database: str) -> list[str]:
        """The names of all views of a database, but for materialized ones."""

    def table(self, database: str, name: str) -> Any | None:
        """A `ttypes.Table`."""

    def tables_by_name(self, database: str, names: Sequence[str]) -> list[Any]:
        """The named tables that are there, each a `ttypes.Table`."""

    def first_partitions(self, database: str, table: str, most: int) -> list[Any]:
        """At most `most` `ttypes.Partition`."""

    def partition_names(self, database: str, table: str) -> list[str]:
        """All partitions as `key=value/key=value`."""

    def partitions_by_name(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        """The named partitions that are there, each a `ttypes.Partition`."""

    def functions(self, database: str) -> list[Any]:
        """Every `ttypes.Function` of a database."""

    def constraints(self, table: Any) -> dict[Any, list[Any]]:
        """The constraints of a `ttypes.Table` as it was read here, by struct."""

    def snapshots(self, names: Sequence[TableName]) -> dict[TableName, Snapshot]:
        """Which writes of these transactional tables count now."""


def with_values(partitions: Iterable[Any]) -> list[Any]:
    """The `ttypes.Partition` that were read with their values.

    HMS reads partitions first and their values after them, in transactions that see what others commit. A partition
    that is dropped in between comes without any values; it counts as gone.
    """
    return [partition for partition in partitions if partition.values]
