"""What a replay would refresh, without a sidecar. The queue is only read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.installation import start_sidecar
from pysync.config import Config
from pysync.queue import queue_at_rest
from pysync.replay.window.translate import Translator
from pysync.resync.ranges import counted

Ask = Callable[[Mapping[str, Any]], dict[str, Any]]


@contextmanager
def offline_planner(config: Config, target: str) -> Iterator[Ask]:
    """What answers as the command `replay plan` of a sidecar does. Raises PysyncError if there is no queue."""
    directory = config.queue.directory
    policy = Translator.of(next(it for it in config.targets if it.name == target)).policy
    with queue_at_rest(directory) as queue:
        if queue is None:
            raise PysyncError(f"there is no queue in {directory}", f"start the sidecar: {start_sidecar()}")
        yield lambda request: {"target": target, **counted(queue, policy, request)}
