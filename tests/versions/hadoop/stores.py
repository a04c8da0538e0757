"""Where tests of copying keep trees of files: a directory, an HDFS, a bucket; looked at without pysync's own copier."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pyspark import SparkContext

Tree = Mapping[str, bytes]

RECORD = ".pysync-copied"
"""The list of what pysync has copied, in each directory; no part of a tree."""


class Store(Protocol):
    """A place of one tree."""

    @property
    def uri(self) -> str:
        """As pysync is told of it."""

    def put(self, tree: Tree) -> None:
        """Write these files, which are an hour old where the place can."""

    def remove(self, name: str) -> None:
        """Remove one file."""

    def tree(self) -> dict[str, bytes]:
        """All files but for pysync's records."""


class Directory:
    """A directory of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.uri = f"file:{path}"

    def put(self, tree: Tree) -> None:
        for name, content in tree.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def remove(self, name: str) -> None:
        (self.path / name).unlink()

    def tree(self) -> dict[str, bytes]:
        files = (it for it in self.path.rglob("*") if it.is_file() and it.name != RECORD)
        return {str(it.relative_to(self.path)): it.read_bytes() for it in files}


class HadoopDirectory:
    """A directory of any file system of Hadoop, reached by the Java of the running Spark, which the copier started.

    `settings` are of the client that writes: `{"dfs.blocksize": "1048576"}`.
    """

    def __init__(self, uri: str, scratch: Path, settings: Mapping[str, str] | None = None) -> None:
        self.uri, self._scratch, self._settings = uri, scratch, dict(settings or {})

    def put(self, tree: Tree) -> None:
        local = self._local()
        Directory(local).put(tree)
        files = self._files()
        hour = 1000 * 3600
        for name in tree:
            there = self._path(name)
            files.mkdirs(there.getParent())
            files.copyFromLocalFile(False, True, self._own(local / name), there)
            files.setTimes(there, files.getFileStatus(there).getModificationTime() - hour, -1)

    def remove(self, name: str) -> None:
        self._files().delete(self._path(name), False)

    def tree(self) -> dict[str, bytes]:
        local = self._local()
        files = self._files()
        if files.exists(self._path("")):
            files.copyToLocalFile(False, self._path(""), self._own(local), True)
        return Directory(local).tree()

    def times(self) -> dict[str, int]:
        """When each file directly in it was changed, in ms."""
        times = {it.getPath().getName(): it.getModificationTime() for it in self._files().listStatus(self._path(""))}
        return {name: time for name, time in times.items() if name != RECORD}

    def _local(self) -> Path:
        return self._scratch / uuid.uuid4().hex

    def _path(self, name: str) -> Any:
        return self._java().org.apache.hadoop.fs.Path(f"{self.uri}/{name}" if name else self.uri)

    def _own(self, path: Path) -> Any:
        return self._java().org.apache.hadoop.fs.Path(f"file:{path}")

    def _files(self) -> Any:
        settings = self._java().org.apache.hadoop.conf.Configuration(
            SparkContext._active_spark_context._jsc.hadoopConfiguration()
        )
        for name, value in self._settings.items():
            settings.set(name, value)
        files = self._java().org.apache.hadoop.fs.FileSystem.newInstance(self._path("").toUri(), settings)
        files.setVerifyChecksum(True)
        return files

    @staticmethod
    def _java() -> Any:
        return SparkContext._active_spark_context._jvm


class Bucket:
    """The objects of a bucket below a prefix, by boto3; `client` is its S3 client."""

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:
        self._client, self._bucket, self._prefix = client, bucket, prefix
        self.uri = f"s3a://{bucket}/{prefix}"

    def put(self, tree: Tree) -> None:
        for name, content in tree.items():
            self._client.put_object(Bucket=self._bucket, Key=f"{self._prefix}/{name}", Body=content)

    def remove(self, name: str) -> None:
        self._client.delete_object(Bucket=self._bucket, Key=f"{self._prefix}/{name}")

    def tree(self) -> dict[str, bytes]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=f"{self._prefix}/")
        keys = [it["Key"] for page in pages for it in page.get("Contents", [])]
        return {
            key.removeprefix(f"{self._prefix}/"): self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
            for key in keys
            if not key.endswith(f"/{RECORD}") and not key.endswith("/")
        }


def numbered(number: int, size: int) -> dict[str, bytes]:
    """So many files of so many random bytes."""
    return {f"part-{at:05d}": os.urandom(size) for at in range(number)}
