"""Check: everything that would keep the sidecar from doing its work, found at once and without changing anything."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from pysync.capture.connections import HOST
from pysync.capture.notifications import NotificationLog
from pysync.config import Config
from pysync.control.client import ask
from pysync.errors import PysyncError
from pysync.health import listening
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.addresses import shared
from pysync.metastore.client import Metastore
from pysync.replay.translate import Translator
from pysync.sections import SourceConfig
from pysync.sidecar.needs import needs
from pysync.sidecar.registry import assert_named, known_targets
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.text import count


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
    found = [_finding(what, look) for what, look in needs(config).items()]
    return [
        *found,
        # A queue is opened only in a directory that will do.
        *(_queue(config) if all(it.ok for it in found if it.what == "queue directory") else ()),
        *capture(config),
        *_web(config),
        *_source(config),
        *_targets(config),
    ]


def _bridge(config: Config) -> Iterator[Finding]:
    answer = _running(config)
    yield _finding("bridge port", lambda: _taken_by(answer) or _port(config.bridge.port))
    if answer:
        wrong = listening(answer, config.grace_seconds)
        heard = f"{count(len(answer['listeners']), 'listener')} reporting"
        yield Finding("listeners", ok=not wrong, detail="\n".join(wrong) or heard)


def _notification_log(config: Config) -> Iterator[Finding]:
    access = config.source.access()
    if access is not None:
        yield _finding("notification log", lambda: _logged(access))


def _logged(access: MetastoreAccess) -> str:
    with closing(Metastore(access)) as metastore:
        return f"{metastore.uri}, newest event {NotificationLog(metastore).expected()}"


def _finding(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, ok=True, detail=look())
    except (PysyncError, OSError) as error:
        return Finding(what, ok=False, detail=str(error))


def _running(config: Config) -> dict[str, Any]:
    """The status of the running sidecar; empty when none answers."""
    try:
        return ask(config.queue.directory, "status")
    except PysyncError:
        return {}


def _taken_by(answer: Mapping[str, Any]) -> str:
    """What to say of a port that is ours already; "" when no sidecar runs."""
    return f"used by the running sidecar, pid {answer['pid']}" if answer else ""


def _queue(config: Config) -> Iterator[Finding]:
    """A queue that cannot be opened. Raises UsageError where it knows a target that the configuration does not."""
    directory = config.queue.directory
    try:
        known = known_targets(directory)
    except PysyncError as error:
        yield Finding("queue", ok=False, detail=str(error))
    else:
        assert_named(directory, known, [settings.name for settings in config.targets])


def _port(port: int, key: str = "bridge.port") -> str:
    with closing(socket.socket()) as probe:
        # As both servers do: a port of a process that has just ended (TIME_WAIT) is free for them.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PysyncError(
                f"{HOST}:{port}: {error.strerror}", f"stop the process that uses the port, or set {key}"
            ) from error
    return f"{HOST}:{port} is free"


def _web(config: Config) -> Iterator[Finding]:
    port = config.web.port
    if port is not None:
        yield _finding("web port", lambda: _taken_by(_running(config)) or _port(port, "web.port"))


def _source(config: Config) -> Iterator[Finding]:
    access = config.source.access()
    if access is not None:
        yield _finding("source metastore", lambda: _reach(access))


def _reach(access: MetastoreAccess) -> str:
    with closing(Metastore(access)) as metastore:
        # Before the address, which is that of the first server that answers.
        databases = count(len(metastore.databases()), "database")
        return f"{metastore.uri}, {databases}"


def _targets(config: Config) -> Iterator[Finding]:
    for settings in config.targets:
        yield _finding(f"target {settings.name}", partial(_target, config.source, settings))


def _target(source: SourceConfig, settings: TargetSettings) -> str:
    # Only for what it refuses: patterns and renames that cannot be read.
    Translator.of(settings, source.replicators)
    address = getattr(settings, "metastore", None)
    if source.metastore and address and (same := shared(source.metastore, address)):
        raise PysyncError(
            f"source and target are the same metastore: {same}",
            "name another metastore, or remove this target",
        )
    with closing(target_kind(settings.kind).open(settings)) as target:
        return target.check()
