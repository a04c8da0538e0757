"""What people do with the trash of a target while no sidecar runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from pysync.config import Config
from pysync.control.server import WHO
from pysync.sidecar.acts import journal_of, recorded
from pysync.sidecar.trash import Trash


def alone(config: Config, target: str, command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a command about the trash (see sidecar.trash), done in this process and put into the journal."""
    trash = Trash(next(it for it in config.targets if it.name == target))
    with closing(journal_of(config, lambda: False)) as journal:
        commands = {"trash list": trash.listed, "trash restore": trash.restore, "trash empty": trash.empty}
        request = {**arguments, "target": target, WHO: f"uid {os.getuid()} (command line)"}
        return dict(recorded(commands, journal.append)[command](request))
