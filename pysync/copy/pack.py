"""Pack: files become tasks of about the same cost, the largest files first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pysync.model.file_differences import FileStatus

_MOST_FILES = 400
_OPENING_BYTES = 256 * 1024  # as much could be copied in the time that opening and renaming a file takes
_LEAST_BYTES = 8 * 1024 * 1024  # a smaller task would mostly be the cost of a Spark job
_MOST_BYTES = 512 * 1024 * 1024  # a task that fails is done again as a whole
_TASKS_EACH = 4  # so that the last one to end is not far behind the others


def pack(files: Iterable[FileStatus], parallelism: int) -> Iterator[list[FileStatus]]:
    """The files in tasks, every file once; a large one has a task of its own."""
    largest_first = sorted(files, key=lambda file: (-file.size, file.source))
    total = sum(map(_cost, largest_first))
    limit = min(max(total // (parallelism * _TASKS_EACH), _LEAST_BYTES), _MOST_BYTES)
    task: list[FileStatus] = []
    cost = 0
    for file in largest_first:
        if task and (cost + _cost(file) > limit or len(task) == _MOST_FILES):
            yield task
            task, cost = [], 0
        task.append(file)
        cost += _cost(file)
    if task:
        yield task


def _cost(file: FileStatus) -> int:
    return file.size + _OPENING_BYTES
