"""The list of the data files of a dump: what Spark finds in the directories of its tables and partitions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pysync.config import Config
from pysync.copy.copier import Copier
from pysync.copy.copies import Copies
from pysync.dump.manifest import DumpCounts
from pysync.metastore.client import PARTITIONS_PER_CALL
from pysync.metastore.reads import Reads
from pysync.model.file_differences import Pair
from pysync.model.names import TableName
from pysync.model.table_formats import data_location
from pysync.targets.settings import CopySettings, TargetSettings

_NAME = "dump"


@dataclass(frozen=True, slots=True)
class Lister:
    """Lists a directory as the survey of what an empty one lacks."""

    copier: Copier
    empty: str

    @classmethod
    @contextmanager
    def opened(cls, config: Config) -> Iterator[Lister]:
        """With the copy settings of the first target that copies files. Raises UsageError without pyspark."""
        with opened_copier(config) as (copier, scratch):
            empty = scratch / "empty"
            empty.mkdir()
            yield cls(copier, empty.as_uri())

    def lines(self, name: TableName, locations: Iterable[str]) -> Iterator[tuple[bytes, DumpCounts]]:
        """A line of JSON for each file in these directories of a table. Raises Unavailable and Rejected."""
        for listed in self.copier.survey([Pair(location, self.empty) for location in locations]):
            for file in listed.copies:
                line = {"database": name.database, "table": name.table, "path": file.source}
                whole_line = {**line, "bytes": file.size, "modified_ms": file.time}
                yield json.dumps(whole_line).encode() + b"\n", DumpCounts(files=1)


@contextmanager
def opened_copier(config: Config, **changes: Any) -> Iterator[tuple[Copier, Path]]:
    """A copier with the settings of the first target that copies files and these `changes`, and a scratch directory.

    Raises UsageError without pyspark.
    """
    copies_as = next((it.copy_files for it in config.targets if it.copy_files), CopySettings())
    settings = TargetSettings(name=_NAME, kind=_NAME, copy=copies_as.model_copy(update=changes))
    settings.use_spark(config.spark)
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="pysync-dump-")))
        copies = stack.enter_context(closing(Copies([settings], place)))
        yield copies.copiers[_NAME], place


def listing(
    lister: Lister, source: Reads, tables: Iterable[TableName], on_progress: Callable[[str], None]
) -> Iterator[tuple[bytes, DumpCounts]]:
    """The files of these tables, a page of partitions at a time."""
    for name in tables:
        on_progress(str(name))
        for page in locations(source, name):
            yield from lister.lines(name, page)


def locations(source: Reads, name: TableName) -> Iterator[list[str]]:
    """Where the files of a table are, a page of its partitions at a time. A dump gives the same pages each time."""
    for items in _stored(source, name):
        yield [location for it in items if (location := data_location(it))]


def _stored(source: Reads, name: TableName) -> Iterator[list[Any]]:
    """What has files of its own: the table, or its partitions."""
    table = source.table(name.database, name.table)
    if table is None or not table.partitionKeys:
        yield [table] if table is not None else []
        return
    names = source.partition_names(name.database, name.table)
    for start in range(0, len(names), PARTITIONS_PER_CALL):
        yield source.partitions_by_name(name.database, name.table, names[start : start + PARTITIONS_PER_CALL])
