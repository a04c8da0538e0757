"""The options of `pysync init` that have no effect, because pysync.toml exists and has another value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pysync.config import Config
from pysync.setup.questions import Question, setting, valid


def ignored(
    config: Config, given: Mapping[str, str], prefixes: Mapping[str, str], *, port: int | None, state: Path | None
) -> list[str]:
    """Return the options whose values differ from `config`. Of several targets the most similar one counts.

    `given` has the answers that were options, `prefixes` the locations. None: the option was not given.
    """
    ignored_keys = [key for key in given if key.startswith("source_") and not _agrees(key, given[key], config.source)]
    differing = [_differing(target, given, prefixes) for target in config.targets]
    nearest = min(differing, key=len)
    ignored_keys += nearest
    ignored_keys += ["bridge_port"] if port not in {None, config.bridge.port} else []
    ignored_keys += ["state_dir"] if state not in {None, config.queue.directory.absolute()} else []
    return [Question(key, "").flag for key in ignored_keys]


def _differing(target: Any, given: Mapping[str, str], prefixes: Mapping[str, str]) -> list[str]:
    keys = (key for key in given if not key.startswith("source_"))
    differing = [key for key in keys if not _agrees(key, given[key], target)]
    return [*differing, "location"] if prefixes.items() - target.locations.items() else differing


def _agrees(key: str, value: str, settings: Any) -> bool:
    """Whether the configuration has that value. An empty answer stands for a key that is not set."""
    configured = getattr(settings, setting(key), None)
    if not value:
        return configured is None
    try:
        return bool(configured is not None and valid(key, value, type(settings)) == configured)
    except (KeyError, ValidationError):
        return False
