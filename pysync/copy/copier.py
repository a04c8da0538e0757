"""Copier: brings directories of a target to what those of the source hold, with the workers of a Spark session.

Readers of the target never see a file in part: it is copied beside its place under a hidden name. New files come before
old ones go, so that there is no moment without either. Before anything is taken away, the source must have been at rest
for a while: somebody may be overwriting it. Idempotent: what is there is not copied again.
"""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

import structlog
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from pysync.copy.copy_round import Copied, Elsewhere, Removed, Round, Step, nowhere
from pysync.copy.pack import pack
from pysync.copy.progress import CopyProgress
from pysync.copy.requests import CopyRefused, Failed, differences, encode, files_missing
from pysync.copy.workers import Workers
from pysync.model.data_versions import version_in, without_version
from pysync.model.file_differences import FileDifference, FileStatus, Pair
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.settings import CopySettings

_PAIRS_PER_CALL = 100
_ROUNDS = 10  # how often it restarts because the source has changed meanwhile
_TRIES = 3
_MB = 1_000_000
_FOREIGN = "move the file away, or remove it (docs/copy.md)"
_BY_REFRESH = "the target has copy.rewrite; pysync refresh re-encodes files that have changed (docs/copy.md)"

A = TypeVar("A")
B = TypeVar("B")

log = structlog.get_logger(__name__)


class Copier:
    """Copies for one target. Any number of threads may call; `parallelism` tasks in all run at once."""

    def __init__(self, workers: Workers, settings: CopySettings) -> None:
        self.tally = CopyProgress()
        self._workers = workers
        self._settings = settings
        # A survey removes unfinished files of others, and spares those with our own prefix.
        self._prefix = f".pysync-copy-{uuid.uuid4().hex[:8]}-"
        self._rounds = itertools.count()
        self._pool = ThreadPoolExecutor(settings.parallelism, thread_name_prefix="copy")
        self._closed = threading.Event()

    @property
    def bytes_per_second(self) -> int:
        """The limit of each of the tasks that run at once; 0: none."""
        return int(self._settings.max_mb_per_second * _MB / self._settings.parallelism)

    def close(self) -> None:
        """Begin no more tasks; those under way end with the workers."""
        self._closed.set()
        # Without cancel_futures: a thread that waits for a cancelled task would never wake.
        self._pool.shutdown(wait=False)

    def survey(self, pairs: Sequence[Pair]) -> list[FileDifference]:
        """What the second directory of each pair lacks, in their order. Changes nothing.

        Raises Unavailable or Rejected.
        """
        refuse_reencoding(pairs)
        with classified():
            return self._survey(pairs, keeps_unfinished=True)

    def copy(
        self, pairs: Sequence[Pair], *, removed: Removed = lambda *_: None, elsewhere: Elsewhere = nowhere
    ) -> Copied:
        """Bring the second directory of each pair, or the one `elsewhere`, to what the first holds now.

        Files are removed where the pair `removes_extras`; never where the first directory itself is not there. Files
        that pysync did not copy are neither removed nor replaced. `removed` is called for each removal, also if this
        raises; if a removal failed midway, with what was to be removed.
        Raises Unavailable, also while the source does not come to rest, and Rejected where these files will not go.
        """
        refuse_reencoding(pairs)
        total = Copied()
        remaining = list(dict.fromkeys(pairs))
        for _ in range(_ROUNDS):
            with classified():
                done, remaining = self._round(remaining, removed, elsewhere)
            total = total.plus(done)
            if not remaining:
                return total
        raise Unavailable(f"{remaining[0].source} changes faster than pysync can copy it")

    def _round(self, pairs: Sequence[Pair], removed: Removed, elsewhere: Elsewhere) -> tuple[Copied, list[Pair]]:
        """Survey, copy and publish once; also returns the pairs to begin again, as their source changed meanwhile, and
        those elsewhere.
        """
        began = time.monotonic()
        run = Round(self._survey(pairs), f"{self._prefix}{next(self._rounds)}-")
        moved = {it.pair: new for it in run.differences if run.removes_or_replaces(it) and (new := elsewhere(it.pair))}
        if moved:
            run = Round([it for it in run.differences if it.pair not in moved], run.prefix)
        self._log_survey(run)
        _refuse_foreign(run)
        try:
            changed = self._copy(run)
            changed |= self._unsettled(run, changed, began)
            published = run.came_to(changed)
            try:
                changed |= self._publish(run, changed)
            finally:
                self.note_removed(published.removed, published.first_removed, removed)
        except Exception:
            with suppress(Exception):
                self._steps(run.discards())
            raise
        return run.came_to(changed), [moved.get(pair, pair) for pair in pairs if pair in changed or pair in moved]

    def discard(self, directory: str, base: str) -> None:
        """Remove a directory, with all that is in it, below `base`. No error if it is not there.

        Raises Unavailable, and Rejected where it may not be removed.
        """
        if not version_in(directory) or without_version(directory) != base:
            raise Rejected(f"{directory} is no directory of pysync's below {base}")
        with classified():
            self._steps([("discard", directory, base)])

    def note_removed(self, files: int, first: str, removed: Removed) -> None:
        """Count files that were removed, log them, and call `removed`."""
        if files:
            log.info("files_removed", files=files, first=first)
            self.tally.deleted(files)
            removed(files, first)

    def _log_survey(self, run: Round) -> None:
        missing = [it.pair.source for it in run.differences if not it.exists]
        if missing:
            log.warning("directories_missing", directories=len(missing), first=missing[0])
        links = [link for it in run.differences for link in it.links]
        if links:
            log.warning("links_left", links=len(links), first=links[0])
        foreign = [file.target for it in run.differences for file in it.foreign]
        if foreign:
            log.warning("foreign_files_left", files=len(foreign), first=foreign[0])
        self.tally.surveyed(sum(it.same for it in run.differences), len(missing))

    # --- what tasks do

    def _survey(self, pairs: Sequence[Pair], *, keeps_unfinished: bool = False) -> list[FileDifference]:
        batches = [pairs[at : at + _PAIRS_PER_CALL] for at in range(0, len(pairs), _PAIRS_PER_CALL)]
        return list(itertools.chain.from_iterable(self.each(partial(self._survey_some, keeps_unfinished), batches)))

    def _survey_some(self, keeps_unfinished: bool, pairs: Sequence[Pair]) -> list[FileDifference]:
        spared = "" if keeps_unfinished else self._prefix
        request = encode([(self._settings.compare, spared), *((it.source, it.target) for it in pairs)])
        return differences(pairs, self._workers.call("survey", request))

    def _copy(self, run: Round) -> set[Pair]:
        """Copy all files to their temporary names; returns the pairs whose source has changed meanwhile."""
        files = run.files
        size = sum(file.size for file in files)
        with self.tally.under_way(len(files), size):
            tasks = list(pack(files, self._settings.parallelism))
            return set(itertools.chain.from_iterable(self.each(lambda task: self._copy_some(run, task), tasks)))

    def _copy_some(self, run: Round, files: Sequence[FileStatus]) -> list[Pair]:
        lines = (
            (file.source, run.temporary[file], file.size, file.time, file.pair.source, file.pair.target)
            for file in files
        )
        lost = files_missing(self._workers.call("copy", encode([(self.bytes_per_second,), *lines])))
        self.tally.copied(len(files), sum(file.size for file in files))
        return [file.pair for file, is_lost in zip(files, lost, strict=True) if is_lost]

    def _unsettled(self, run: Round, changed: set[Pair], began: float) -> set[Pair]:
        """The pairs from which something is to be taken away while the source changes: it may be half written."""
        going = (it for it in run.differences if it.pair.replaces or run.removes_or_replaces(it))
        risky = [it for it in going if it.pair not in changed]
        if not risky:
            return set()
        time.sleep(max(0.0, began + self._settings.settle_seconds - time.monotonic()))
        again = self._survey([it.pair for it in risky])
        return {old.pair for old, new in zip(risky, again, strict=True) if _state(old) != _state(new)}

    def _publish(self, run: Round, changed: set[Pair]) -> set[Pair]:
        """Give the copied files their names and remove old ones; returns the pairs where a copied file was gone."""
        lost = [names for stage in run.stages(changed) for names in self.each(self._steps, stage)]
        if changed:
            self._steps(run.discards(changed))
        names = set(itertools.chain.from_iterable(lost))
        return {file.pair for file, name in run.temporary.items() if name in names}

    def _steps(self, steps: Sequence[Step]) -> list[str]:
        """Publish; returns the files that should have been renamed and are not there."""
        lost = files_missing(self._workers.call("publish", encode(steps)))
        return [step[1] for step, is_lost in zip(steps, lost, strict=True) if is_lost]

    def each(self, do: Callable[[A], B], items: Sequence[A]) -> list[B]:
        """Call `do` for all items, several at once, each with a few tries. Raises an error once all have ended.

        Raises Unavailable if nothing can be begun any more.
        """
        try:
            futures = [self._pool.submit(self._run_one, do, item) for item in items]
        except RuntimeError as error:  # it is closed, or the system has no thread for it
            raise Unavailable(f"cannot copy now: {error}") from error
        ended, waiting = wait(futures, return_when=FIRST_EXCEPTION)
        for future in waiting:
            future.cancel()
        # Tasks that run already cannot be cancelled. Nothing may write any more when this returns.
        wait(waiting)
        for future in ended:
            future.result()
        return [future.result() for future in futures]

    def _run_one(self, do: Callable[[A], B], item: A) -> B:
        if self._closed.is_set():
            raise Unavailable("the copier is closed")
        return _patiently(do, item)


def _patiently(do: Callable[[A], B], item: A) -> B:
    retrying = Retrying(
        retry=retry_if_exception_type(Failed),
        stop=stop_after_attempt(_TRIES),
        wait=wait_random_exponential(0.2, max=5),
        reraise=True,
    )
    return retrying(do, item)


def refuse_reencoding(pairs: Sequence[Pair]) -> None:
    """Raises Rejected for files that are rewritten on the way: source and target have none in common."""
    reencoded = next((it for it in pairs if it.form is not None), None)
    if reencoded is not None:
        raise Rejected(f"{reencoded.target}: re-encoded files cannot be compared byte for byte", _BY_REFRESH)


def _refuse_foreign(run: Round) -> None:
    """Raises Rejected where a file of others would be replaced; nothing is copied then."""
    foreign_file = next((file for difference in run.differences for file in difference.copies if file.foreign), None)
    if foreign_file is not None:
        raise Rejected(
            f"{foreign_file.target} differs from the source and was not copied by pysync, so it is not replaced",
            _FOREIGN,
        )


def _state(difference: FileDifference) -> tuple[bool, str]:
    return difference.exists, difference.fingerprint


@contextmanager
def classified() -> Iterator[None]:
    """Turn the errors of copying into the kinds that drains know."""
    try:
        yield
    except CopyRefused as error:
        raise Rejected(error.message, "see docs/copy.md") from error
    except Failed as error:
        raise Unavailable(error.message) from error
