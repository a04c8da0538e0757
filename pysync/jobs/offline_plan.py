"""What a replay would refresh, without a sidecar. The queue is only read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pysync.base.errors import PysyncError
from pysync.config import Config
from pysync.queue import EventQueue
from pysync.queue.queue_file import FILE
from pysync.replay.window.translate import Translator
from pysync.resync.ranges import counted

_LOCK_SECONDS = 1.0
Ask = Callable[[Mapping[str, Any]], dict[str, Any]]


@contextmanager
def offline_planner(config: Config, target: str) -> Iterator[Ask]:
    """What answers as the command `replay plan` of a sidecar does. Raises PysyncError if there is no queue."""
    directory = config.queue.directory
    # Opening it would make a queue.
    if not (directory / FILE).exists():
        raise PysyncError(f"there is no queue in {directory}", "start the sidecar: pysync run -c FILE")
    policy = Translator.of(next(it for it in config.targets if it.name == target)).policy
    with EventQueue(directory, min_free_bytes=0, lock_timeout=_LOCK_SECONDS) as queue:
        yield lambda request: {"target": target, **counted(queue, policy, request)}
