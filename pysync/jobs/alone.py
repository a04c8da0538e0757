"""What people do with the trash of a target, and decide about what it holds, while no sidecar runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

from pysync.config import Config
from pysync.control.server import WHO, Command
from pysync.sidecar import held, trash
from pysync.sidecar.acts import journal_of, recorded
from pysync.sidecar.registry import resting


def alone(config: Config, target: str, command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a command about the trash of a target (sidecar.trash), or what it holds or keeps (sidecar.held).

    It is done in this process and put into the journal. What is decided is carried out by the next sidecar, or load.
    Raises PysyncError, also if a decision finds no queue.
    """
    with ExitStack() as stack:
        if command in trash.COMMANDS:
            others = [it.name for it in config.targets]
            trash_of_target = trash.Trash(next(it for it in config.targets if it.name == target), others)
            act: Command = partial(trash.COMMANDS[command], trash_of_target)
        else:
            queue = stack.enter_context(resting(config.queue.directory))
            act = partial(held.COMMANDS[command], held.Resting.of(queue, target))
        journal = stack.enter_context(closing(journal_of(config, lambda: False)))
        request = {**arguments, "target": target, WHO: f"uid {os.getuid()} (command line)"}
        return dict(recorded({command: act}, journal.append)[command](request))
