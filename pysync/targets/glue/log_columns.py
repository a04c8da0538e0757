"""Columns of Delta and Hudi tables, by their logs on S3."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import structlog
from botocore.exceptions import ClientError

from pysync.base.errors import PysyncError
from pysync.model.copies import copied
from pysync.model.names import TableName
from pysync.model.table_formats import data_location, is_delta, is_hudi, keeps_schema
from pysync.targets.aws import delta_log, hudi_log
from pysync.targets.aws.delta_log import NoSchema
from pysync.targets.aws.errors import classified, code
from pysync.targets.aws.session import AwsSettings, client
from pysync.targets.aws.translate import s3_location
from pysync.targets.base import Forbidden, Unavailable
from pysync.targets.hive import name_of

# A directory on S3, read by boto3.


_SCHEME = "s3://"
_ABSENT = frozenset({"404", "NoSuchBucket", "NoSuchKey"})
_CHANGED = frozenset({*_ABSENT, "412", "PreconditionFailed"})
_BUFFER = 1 << 20


class Changed(Exception):
    """A file was replaced or removed while it was read."""


class Directory:
    """What is directly in a directory. Calls raise botocore's errors; what is not there is none."""

    def __init__(self, client: Any, location: str) -> None:
        """`location` is `s3://bucket/prefix`, with or without a slash at its end."""
        self._client = client
        self._bucket, _, prefix = location.removeprefix(_SCHEME).partition("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    def names(self, after: str) -> Iterator[str]:
        """The names that come after this text, in the order of S3, that of their bytes."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=self._prefix, Delimiter="/", StartAfter=f"{self._prefix}{after}"
        )
        try:
            for page in pages:
                yield from (it["Key"].removeprefix(self._prefix) for it in page.get("Contents", ()))
        except ClientError as error:
            if code(error) not in _ABSENT:
                raise

    def open(self, name: str) -> IO[bytes] | None:
        """The content of a file; None if it is not there. Only what is read is fetched. Reading raises Changed."""
        try:
            head = self._client.head_object(Bucket=self._bucket, Key=f"{self._prefix}{name}")
        except ClientError as error:
            if code(error) in _ABSENT:
                return None
            raise
        return io.BufferedReader(_Object(self._client, self._bucket, f"{self._prefix}{name}", head), _BUFFER)


class _Object(io.RawIOBase):
    """An object of S3 as a file; each read is a request. Raises Changed."""

    def __init__(self, client: Any, bucket: str, key: str, head: dict[str, Any]) -> None:
        self._client = client
        self._which = {"Bucket": bucket, "Key": key, "IfMatch": head["ETag"]}
        self._size = int(head["ContentLength"])
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        data = self._fetched(f"bytes={self._at}-{end - 1}")
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _fetched(self, pieces: str) -> bytes:
        try:
            content: bytes = self._client.get_object(**self._which, Range=pieces)["Body"].read()
        except ClientError as error:
            if code(error) in _CHANGED:
                raise Changed from error
            raise
        return content


# Columns of Delta and Hudi tables, by their logs on S3.
#
# Spark registers a Delta table at a metastore with one column, `col array<string>`: who reads the table takes the
# schema from its log. Of AWS's services Lake Formation, views and filters of rows and columns go by the Data Catalog,
# though. Hudi registers its columns if its writer is set to.


FRESH_SECONDS = 5.0
"""How long columns count that were just read: an operation reads them several times."""
_MOST_CACHED = 1000

Open = Callable[[str], Directory]
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
                columns = hudi_log.as_registered(columns, table.sd.cols or ())
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
                return read(lambda name: Directory(s3, f"{location.rstrip('/')}/{name}"))
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
    return delta_log.columns_of(delta_log.newest_schema(directory(delta_log.DIRECTORY)))


def _of_hudi(directory: Open) -> Sequence[Any]:
    files = directory(hudi_log.DIRECTORY), directory(hudi_log.TIMELINE)
    return hudi_log.columns_of(hudi_log.newest_schema(*files))
