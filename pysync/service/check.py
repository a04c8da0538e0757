"""Check: everything that would keep the sidecar from doing its work, found at once and without changing anything."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pysync.capture.connections import HOST
from pysync.capture.notifications import NotificationLog
from pysync.config import Config
from pysync.errors import PysyncError
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.replay.translate import Translator
from pysync.service.asking import ask
from pysync.service.targets import assert_named, known_targets
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.token import read_token


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: whether it is well, and what was seen."""

    what: str
    ok: bool
    detail: str


def check_config(config: Config) -> list[Finding]:
    """Look at every part of a configuration that `load_config` has accepted.

    Raises UsageError where the queue knows a target that the configuration does not name.
    """
    capture = _bridge if config.source.capture == "listener" else _notification_log
    return [
        _queue(config),
        *capture(config),
        *_web(config),
        *_source(config),
        *_targets(config),
    ]


def _bridge(config: Config) -> Iterator[Finding]:
    running = _running(config)
    yield _finding("token file", lambda: _token(config))
    yield _finding("bridge port", lambda: running or _port(config.bridge.port))


def _notification_log(config: Config) -> Iterator[Finding]:
    access = config.source.access()
    if access is not None:
        yield _finding("notification log", lambda: _logged(access))


def _logged(access: MetastoreAccess) -> str:
    with closing(Metastore(access)) as metastore:
        return f"{metastore.uri}, at event {NotificationLog(metastore).expected()}"


def _finding(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, ok=True, detail=look())
    except (PysyncError, OSError) as error:
        return Finding(what, ok=False, detail=str(error))


def _running(config: Config) -> str:
    """What to say of the port when it is ours already; "" when no sidecar runs."""
    try:
        return f"the sidecar runs, pid {ask(config.queue.directory, 'status')['pid']}"
    except PysyncError:
        return ""


def _token(config: Config) -> str:
    read_token(config.bridge.token_file)
    return str(config.bridge.token_file)


def _queue(config: Config) -> Finding:
    directory = config.queue.directory
    found = _finding("queue directory", lambda: _directory(directory))
    try:
        known = known_targets(directory) if found.ok else []
    except PysyncError as error:
        return Finding(found.what, ok=False, detail=str(error))
    assert_named(directory, known, [settings.name for settings in config.targets])
    return found


def _directory(directory: Path) -> str:
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise PysyncError(f"{existing} cannot be written", "give it to the user that pysync runs as")
    return str(directory) if existing == directory else f"{directory} (will be made)"


def _port(port: int, key: str = "bridge.port") -> str:
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PysyncError(f"{HOST}:{port}: {error.strerror}", f"end what uses it, or set {key}") from error
    return f"{HOST}:{port} is free"


def _web(config: Config) -> Iterator[Finding]:
    port = config.web.port
    if port is not None:
        yield _finding("web port", lambda: _running(config) or _port(port, "web.port"))


def _source(config: Config) -> Iterator[Finding]:
    access = config.source.access()
    if access is not None:
        yield _finding("source metastore", lambda: _reach(access))


def _reach(access: MetastoreAccess) -> str:
    with closing(Metastore(access)) as metastore:
        count = len(metastore.databases())
        return f"{metastore.uri}, {count} databases"


def _targets(config: Config) -> Iterator[Finding]:
    for settings in config.targets:
        yield _finding(f"target {settings.name}", lambda settings=settings: _target(settings))  # type: ignore[misc]


def _target(settings: TargetSettings) -> str:
    Translator.of(settings)
    with closing(target_kind(settings.kind).open(settings)) as target:
        return target.check()
