"""Needs: what must be there before the sidecar runs. `run` refuses without it, and `check` reports it, by this list.

What else may keep the sidecar from running shows only as it starts: the ports, the lock of the queue, its file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pysync.base.jars import copy_jar
from pysync.base.token import read_token
from pysync.config import Config, Partial
from pysync.queue.directory import try_out
from pysync.sections import WebConfig
from pysync.targets.spark.session import assert_spark
from pysync.web.server import assert_installed, assert_usable


def needs(config: Config | Partial) -> dict[str, Callable[[], str]]:
    """What to look at, by its name: each gives what was seen, or raises PysyncError. Nothing is changed."""
    checks: dict[str, Callable[[], str]] = {}
    if config.queue:
        checks["queue directory"] = partial(_directory, config.queue.directory)
    if config.bridge and config.listens:
        checks["token file"] = partial(_token, config.bridge.token_file)
    if config.web and config.web.port is not None:
        checks["web server"] = partial(_web, config.web)
    for it in config.notify:
        checks[f"secret of receiver {it.name}"] = partial(_token, it.secret_file)
    if any(target.spark_request() for target in config.targets):
        copies = any(target.copy_files for target in config.targets)
        checks["Spark"] = lambda: _spark(copies=copies)
    return checks


def assert_needs(config: Config) -> None:
    """Raises the first PysyncError of `needs`."""
    for check in needs(config).values():
        check()


def _directory(directory: Path) -> str:
    there = directory.exists()
    try_out(directory)
    return str(directory) if there else f"{directory} (will be created)"


def _token(file: Path) -> str:
    read_token(file)
    return str(file)


def _spark(*, copies: bool) -> str:
    """Whether Spark is installed. Whether its settings are right shows when it starts, which takes long."""
    assert_spark()
    return f"installed; {copy_jar()}" if copies else "installed"


def _web(settings: WebConfig) -> str:
    assert_installed()
    assert_usable(settings)
    return f"installed; users: {settings.password_file}" if settings.password_file else "installed; reads only"
