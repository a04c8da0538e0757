"""Reencoder: does for files that Spark reads and writes again what a Copier does for files that stay as they are.

One job for each directory. Readers see only whole files, and new ones come before old ones go. The name of a hidden,
empty file says what was read and what was written, so that the same job again has nothing to do.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import structlog

from pysync.copy.copier import Copier, classified
from pysync.copy.copy_round import Copied, Elsewhere, Removed, Step, is_hidden, nowhere
from pysync.copy.reencoding_job import FILE_BYTES, Increment, ReencodingJob
from pysync.copy.requests import CopyRefused, differences, encode, files_missing, is_reencoded
from pysync.copy.row_comparison import RowSum, row_sum
from pysync.copy.snapshot_files import SnapshotFiles, SnapshotTooOld, snapshot_files
from pysync.copy.snapshot_reading import read_snapshot
from pysync.copy.spark_reading import literally, no_rows, prepared, read
from pysync.copy.workers import SparkWorkers
from pysync.model.file_differences import FileDifference, FileStatus, Pair, below
from pysync.targets.base import Unavailable
from pysync.targets.spark.session import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = structlog.get_logger(__name__)

_PAIRS_PER_CALL = 50
_ROUNDS = 10
_UNFINISHED = ".pysync-copy-"  # as the Java class knows it
# Faults of the network or the file system, which say nothing about the files.
_PASSING = ("java.net.", "java.io.IOException", "java.io.EOFException", "org.apache.hadoop.ipc.")


class Reencoder:
    """Rewrites files for one target; any number of threads may call. All other files it leaves to its copier."""

    def __init__(self, copier: Copier, workers: SparkWorkers, settle_seconds: float) -> None:
        self._copier = copier
        self._workers = workers
        self._settle = settle_seconds
        self._prefix = f"{_UNFINISHED}{uuid.uuid4().hex[:8]}-"
        self._jobs = itertools.count()

    def copy(
        self, pairs: Sequence[Pair], *, removed: Removed = lambda *_: None, elsewhere: Elsewhere = nowhere
    ) -> Copied:
        """Bring the second directory of each pair to the rows that the first holds now; the rest as for a copier.

        What an earlier job has written is always replaced: else its rows would be there twice.
        Idempotent. Raises Unavailable, also while the source does not come to rest, and Rejected for files that cannot
        be read by what their definition says.
        """
        remaining = [it for it in dict.fromkeys(pairs) if it.form is not None]
        plain = [it for it in pairs if it.form is None]
        total = self._copier.copy(plain, removed=removed, elsewhere=elsewhere) if plain else Copied()
        for _ in range(_ROUNDS):
            if not remaining:
                return total
            with classified():
                done, remaining = self._round(remaining, removed, elsewhere)
            total = total.plus(done)
        raise Unavailable(f"{remaining[0].source} changes faster than pysync can re-encode it")

    def compare(self, pairs: Sequence[Pair]) -> list[FileDifference]:
        """Whether the second directory of each pair has the rows that the first holds now, in their order; reads only.

        Raises Unavailable, also if a newer snapshot is needed. Files that cannot be read differ.
        """
        with classified():
            return self._copier.each(self._compared, list(pairs))

    def _compared(self, pair: Pair) -> FileDifference:
        (job,) = self._jobs_of([pair], only_looks=True)
        extras = [it for it in job.at_target.extras if not is_reencoded(it.name)]
        result = FileDifference(pair, exists=job.source.exists, foreign=job.at_target.foreign, extras=extras)
        result.links += job.links
        if job.source.exists:
            result.rows += self._row_differences(job)
        return result

    def _row_differences(self, job: ReencodingJob) -> list[str]:
        files = self._files(job)
        try:
            here = self._sum(job, lambda session: _rows_at_source(session, job, files))
            there = self._sum(job, lambda session: _rows_at_target(session, job))
        except CopyRefused as error:
            return [error.message]
        return [f"{job.pair.target} has {there} instead of {here}"] if here != there else []

    def _sum(self, job: ReencodingJob, rows: Callable[[SparkSession], DataFrame]) -> RowSum:
        session = self._workers.host.session()
        try:
            return row_sum(rows(prepared(session)))
        except Exception as error:
            if self._workers.host.failed(session) or any(name in reason(error) for name in _PASSING):
                raise Unavailable(f"Spark cannot compare the rows of {job.pair.target}: {reason(error)}") from error
            raise CopyRefused(f"cannot compare the rows of {job.pair.target}: {reason(error)}") from error

    def _round(self, pairs: Sequence[Pair], removed: Removed, elsewhere: Elsewhere) -> tuple[Copied, list[Pair]]:
        """Rewrite every directory once; also returns those whose source changed meanwhile, and those elsewhere."""
        began = time.monotonic()
        batches = [pairs[at : at + _PAIRS_PER_CALL] for at in range(0, len(pairs), _PAIRS_PER_CALL)]
        jobs = list(itertools.chain.from_iterable(self._copier.each(self._jobs_of, batches)))
        missing = tuple(job.pair for job in jobs if not job.source.exists)
        there = [job for job in jobs if job.source.exists]
        moved = {job.pair: new for job in there if job.is_seen and (new := elsewhere(job.pair))}
        to_do = [job for job in there if job.pair not in moved]
        results = self._copier.each(lambda job: self._do(job, began, removed), to_do)
        total = Copied(missing=missing)
        for done in results:
            total = total.plus(done or Copied())
        self._copier.tally.surveyed(total.same, len(missing))
        again = [job.pair for job, done in zip(to_do, results, strict=True) if done is None]
        return total, [*again, *moved.values()]

    def _jobs_of(self, pairs: Sequence[Pair], *, only_looks: bool = False) -> list[ReencodingJob]:
        """What is at both ends; also removes what jobs that were killed have left, unless it `only_looks`."""
        nowhere = [Pair(below(it.source, f"{self._prefix}nowhere"), it.target) for it in pairs]
        transactional = [it for it in pairs if it.form is not None and it.form.snapshot is not None]
        number = len(pairs)
        answers = self._survey(
            [*pairs, *nowhere, *map(self._all_of, transactional)], "" if only_looks else self._prefix
        )
        listings = zip(transactional, answers[2 * number :], strict=True)
        snapshots = {pair: _snapshot_files(pair, it.copies) for pair, it in listings}
        return [
            ReencodingJob(pair.form, source, target, snapshots.get(pair))
            for pair, source, target in zip(pairs, answers[:number], answers[number : 2 * number], strict=True)
            if pair.form is not None
        ]

    def _all_of(self, pair: Pair) -> Pair:
        """A pair whose survey lists all files of the source: nothing is at the second place."""
        return Pair(pair.source, below(pair.target, f"{self._prefix}nowhere"))

    def _do(self, job: ReencodingJob, began: float, removed: Removed) -> Copied | None:
        """Write one directory again if need be; None where its source changed meanwhile."""
        if (current := job.done()) is not None:
            old = job.superseded(it.name for it in current)
            self._publish(job, [], old, removed)
            return _came_to(job, old, Copied(same=len(current) - 1))
        hidden = below(job.pair.target, f"{self._prefix}{next(self._jobs)}")
        increment = job.increment()
        files = increment.files.files if increment is not None else self._files(job)
        try:
            size = sum(file.size for file in files)
            with self._copier.tally.under_way(len(files), size):
                self._write(job, increment, files, hidden)
                self._copier.tally.copied(len(files), size)
            if not self._is_settled(job, began):
                return None
            return self._place(job, increment, hidden, removed)
        finally:
            # A survey that spares no unfinished files: it removes the hidden directory.
            self._survey([job.pair], f"{_UNFINISHED}none-")

    def _files(self, job: ReencodingJob) -> list[FileStatus]:
        """The files with rows in them, as Spark sees them."""
        if job.snapshot is not None:
            return job.snapshot.files
        return [it for it in self._listing(job.pair) if it.size and not is_hidden(it.name)]

    def _listing(self, pair: Pair) -> list[FileStatus]:
        """All files of the source."""
        (difference,) = self._survey([self._all_of(pair)], self._prefix)
        return difference.copies

    def _write(self, job: ReencodingJob, increment: Increment | None, files: Sequence[FileStatus], hidden: str) -> None:
        session = self._workers.host.session()
        number = max(1, -(-sum(file.size for file in files) // FILE_BYTES))
        try:
            child_session = prepared(session)
            if increment is not None:
                rows = read_snapshot(child_session, job.form, increment.files, increment.arrived)
            else:
                rows = _rows_at_source(child_session, job, files)
            writer = rows.coalesce(number).write.format(job.form.to).option("compression", "snappy")
            # A cluster may switch _SUCCESS off: `_place` makes the marker of it.
            writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true").save(f"{hidden}/out")
        except Exception as error:
            why = reason(error)
            if self._workers.host.failed(session) or any(name in why for name in _PASSING):
                raise Unavailable(f"Spark cannot write the re-encoded files of {job.pair.target}: {why}") from error
            if not self._is_same(job):
                return  # it was read while it changed: `_is_settled` reports that
            raise CopyRefused(f"cannot read {job.pair.source} as {job.form.format}: {why}") from error

    def _is_settled(self, job: ReencodingJob, began: float) -> bool:
        """Whether the source is as it was. Where something is to be taken away, it must be at rest for a while.

        Not a transactional table: later writes bring other files.
        """
        if (job.files or job.pair.replaces) and job.snapshot is None:
            time.sleep(max(0.0, began + self._settle - time.monotonic()))
        return self._is_same(job)

    def _is_same(self, job: ReencodingJob) -> bool:
        if job.snapshot is not None:
            return _snapshot_files(job.pair, self._listing(job.pair)) == job.snapshot
        (again,) = self._survey([job.pair], self._prefix)
        return (again.exists, again.fingerprint) == (job.source.exists, job.source.fingerprint)

    def _place(self, job: ReencodingJob, increment: Increment | None, hidden: str, removed: Removed) -> Copied:
        """Give the new files their names, then the marker its own, then remove the old: in one call."""
        out = f"{hidden}/out"
        # What was just written is looked for below the source, too: if it is there, both are one directory.
        same = below(job.pair.source, f"{hidden.rpartition('/')[2]}/out")
        output, itself = self._survey([Pair(it, f"{hidden}/nowhere") for it in (out, same)], self._prefix)
        if itself.exists:
            raise CopyRefused(
                f"cannot re-encode files into {job.pair.target}: it is the directory of the source, {job.pair.source}"
            )
        # Of no rows Spark makes a file that has none.
        has_rows = increment is None or increment.files.rows
        data = [file for file in output.copies if not is_hidden(file.name) and file.size and has_rows]
        names = {it.name: f"part-{at:05}-{job.fingerprint}.snappy.{job.form.to}" for at, it in enumerate(data)}
        current = [FileStatus(job.pair, names[it.name], it.size, it.time) for it in data]
        current += increment.data if increment is not None else ()
        marker = job.marker(current)
        top = job.pair.target
        steps: list[Step] = [("rename", it.source, below(top, names[it.name]), top) for it in data]
        steps.append(("rename", below(out, "_SUCCESS"), below(top, marker), top))
        old = job.superseded([*(it.name for it in current), marker])
        if self._publish(job, steps, old, removed):
            raise Unavailable(
                f"the re-encoded files of {job.pair.target} have disappeared",
                "check whether another process deletes files there",
            )
        size = sum(file.size for file in data)
        return _came_to(job, old, Copied(files=len(data), bytes=size))

    def _publish(self, job: ReencodingJob, steps: Sequence[Step], old: Sequence[str], removed: Removed) -> bool:
        """Take the steps, then remove `old`; returns whether a file that should get its name was not there."""
        try:
            steps = [*steps, *job.removals(old)]
            return any(files_missing(self._workers.call("publish", encode(steps)))) if steps else False
        finally:
            self._copier.note_removed(len(old), _first(job, old), removed)

    def _survey(self, pairs: Sequence[Pair], spared: str) -> list[FileDifference]:
        """What there is; removes unfinished files at the second places, but those whose names begin with `spared`.

        With an empty one it only looks.
        """
        request = encode([("size", spared), *((it.source, it.target) for it in pairs)])
        return differences(pairs, self._workers.call("survey", request))


def _rows_at_source(session: SparkSession, job: ReencodingJob, files: Sequence[FileStatus]) -> DataFrame:
    if job.snapshot is not None:
        return read_snapshot(session, job.form, job.snapshot)
    return read(session, job.form, [it.source for it in files])


def _rows_at_target(session: SparkSession, job: ReencodingJob) -> DataFrame:
    files = [it.target for it in job.data]
    return session.read.format(job.form.to).load(literally(files)) if files else no_rows(session, job.form)


def _snapshot_files(pair: Pair, listing: Sequence[FileStatus]) -> SnapshotFiles | None:
    """The files with the rows of a transactional table, out of all files of it; None for another table.

    Raises Unavailable if a newer snapshot is needed.
    """
    if pair.form is None or pair.form.snapshot is None:
        return None
    try:
        return snapshot_files(listing, pair.form.snapshot, pair.form.transactional)
    except SnapshotTooOld as error:
        raise Unavailable(f"the snapshot of {pair.source} is too old: {error}") from error
    except CopyRefused as error:
        raise CopyRefused(f"cannot read {pair.source}: {error.message}") from error


def _came_to(job: ReencodingJob, old: Sequence[str], done: Copied) -> Copied:
    """What a job came to, which has also removed `old`; logs what is not its own."""
    if job.foreign:
        log.warning("foreign_files_left", files=len(job.foreign), first=job.foreign[0])
    rest = Copied(removed=len(old), first_removed=_first(job, old), links=tuple(job.links), foreign=job.foreign)
    return done.plus(rest)


def _first(job: ReencodingJob, old: Sequence[str]) -> str:
    return below(job.pair.target, old[0]) if old else ""
