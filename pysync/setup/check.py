"""Check: everything that would keep the sidecar from doing its work, found at once and without changing anything.

Of a pysync.toml with problems, too: what a section without one is about is looked at all the same.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from thrift.Thrift import TException

from pysync.base.bounded import Questions
from pysync.base.errors import PysyncError, UsageError
from pysync.base.health import listening
from pysync.base.text import count, error_text, without_pages
from pysync.capture.connections import HOST
from pysync.capture.notifications import NotificationLog
from pysync.config import Partial
from pysync.control.client import ask
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.addresses import shared
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from pysync.notify import assert_receiver_answers
from pysync.parts import ALL_PARTS
from pysync.replay.window.translate import Translator
from pysync.sections import NotifyConfig, SourceConfig
from pysync.sidecar.needs import needs
from pysync.sidecar.registry import assert_named, known_targets
from pysync.targets.base import ChecksRights, lacks_of
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

_END_SECONDS = 30.0
"""For all that is asked of the source, or of a target."""
_PLACES_SECONDS = 10.0  # for an answer of the source, while a target is looked at
_MOST_DATABASES = 100
"""So many databases of the source are asked for their place."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: whether it is well, and what was seen."""

    what: str
    ok: bool
    detail: str
    by_file: bool = False  # pysync.toml is to be changed


def check_config(config: Partial) -> list[Finding]:
    """Look at every part of a configuration that can be read."""
    findings = [_finding(what, check) for what, check in needs(config, ALL_PARTS).items()]
    return [
        *(Finding("configuration", False, it, by_file=True) for it in config.problems),
        *_unread(config),
        *findings,
        # A queue is opened only in a directory that will do.
        *(_queue(config) if all(it.ok for it in findings if it.what == "queue directory") else ()),
        *(_bridge(config) if config.listens else ()),
        *_web(config),
        *_ends(config),
    ]


def _unread(config: Partial) -> Iterator[Finding]:
    """What cannot be looked at because of the problems of the file."""
    sections = {"source": config.source, "bridge": config.bridge, "queue": config.queue, "web": config.web}
    for name in (name for name, section in sections.items() if section is None):
        yield Finding(name, ok=False, detail=f"not tried: [{name}] has problems", by_file=True)
    for name in config.unread:
        yield Finding(f"target {name}", ok=False, detail="not tried: its [[targets]] table has problems", by_file=True)


def _bridge(config: Partial) -> Iterator[Finding]:
    answer = _running(config)
    if config.bridge:
        port = config.bridge.port
        bridge = answer.get("bridge") or {}
        own_port = bridge.get("port") == port
        yield _finding("bridge port", lambda: _port(port, user=answer if own_port else {}))
    if answer:
        wrong = listening(answer, config.status_grace)
        listeners = f"{count(len(answer['listeners']), 'listener')} reporting"
        yield Finding("listeners", ok=not wrong, detail="\n".join(map(str, wrong)) or listeners)


def _logged(access: MetastoreAccess) -> str:
    with closing(Metastore(access)) as metastore:
        return f"{metastore.uri}, newest event {NotificationLog(metastore).expected()}"


def _finding(what: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(what, ok=True, detail=check())
    except (PysyncError, TException, OSError) as error:  # TException: what a metastore declares
        return Finding(what, ok=False, detail=without_pages(error_text(error)))


def _running(config: Partial) -> dict[str, Any]:
    """The status of the running sidecar; empty when none answers."""
    try:
        return ask(config.queue.directory, "status") if config.queue else {}
    except PysyncError:
        return {}


def _queue(config: Partial) -> Iterator[Finding]:
    """A queue that cannot be opened, or that knows a target which the configuration does not."""
    if config.queue is None:
        return
    directory = config.queue.directory
    try:
        known = known_targets(directory)
    except PysyncError as error:
        yield Finding("queue", ok=False, detail=str(error))
        return
    try:
        assert_named(directory, known, [*(settings.name for settings in config.targets), *config.unread])
    except UsageError as error:
        yield Finding("targets in the queue", ok=False, detail=str(error), by_file=True)


def _port(port: int, key: str = "bridge.port", host: str = HOST, *, user: Mapping[str, Any]) -> str:
    """Raises PysyncError for a port that is taken, but not by the sidecar with the status `user`, if it is that."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family)) as probe:
        # As both servers do: a port of a process that has just ended (TIME_WAIT) is free for them.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if user and error.errno == errno.EADDRINUSE:
                return f"used by the running sidecar, pid {user['pid']}"
            raise PysyncError(
                f"{host}:{port}: {error.strerror}", f"stop the process that uses the port, or set {key}"
            ) from error
    return f"{host}:{port} is free"


def _user_of_web(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status of the running sidecar if it has the page where pysync.toml says; else empty."""
    file = answer.get("config")
    return answer if file and not any(it.startswith("web") for it in file["changes"]) else {}


def _web(config: Partial) -> Iterator[Finding]:
    port, host = (config.web.port, config.web.host) if config.web else (None, HOST)
    if port is not None:
        user = _user_of_web(_running(config))
        yield _finding("web port", lambda: _port(port, "web.port", host, user=user))


def _ends(config: Partial) -> Iterator[Finding]:
    """Source, targets and receivers, asked at the same time: one that hangs keeps nobody waiting for the others."""
    checks: dict[str, Callable[[], str]] = {}
    access = config.source.access() if config.source else None
    if access is not None and not config.listens:
        checks["notification log"] = partial(_logged, access)
    if access is not None:
        checks["source metastore"] = partial(_reach, access)
    checks |= {f"target {it.name}": partial(_target, config.source, it) for it in config.targets}
    checks |= {f"receiver {it.name}": partial(_receiver, it) for it in config.notify}
    questions = Questions()
    asked = {what: questions.begin(what, check, _END_SECONDS) for what, check in checks.items()}
    for what, question in asked.items():
        yield _finding(what, question.answer)


def _receiver(settings: NotifyConfig) -> str:
    assert_receiver_answers(settings)
    return "its server answers; whether it takes events shows with the first one"


def _reach(access: MetastoreAccess) -> str:
    with closing(Metastore(access)) as metastore:
        # Before the address, which is that of the first server that answers.
        databases = count(len(metastore.databases()), "database")
        return f"{metastore.uri}, {databases}"


def _target(source: SourceConfig | None, settings: TargetSettings) -> str:
    # Only for what it refuses: patterns and renames that cannot be read.
    Translator.of(settings, source.replicators if source else {})
    if not settings.enabled:
        return "disabled; it was not asked"
    address = source.metastore if source else None
    if address and settings.address and (same := shared(address, settings.address)):
        raise PysyncError(
            f"source and target are the same metastore: {same}",
            "name another metastore, or remove this target",
        )
    with closing(target_kind(settings.kind).open(settings)) as target:
        rights = target.check_rights() if isinstance(target, ChecksRights) else ""
        lacks = [f"{it} ({reason})" for it, reason in lacks_of(target).items()]
        answer = "; ".join(filter(None, (target.check(), rights, f"lacks {', '.join(lacks)}" if lacks else "")))
    _assert_readable(source, settings)
    return answer


def _assert_readable(source: SourceConfig | None, settings: TargetSettings) -> None:
    """Raise PysyncError where databases with tables have a place of which engines at the target read nothing."""
    access = source.access() if source else None
    if access is None or settings.include_schemes or not settings.unreadable_hint:
        return
    translator = Translator.of(settings)
    # That the source is away or refuses is said elsewhere.
    with suppress(MetastoreError, TException), closing(Metastore(access, timeout=_PLACES_SECONDS)) as metastore:
        names = [it for it in metastore.databases() if translator.policy.takes_database(it)]
        for place in filter(None, map(metastore.database, names[:_MOST_DATABASES])):
            at = translator.mapping.rewriting(place.name).locations.map(place.locationUri) or ""
            if (reason := settings.unreadable(at)) and metastore.tables(place.name):
                raise PysyncError(f"tables of {place.name} will be parked: {reason}", settings.unreadable_hint)
