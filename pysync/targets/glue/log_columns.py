"""Columns of Delta and Hudi tables, by their logs on S3.

Spark registers a Delta table at a metastore with one column, `col array<string>`: who reads the table takes the schema
from its log. Of AWS's services Lake Formation, views and filters of rows and columns go by the Data Catalog, though.
Hudi registers its columns if its writer is set to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.model.names import TableName
from pysync.model.struct_copies import copied
from pysync.model.table_formats import data_location, is_delta, is_hudi, keeps_schema
from pysync.targets.aws import delta_log, delta_schema, hudi_log, hudi_schema
from pysync.targets.aws.clients import client
from pysync.targets.aws.delta_schema import NoSchema
from pysync.targets.aws.errors import classified
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.aws.texts import s3_location
from pysync.targets.base import Forbidden, Unavailable
from pysync.targets.glue.s3_directory import Changed, S3Directory
from pysync.targets.hive import name_of

FRESH_SECONDS = 5.0
"""How long columns count that were just read: an operation reads them several times."""
_MOST_CACHED = 1000

Open = Callable[[str], S3Directory]
"""A directory of a table, by its name."""

log = structlog.get_logger(__name__)


class LogColumns:
    """The columns of Delta tables, for one store; not safe to use from several threads.

    `read_table` reads a table at the target: if its log cannot be used, it keeps the columns that it has there.
    """

    def __init__(
        self, settings: AwsSettings, read_table: Callable[[TableName], Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._read_table = read_table
        self._clock = clock
        self._read: dict[str, tuple[float, Sequence[Any] | NoSchema]] = {}
        self._logged: set[tuple[str, str]] = set()

    def applied(self, table: Any) -> Any:
        """The table with the columns that it should have at the target.

        Does not alter `table`, which is returned if the settings ask for nothing, or if it is of another format.
        Raises Unavailable if S3 cannot be reached for now.
        """
        if self._settings.log_schemas_every is None or table.sd is None or not keeps_schema(table):
            return table
        wanted = copied(table)
        try:
            columns = self._columns(table)
            if is_hudi(table):
                columns = hudi_schema.as_registered(columns, table.sd.cols or ())
            keys = {key.name for key in table.partitionKeys or ()}  # Glue has no name twice
            wanted.sd.cols = [copied(column) for column in columns if column.name not in keys]
        except NoSchema as why:
            self._log_once(table, why)
            wanted.sd.cols = self._columns_at_target(table)
        return wanted

    def _columns(self, table: Any) -> Sequence[Any]:
        """Raises NoSchema."""
        location = s3_location(data_location(table))
        read_at, columns = self._read.get(location, (-FRESH_SECONDS, ()))
        if self._clock() - read_at >= FRESH_SECONDS:
            columns = self._newest(location, _of_hudi if is_hudi(table) else _of_delta)
            if len(self._read) >= _MOST_CACHED:
                self._read.clear()
            self._read[location] = self._clock(), columns
        if isinstance(columns, NoSchema):
            raise NoSchema(*columns.args)
        return columns

    def _newest(self, location: str, read: Callable[[Open], Sequence[Any]]) -> Sequence[Any] | NoSchema:
        if not location.startswith("s3://"):
            return NoSchema("it is not on S3")
        s3 = client(self._settings, "s3")
        try:
            with classified(f"cannot read the transaction log of {location}", reading=True):
                return read(lambda name: S3Directory(s3, f"{location.rstrip('/')}/{name}"))
        except NoSchema as error:
            return error
        except Changed as error:
            raise Unavailable(f"the transaction log of {location} changed while it was read") from error
        except PysyncError as error:
            # A missing right must not stop what works without it: the table is mirrored, but for its columns.
            if isinstance(error, Unavailable) and not isinstance(error, Forbidden):
                raise
            return NoSchema(error.message)

    def _columns_at_target(self, table: Any) -> list[Any]:
        name = name_of(table)
        with classified(f"cannot read the table {name}", reading=True):
            existing = self._read_table(name)
        # What the source has of a Hudi table is worth as much: its writer registers the columns.
        stays = existing is not None and existing.sd is not None and is_delta(existing)
        return list((existing if stays else table).sd.cols or ())

    def _log_once(self, table: Any, why: NoSchema) -> None:
        """Log it, once for each table and reason."""
        warning = str(name_of(table)), str(why)
        if warning not in self._logged:
            self._logged.add(warning)
            log.warning("table_log_unreadable", target=self._settings.name, table=warning[0], reason=warning[1])


def _of_delta(directory: Open) -> Sequence[Any]:
    return delta_schema.columns_of(delta_log.newest_schema(directory(delta_log.DIRECTORY)))


def _of_hudi(directory: Open) -> Sequence[Any]:
    files = directory(hudi_log.DIRECTORY), directory(hudi_log.TIMELINE)
    return hudi_schema.columns_of(hudi_log.newest_schema(*files))
