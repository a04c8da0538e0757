"""Copying by hand: the files of all tables in scope as the source has them now, without a sidecar."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from pysync.base.errors import UsageError
from pysync.config import Config
from pysync.copy.copier import Copier, refuse_reencoding
from pysync.copy.copies import Copies
from pysync.copy.copy_round import Copied, Round
from pysync.copy.files import refuse_shared
from pysync.copy.reencoder import Reencoder
from pysync.metastore.client import PARTITIONS_PER_CALL, Metastore
from pysync.model.data_versions import version_in, without_version
from pysync.model.definition import is_index
from pysync.model.file_differences import FileDifference, Pair
from pysync.model.locations import SourceFiles
from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName, partition_values
from pysync.model.reencoding import transactional_kind
from pysync.model.snapshot import Snapshot
from pysync.model.table_formats import is_iceberg
from pysync.replay.window.policy import typed_keys
from pysync.replay.window.translate import Translator
from pysync.targets.apply.refusals import refuse_unless_own
from pysync.targets.base import Rejected, Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

_PAIRS_AT_ONCE = 500  # their differences are in memory together
_TELL_SECONDS = 0.3

T = TypeVar("T")
OnProgress = Callable[[dict[str, Any]], None]
"""Called with the tally (docs/status.md, `copy`) a few times a second."""


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """What is to be copied: `tables` are names at the source (none: all in scope).

    With `delete`, copied files that the source no longer has are removed where drops are applied.
    """

    tables: Collection[TableName] = ()
    delete: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class RefusedTable:
    """A table of the source whose files are not copied, and why."""

    table: TableName
    reason: Rejected


def copy_now(
    config: Config, name: str, wanted: CopyRequest, on_progress: OnProgress
) -> tuple[Copied, list[RefusedTable]]:
    """Copy for one target; with `dry_run` only say what would be. Writes no metadata.

    Refused are tables that the target has from elsewhere, unless it adopts them, those whose directory there is not
    theirs alone, and those whose files are re-encoded. Raises UsageError for a target that copies nothing, and for a
    named table that it does not take; Unavailable and Rejected as the copier does.
    """
    total, refused = Copied(), list[RefusedTable]()
    with _work(config, name) as work:
        _refuse_versioned(work.settings)
        own = _own_pairs(work, wanted.tables, refused)
        chosen = own if wanted.delete else (replace(it, removes_extras=False) for it in own)
        for pairs in _batches(chosen):
            total = total.plus(work.await_(_surveyed if wanted.dry_run else _done, pairs, on_progress=on_progress))
    return total, refused


def survey_now(
    config: Config, name: str, tables: Collection[TableName], on_progress: OnProgress
) -> Iterator[tuple[TableName, list[FileDifference]]]:
    """What the directories of each of these tables, named as at the source, lack at a target; reads only.

    Of files that were re-encoded the rows are compared. A table may come more than once, with some of its partitions
    each time. One that has no files of its own, or shares them with the target, does not come. Raises as `copy_now`.
    """
    with _work(config, name) as work:
        for table in tables:
            for pairs in _batches(_pairs(work, [table])):
                plain = [it for it in pairs if it.form is None]
                yield table, work.await_(_survey, plain, on_progress=on_progress)
                if work.reencoder is not None and len(plain) < len(pairs):
                    reencoded = [it for it in pairs if it.form is not None]
                    yield table, work.await_(partial(_compare, work.reencoder), reencoded, on_progress=on_progress)


@dataclass(frozen=True, slots=True)
class _Work:
    """What it takes to copy for a target. A thread copies, while the caller sees its progress.

    `mark` is that of an object of the source which this target would write, at any time.
    """

    source: Metastore
    target: Target
    mark: Mark
    settings: TargetSettings
    translator: Translator
    copier: Copier
    reencoder: Reencoder | None
    thread: ThreadPoolExecutor

    def await_(self, do: Callable[..., T], *arguments: Any, on_progress: OnProgress) -> T:
        """What `do` gives with the copier and these arguments."""
        future = self.thread.submit(do, self.copier, *arguments)
        while not _ends(future):
            on_progress(self.copier.tally.status())
        return future.result()


@contextmanager
def _work(config: Config, name: str) -> Iterator[_Work]:
    settings = next(it for it in config.targets if it.name == name)
    access = config.source_access()
    if settings.copy_files is None or access is None:
        raise UsageError(f"target {name!r} copies no files", "set copy = true in its [[targets]] table")
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="pysync-copy-")))
        source = stack.enter_context(closing(Metastore(access)))
        target = stack.enter_context(closing(target_kind(settings.kind).open(settings)))
        thread = stack.enter_context(ThreadPoolExecutor(1))
        copies = Copies([settings], place)
        stack.enter_context(closing(copies))  # ends before the thread is awaited
        others = frozenset(it.name for it in config.targets) - {name}
        mark = Mark(config.source.name, 0, 0, target=name, writer=Writer(0, target=name, others=others))
        yield _Work(
            source,
            target,
            mark,
            settings,
            Translator.of(settings),
            copies.copiers[name],
            copies.reencoders.get(name),
            thread,
        )


def _ends(future: Future[Any]) -> bool:
    try:
        future.exception(_TELL_SECONDS)
    except FutureTimeout:  # the built-in TimeoutError only from Python 3.11 on
        return False
    return True


def _done(copier: Copier, pairs: list[Pair]) -> Copied:
    return copier.copy(pairs)


def _survey(copier: Copier, pairs: list[Pair]) -> list[FileDifference]:
    return copier.survey(pairs)


def _compare(reencoder: Reencoder, _: Copier, pairs: list[Pair]) -> list[FileDifference]:
    return reencoder.compare(pairs)


def _surveyed(copier: Copier, pairs: list[Pair]) -> Copied:
    """What a copy would come to."""
    return Round(copier.survey(pairs), prefix="").came_to(())


def _own_pairs(work: _Work, tables: Collection[TableName], refused: list[RefusedTable]) -> Iterator[Pair]:
    """As `_pairs`, without the tables that are added to `refused`."""
    for name, table in _definitions(work, tables):
        there = work.translator.mapping.table(name)
        mark = replace(work.mark, object=str(name))
        try:
            _refuse_iceberg(work.settings, table)
            refuse_unless_own(work.settings, there, work.target.table(there), mark)
            for pairs in _batches(_pairs_of(work, table)):
                refuse_reencoding(pairs)
                refuse_shared(work.target, work.settings, there, mark, [it.target for it in pairs])
                yield from pairs
        except Rejected as error:
            refused.append(RefusedTable(name, error))


def _pairs(work: _Work, tables: Collection[TableName]) -> Iterator[Pair]:
    for _, table in _definitions(work, tables):
        if not _is_by_iceberg(work.settings, table):  # its metadata has other paths at the target
            yield from _pairs_of(work, table)


def _definitions(work: _Work, tables: Collection[TableName]) -> Iterator[tuple[TableName, Any]]:
    """These tables of the source, or all in scope. Raises UsageError for one that was named and is not among those."""
    policy = work.translator.policy
    for name in tables or _in_scope(work.source, work.translator):
        table = work.source.table(name.database, name.table)
        rule = policy.rule_against(name) or (table and policy.rule_against_definition(table))
        if tables and (table is None or rule):
            why = f"target {work.settings.name!r} does not take {name}: {rule}" if rule else f"the source has no {name}"
            raise UsageError(why)
        if table is not None and not is_index(table) and not rule:
            yield name, table


def _pairs_of(work: _Work, table: Any) -> Iterator[Pair]:
    for target, files in _sources(work, table):
        # At the same location both ends read the same files.
        if target.rstrip("/") != files.location.rstrip("/"):
            yield Pair(files.location, target, files.form, files.removes_extras)


def _in_scope(source: Metastore, translator: Translator) -> Iterator[TableName]:
    for database in source.databases():
        if translator.policy.takes_database(database):
            names = (TableName.of(database, table) for table in source.tables(database))
            yield from (name for name in names if translator.policy.takes_table(name))


def _sources(work: _Work, table: Any) -> Iterator[tuple[str, SourceFiles]]:
    """The locations at the target of what has files of its own, the table or its partitions, with these files."""
    mapping, policy = work.translator.mapping, work.translator.policy
    name, keys = TableName(table.dbName, table.tableName), typed_keys(table)
    there, snapshot = mapping.table(name), _snapshot(work, table)
    if not table.partitionKeys:
        for location, files in _at_versions(mapping.apply_to(table), [work.target.table(there)]):
            yield location, files.at(snapshot)
        return
    frame = mapping.frame(table)
    every = work.source.partition_names(table.dbName, table.tableName)
    names = [it for it in every if policy.takes_partition(name, keys, partition_values(it))]
    is_there = work.target.table(there) is not None
    for start in range(0, len(names), PARTITIONS_PER_CALL):
        batch = names[start : start + PARTITIONS_PER_CALL]
        existing = work.target.partitions_by_name(there, batch) if is_there else []
        for part in work.source.partitions_by_name(table.dbName, table.tableName, batch):
            for location, files in _at_versions(mapping.apply_to_partition(part, frame), existing):
                yield location, files.at(snapshot)


def _snapshot(work: _Work, table: Any) -> Snapshot | None:
    """Which rows of a transactional table count now; None where that is not asked for."""
    if not (work.translator.mapping.snapshots and transactional_kind(table)):
        return None
    name = TableName(table.dbName, table.tableName)
    return work.source.snapshots([name])[name]


def _at_versions(
    sources: Mapping[str, SourceFiles], existing: Sequence[Any | None]
) -> Iterator[tuple[str, SourceFiles]]:
    """The same, with the directories of the versions that the target has (pysync.model.data_versions)."""
    locations = [it.sd.location or "" for it in existing if it is not None and it.sd is not None]
    versions = {without_version(it).rstrip("/"): it for it in locations if version_in(it)}
    for location, files in sources.items():
        yield versions.get(location.rstrip("/"), location), files


def _is_by_iceberg(settings: TargetSettings, table: Any) -> bool:
    return settings.copy_files is not None and settings.copy_files.iceberg == "whole" and is_iceberg(table.parameters)


def _refuse_iceberg(settings: TargetSettings, table: Any) -> None:
    if _is_by_iceberg(settings, table):
        raise Rejected("an Iceberg table is copied with its metadata, by the sidecar", "pysync refresh")


def _refuse_versioned(settings: TargetSettings) -> None:
    if settings.copy_files is not None and settings.copy_files.layout == "versioned":
        raise UsageError(
            f"target {settings.name!r} has layout = versioned, but this would change files where readers see them",
            "have the sidecar copy them: pysync refresh",
        )


def _batches(pairs: Iterator[Pair]) -> Iterator[list[Pair]]:
    batch: list[Pair] = []
    for pair in pairs:
        batch.append(pair)
        if len(batch) == _PAIRS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
