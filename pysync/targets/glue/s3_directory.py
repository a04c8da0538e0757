"""A directory on S3, read by boto3."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from typing import IO, Any

from botocore.exceptions import ClientError

from pysync.targets.aws.errors import code

_SCHEME = "s3://"
_ABSENT = frozenset({"404", "NoSuchBucket", "NoSuchKey"})
_CHANGED = frozenset({*_ABSENT, "412", "PreconditionFailed"})
_BUFFER = 1 << 20


class Changed(Exception):
    """A file was replaced or removed while it was read."""


class S3Directory:
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
        data = self._fetched(self._at, end)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _fetched(self, begin: int, end: int) -> bytes:
        """At most these bytes, also of a service that sends more."""
        try:
            with closing(self._client.get_object(**self._which, Range=f"bytes={begin}-{end - 1}")["Body"]) as body:
                content: bytes = body.read(end - begin)
        except ClientError as error:
            if code(error) in _CHANGED:
                raise Changed from error
            raise
        return content
