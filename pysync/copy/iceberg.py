"""Iceberg: the files of a table's snapshots, and its metadata with other paths: nothing names a file of the source.

Iceberg's own action (RewriteTablePath) writes the metadata anew and lists what is to be copied. Its jars are those of
the user. Only the metadata file of an event is read, no catalog. Files of Iceberg never change; those that the target
has are not copied again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import structlog

from pysync.copy.copier import Copier, classified
from pysync.copy.requests import CopyRefused, decode, encode, failure, files_missing
from pysync.copy.workers import SparkWorkers
from pysync.model.file_differences import Pair, below
from pysync.targets.base import Unavailable
from pysync.targets.spark.session import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Line = tuple[str, str]
"""Where a file is, and where it shall be."""

_FILES_PER_CALL = 200
_CALLS_AT_ONCE = 16
_UNFINISHED = ".pysync-copy-"
_STAGING = f"{_UNFINISHED}iceberg"
_GONE = ("NotFoundException", "FileNotFoundException", "NoSuchFileException")
_DELETED = "check whether another process deletes files there"
_RUNTIME = 'set spark.jars.packages in [spark] to a runtime of Iceberg for this Spark, or copy.iceberg = "pointer"'

log = structlog.get_logger(__name__)


class IcebergCopier:
    """Copies for one target; any number of threads may call, for different tables."""

    def __init__(self, copier: Copier, workers: SparkWorkers) -> None:
        self._copier = copier
        self._workers = workers

    def bring(self, pair: Pair, pointer: str, there: str | None) -> None:
        """Have all files at the target that the metadata file `pointer` there is to lead to.

        `there` is the metadata file that the target's table has now, if any: what that leads to is not looked at.
        Idempotent. Raises Unavailable, also where the source has removed a file meanwhile, and Rejected.
        """
        if pointer == there:
            return
        staging = below(pair.target, _STAGING)
        with classified():
            self._discard(staging, pair)
            try:
                batches = _batches(self._listed(pair, pointer, there, staging))
                while some := list(islice(batches, _CALLS_AT_ONCE)):
                    self._copier.each(partial(self._copy, pair, staging), some)
            finally:
                with suppress(Exception):
                    self._discard(staging, pair)

    def _listed(self, pair: Pair, pointer: str, there: str | None, staging: str) -> Iterator[Line]:
        """The files to copy; their metadata is written into `staging`."""
        session = self._workers.host.session()
        start = there.rpartition("/")[2] if there is not None and there.startswith(below(pair.target, "")) else None
        try:
            files = _list_of_files(session, pair, _at_source(pair, pointer), staging, start)
            yield from ((row[0], row[1]) for row in session.read.csv(files).toLocalIterator())
        except CopyRefused:
            raise
        except Exception as error:
            why = reason(error)
            if self._workers.host.failed(session) or any(it in why for it in _GONE):
                raise Unavailable(f"cannot read the Iceberg table at {pair.source} now: {why}") from error
            raise CopyRefused(f"cannot copy the Iceberg table at {pair.source}: {why}") from error

    def _copy(self, pair: Pair, staging: str, lines: Sequence[Line]) -> None:
        """Copy those that the target does not have, under other names first."""
        states = decode(self._workers.call("stat", encode([(it,) for line in lines for it in line])))
        todo: list[tuple[Line, str, str, str]] = []
        for line, here, there in zip(lines, states[::2], states[1::2], strict=True):
            _assert_there(here, line[0])
            if here[:2] != there[:2]:
                directory, _, name = line[1].rpartition("/")
                # The same for each try: after a crash nothing is left that nobody knows.
                todo.append((line, f"{directory}/{_UNFINISHED}{name}", here[1], here[2]))
        tops = {False: pair.source, True: staging}
        copies = [
            (source, unfinished, size, time, tops[source.startswith(below(staging, ""))], pair.target)
            for (source, _), unfinished, size, time in todo
        ]
        with self._copier.tally.under_way(len(todo), sum(int(it[2]) for it in todo)):
            lost = files_missing(self._workers.call("copy", encode([(self._copier.bytes_per_second,), *copies])))
            if (gone := next((it[0] for it, is_lost in zip(copies, lost, strict=True) if is_lost), None)) is not None:
                raise Unavailable(f"{gone} is gone: the table has changed meanwhile")
            steps = [("rename", unfinished, line[1], pair.target) for line, unfinished, *_ in todo]
            if any(files_missing(self._workers.call("publish", encode(steps)))):
                raise Unavailable(f"copied files of {pair.target} have disappeared", _DELETED)
            self._copier.tally.copied(len(todo), sum(int(it[2]) for it in todo))

    def _discard(self, staging: str, pair: Pair) -> None:
        files_missing(self._workers.call("publish", encode([("discard", staging, pair.target)])))


def _at_source(pair: Pair, pointer: str) -> str:
    """The metadata file of the source whose place at the target is `pointer`."""
    top = below(pair.target, "")
    if not pointer.startswith(top):
        raise CopyRefused(f"the metadata file {pointer} of an Iceberg table is not below its location {pair.target}")
    return below(pair.source, pointer[len(top) :])


def _list_of_files(session: SparkSession, pair: Pair, metadata: str, staging: str, start: str | None) -> str:
    """As `_rewritten`; whole, where the source has forgotten the version `start`."""
    try:
        return _rewritten(session, pair, metadata, staging, start)
    except CopyRefused:
        raise
    except Exception as error:
        if start is None or any(it in reason(error) for it in _GONE):
            raise
        log.info("iceberg_copied_whole", table=pair.target, reason=reason(error))
        return _rewritten(session, pair, metadata, staging, None)


def _rewritten(session: SparkSession, pair: Pair, metadata: str, staging: str, start: str | None) -> str:
    """Have Iceberg write the metadata with other paths; returns the location of the list of files.

    With `start`, the name of an earlier metadata file, only what has come since. Raises what Java raises.
    """
    jvm: Any = session._jvm
    actions = jvm.org.apache.iceberg.spark.actions.SparkActions
    if not callable(getattr(actions, "get", None)) or type(actions).__name__ == "JavaPackage":
        raise CopyRefused(f"Spark has no Iceberg, which the table at {pair.source} needs: {_RUNTIME}")
    files = jvm.org.apache.iceberg.hadoop.HadoopFileIO(session._jsc.hadoopConfiguration())
    table = jvm.org.apache.iceberg.BaseTable(jvm.org.apache.iceberg.StaticTableOperations(metadata, files), "table")
    action = actions.get(session._jsparkSession).rewriteTablePath(table)
    action = action.rewriteLocationPrefix(pair.source, pair.target).stagingLocation(staging)
    done = (action.startVersion(start) if start else action).execute()
    return str(done.fileListLocation())


def _assert_there(state: Sequence[str], source: str) -> None:
    if state[0] == "failed":
        raise failure(*state[1:])
    if state[0] != "there":
        raise Unavailable(f"{source} is gone: the table has changed meanwhile")


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    every = iter(lines)
    return iter(lambda: list(islice(every, _FILES_PER_CALL)), [])
