"""What a Spark executor does for `pysync verify --on-spark`: a text in, a text out, both checked where they come in.

Importable wherever pysync is installed, and without Spark.
"""

from __future__ import annotations

import json
import socket
from functools import partial

from pydantic import BaseModel, ConfigDict
from thrift.Thrift import TException

from pysync import __version__
from pysync.base.errors import PysyncError
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from pysync.metastore.source import known
from pysync.model.names import TableName
from pysync.sections import SourceConfig
from pysync.targets.kinds import target_kind
from pysync.targets.settings import CopySettings, TargetSettings
from pysync.verify.comparator import Comparator, DatabaseItem, ExtraDatabaseItem, Item, TableItem
from pysync.verify.executor import LocalExecutor
from pysync.verify.findings import ComparedObject
from pysync.verify.partitions import Keyed, PartitionBatch, PartitionTally
from pysync.verify.pool import WorkerPool
from pysync.verify.rules import Rules
from pysync.verify.tables import SeenTable

_OF_FILES_ALONE = CopySettings.model_fields.keys() - {"rewrite"}


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ComparisonJob(_Value):
    """What is compared with what: `target` are the settings of a target of that `kind`, as JSON."""

    version: str
    source: SourceConfig
    kind: str
    target: str

    @classmethod
    def of(cls, source: SourceConfig, settings: TargetSettings) -> ComparisonJob:
        """The job for these settings. Of the copy settings it has only those that definitions depend on.

        It names files with secrets, and holds no secret.
        """
        text = settings.model_dump_json(by_alias=True, exclude={"copy_files": _OF_FILES_ALONE})
        return cls(version=__version__, source=source, kind=settings.kind, target=text)


class ItemText(_Value):
    """One item, under the name of its kind."""

    database: DatabaseItem | None = None
    extra: ExtraDatabaseItem | None = None
    table: TableItem | None = None

    @classmethod
    def of(cls, item: Item) -> ItemText:
        """The text of an item."""
        if isinstance(item, TableItem):
            return cls(table=item)
        return cls(database=item) if isinstance(item, DatabaseItem) else cls(extra=item)

    def item(self) -> Item:
        """The item again. Raises ValueError if there is none."""
        item = self.database or self.extra or self.table
        if item is None:
            raise ValueError("the task has an empty item")
        return item


class TaskRequest(_Value):
    """What one task looks at: objects, or batches of the partitions of the table `old`, at the target `new`."""

    job: ComparisonJob
    items: tuple[ItemText, ...] = ()
    old: TableName | None = None
    new: TableName | None = None
    batches: tuple[PartitionBatch, ...] = ()


class SeenText(_Value):
    """What was seen of an object; with `many`, its keys, its partitions are still to be compared."""

    compared: tuple[ComparedObject, ...]
    many: tuple[tuple[str, str], ...] | None = None
    stays: str = ""

    @classmethod
    def of(cls, seen: SeenTable) -> SeenText:
        """The text of what was seen."""
        return cls(
            compared=seen.compared, many=tuple(seen.many.keys) if seen.many is not None else None, stays=seen.stays
        )

    def seen(self, item: Item) -> SeenTable:
        """What was seen of the item, again."""
        if self.many is None or not isinstance(item, TableItem):
            return SeenTable(self.compared, None, self.stays)
        return SeenTable(self.compared, Keyed(item.old, item.new, self.many), self.stays)


class TaskAnswer(_Value):
    """What a task found, or why it could not: `failed` is the message and a hint."""

    seen: tuple[SeenText, ...] = ()
    tallies: tuple[PartitionTally, ...] = ()
    failed: tuple[str, str | None] | None = None


def run_work(request: str) -> str:
    """The answer to a request, both as JSON. Reads only, and remembers nothing."""
    try:
        # First: another version may have other fields, and the refusal shall name the version.
        _assert_version(request)
        answer = _looked(TaskRequest.model_validate_json(request))
    except PysyncError as error:
        answer = _failed(error.message, error.hint)
    except TException as error:
        answer = _failed(str(error))
    return answer.model_dump_json()


def _looked(work: TaskRequest) -> TaskAnswer:
    kind = target_kind(work.job.kind)
    settings = kind.settings.model_validate_json(work.job.target)
    access = known(work.job.source.access())
    comparator = Comparator(Rules.of(settings, work.job.source.name))
    with WorkerPool(partial(Metastore, access), partial(kind.open, settings), 1, lambda: None) as pool:
        executor = LocalExecutor(pool, comparator)
        try:
            return TaskAnswer(seen=_objects(executor, work), tallies=_partitions(executor, work))
        except (MetastoreError, TException) as error:
            return _failed(f"cannot read the source: {error}")


def _objects(executor: LocalExecutor, work: TaskRequest) -> tuple[SeenText, ...]:
    return tuple(SeenText.of(seen) for _, seen in executor.objects([it.item() for it in work.items]))


def _partitions(executor: LocalExecutor, work: TaskRequest) -> tuple[PartitionTally, ...]:
    if work.old is None or work.new is None:
        return ()
    return tuple(executor.batches(Keyed(work.old, work.new), work.batches))


def _assert_version(request: str) -> None:
    version = json.loads(request)["job"]["version"]
    if version != __version__:
        raise PysyncError(
            f"the executor has pysync {__version__}, but the driver has pysync {version}",
            "install the same version everywhere",
        )


def _failed(message: str, hint: str | None = None) -> TaskAnswer:
    return TaskAnswer(failed=(f"on {socket.gethostname()}: {message}", hint))
