"""Spreading: the executors of a Spark session do a comparison, with the same report (docs/verify.md).

Each task is a Spark job of its own, and a thread here waits for it. So answers stream back, and an executor that is
done gets more. A table with many partitions is divided among all executors.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from pysync.base.errors import PysyncError, UsageError
from pysync.config import Config
from pysync.jobs.executor import ComparisonJob, ItemText, TaskAnswer, TaskRequest, run_work
from pysync.targets.base import Unavailable
from pysync.targets.settings import TargetSettings
from pysync.targets.spark.session import SparkHost, reason
from pysync.targets.spark_request import SparkRequest
from pysync.verify.comparator import Comparator, Item
from pysync.verify.executor import Executor
from pysync.verify.partitions import Keyed, PartitionBatch, PartitionTally
from pysync.verify.pool import ComparedEnds, WorkerPool
from pysync.verify.tables import SeenTable

MOST_ITEMS = 40
"""Objects of one task."""

MOST_BATCHES = 4
"""Batches of 500 partitions of one task."""

_TASKS_EACH = 4  # at least, if there are so many objects: so that the last one to end is not far behind the others
_JOBS_PER_SLOT = 2  # the next task waits at the executors, not here
_MOST_JOBS = 512
_PREFIX = "pysync-spark-"
_NOT_THERE = re.compile(r"No module named '([\w.]+)'")
_HOST = re.compile(r"\(TID \d+\) \(([^ )]+)")

T = TypeVar("T")
R = TypeVar("R")


class Spread:
    """The tasks of a Spark session: `run` has one do a request and gives its answer, both as JSON, from any thread.

    `pool` are the connections of this process, which list what there is. `slots` says how many tasks run at once, and
    is asked when there is something to do. At the end comes `cancel`, then the end of the session, then `join`.
    """

    def __init__(
        self, pool: WorkerPool, run: Callable[[str], str], job: ComparisonJob, slots: Callable[[], int]
    ) -> None:
        self._crew = pool
        self._run = run
        self._job = job
        self._slots = slots
        self._pool: ThreadPoolExecutor | None = None

    def ask(self, ask: Callable[[ComparedEnds], R]) -> Future[R]:
        """As `Executor.ask`."""
        return self._crew.ask(ask)

    def objects(self, items: Sequence[Item]) -> Iterator[tuple[Item, SeenTable]]:
        """As `Executor.objects`."""
        size = max(1, min(MOST_ITEMS, len(items) // (self._slots() * _TASKS_EACH)))
        for chunk, answer in self._each(_chunks(items, size), self._objects):
            for item, seen in zip(chunk, answer.seen, strict=True):
                yield item, seen.seen(item)

    def batches(self, keyed: Keyed, batches: Iterable[PartitionBatch]) -> Iterator[PartitionTally]:
        """As `Executor.batches`."""
        for _, answer in self._each(_chunks(batches, MOST_BATCHES), lambda chunk: self._partitions(keyed, chunk)):
            yield from answer.tallies

    def cancel(self) -> None:
        """Begin no more tasks. Waits for nothing."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait for the tasks that have begun, which end with the session if not before."""
        if self._pool is not None:
            self._pool.shutdown()

    def _objects(self, items: Sequence[Item]) -> TaskRequest:
        return TaskRequest(job=self._job, items=tuple(map(ItemText.of, items)))

    def _partitions(self, keyed: Keyed, batches: Sequence[PartitionBatch]) -> TaskRequest:
        return TaskRequest(job=self._job, old=keyed.old, new=keyed.new, batches=tuple(batches))

    def _each(
        self, chunks: Iterable[list[T]], work: Callable[[list[T]], TaskRequest]
    ) -> Iterator[tuple[list[T], TaskAnswer]]:
        """The answers in the order of the chunks; all of these are asked for at once."""
        pool = self._started()
        answers = [(chunk, pool.submit(self._answer, work(chunk).model_dump_json())) for chunk in chunks]
        for chunk, future in answers:
            yield chunk, future.result()

    def _answer(self, work: str) -> TaskAnswer:
        """What a task answers. Raises Unavailable, which names the executor, if it could not look."""
        answer = TaskAnswer.model_validate_json(self._run(work))
        if answer.failed is not None:
            raise Unavailable(*answer.failed)
        return answer

    def _started(self) -> ThreadPoolExecutor:
        """The threads that wait for tasks, started at the first call."""
        if self._pool is None:
            most = min(self._slots() * _JOBS_PER_SLOT, _MOST_JOBS)
            self._pool = ThreadPoolExecutor(most, thread_name_prefix="spread")
        return self._pool


@contextmanager
def on_spark(config: Config, settings: TargetSettings) -> Iterator[Callable[[WorkerPool, Comparator], Executor]]:
    """What makes the Executor of a `Comparison`, while the block runs. Raises UsageError without pyspark.

    Spark is started when there is something to do. The executor raises Unavailable when it does not start.
    """
    # Two stacks: what has begun ends with the session, so its threads are joined after that.
    with ExitStack() as threads, ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix=_PREFIX)))
        tasks = _Tasks(SparkHost(_spark_request(config, settings), place))
        stack.callback(tasks.host.close)
        job = ComparisonJob.of(config.source, settings)

        def lent(pool: WorkerPool, _: Comparator) -> Spread:
            spread = Spread(pool, tasks.run, job, tasks.slots)
            threads.callback(spread.join)
            stack.callback(spread.cancel)
            return spread

        yield lent


def _spark_request(config: Config, settings: TargetSettings) -> SparkRequest:
    """The session of [spark], with all cores of this machine if that names no master.

    Raises UsageError for a target that is reached by a session of its own.
    """
    wanted = settings.spark_request()
    if wanted and wanted.catalog:
        raise UsageError(
            f"--on-spark does not work with target {settings.name} of kind spark",
            "run pysync verify without --on-spark",
        )
    request = SparkRequest(config.spark.master or "local[*]", tuple(config.spark.settings.items()))
    if request.is_local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else it is any python3
    return request


@dataclass(frozen=True, slots=True)
class _Tasks:
    """Tasks of a session, any number at once."""

    host: SparkHost

    def slots(self) -> int:
        """How many run at once, as far as Spark knows now. Raises Unavailable when it does not start."""
        return max(1, int(self.host.session().sparkContext.defaultParallelism))

    def run(self, work: str) -> str:
        """The answer of a task. Raises Unavailable when there is none, UsageError where pysync is not installed."""
        session = self.host.session()
        try:
            # `run_work` goes there by its name: the executor imports pysync, which must be installed there.
            return str(session.sparkContext.parallelize([work], 1).map(run_work).collect()[0])
        except Exception as error:
            self.host.failed(session)
            raise _explained(error, self.host.log_file) from error


def _explained(error: Exception, log_file: Path) -> PysyncError:
    """The error for a person. A module that is missing at an executor is named, with the host."""
    lacks, where = _NOT_THERE.search(str(error)), _HOST.search(str(error))
    if lacks is None:
        return Unavailable(f"Spark cannot compare: {reason(error)}", f"its log: {log_file}")
    return UsageError(
        f"the Spark executor{f' on {where[1]}' if where else ''} has no Python module {lacks[1]}",
        "install pysync in the Python of the executors (PYSPARK_PYTHON), or ship it with the job: docs/verify.md",
    )


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
