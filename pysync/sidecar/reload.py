"""Reload: the running sidecar takes a changed pysync.toml, with the same process id.

A reload is a restart that reads the file first. If anything is wrong with it, that is reported, and nothing changes.
Else the sidecar stops as it does on SIGTERM, and its process restarts with the same arguments. So whatever can be
written into the file can change, and what a restart keeps, a reload keeps: meanwhile the listener has its spool.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import structlog

from pysync.base.errors import PysyncError, UsageError
from pysync.config import Config, load_config
from pysync.queue import EventQueue
from pysync.sidecar import registry
from pysync.sidecar.needs import assert_needs
from pysync.sidecar.optional import OptionalParts

_STAYS = ("queue.directory", "source.name")
_ONCE = "--quarantine"

log = structlog.get_logger(__name__)


class Reloads:
    """Reloads of one sidecar, which runs with `config` as it was in `file`, and with these parts."""

    def __init__(self, config: Config, file: Path, queue: EventQueue, parts: OptionalParts) -> None:
        self._config = config
        self._file = file.absolute()
        self._queue = queue
        self._parts = parts
        self._signalled = False
        self.accepted = False
        """Whether the process is to begin again."""
        self._seen: tuple[object, dict[str, Any]] = (None, {})

    def on_signal(self) -> None:
        """Let SIGHUP ask for a reload; call this in the main thread.

        On a terminal SIGHUP says that the terminal is gone, and ends the process as ever.
        """
        if not sys.stderr.isatty():
            signal.signal(signal.SIGHUP, self._note_signal)

    def due(self) -> bool:
        """Whether the process is to begin again now. A file that a signal asked for is read here; call this often."""
        if self._signalled:
            self._signalled = False
            try:
                self.ask({})
            except PysyncError as error:
                log.error("reload_refused", file=str(self._file), reason=error.message, hint=error.hint)
        return self.accepted

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Read the file, and begin again within a second; `changes` are the keys that differ from what runs.

        `act` in the request is what shall become of a target that the file names otherwise, or no more (registry).
        Raises PysyncError, or UsageError for a wrong file; then nothing changes.
        """
        config, act = load_config(self._file), registry.Act.of(request.get("act"))
        changes = sorted(changed(self._config, config))
        stays = [it for it in _STAYS if it in changes]
        if stays:
            raise UsageError(f"{self._file}: {' and '.join(stays)} cannot change while the sidecar runs", "restart it")
        assert_needs(config, self._parts)
        registry.assert_acted(self._queue, [it.name for it in config.targets], act)
        for section in ("bridge", "web"):
            if f"{section}.port" in changes or f"{section}.host" in changes:
                _assert_free(section, config)
        if act is not None:
            registry.request_at_start(self._queue, act)
        log.info("reload_accepted", file=str(self._file), changes=changes)
        self.accepted = True
        return {"file": str(self._file), "changes": changes}

    def expect(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Note the `act` of a change of the file which is about to be made, and then has the targets `named`.

        If whoever changes it is killed before the reload, the next start still knows what happened to the target.
        Raises what `ask` raises of the act; then nothing is noted.
        """
        act = registry.Act.of(request.get("act"))
        if act is None or act.digest is None:
            raise PysyncError("an act needs the digest of the file that it belongs to")
        registry.assert_acted(self._queue, [str(it) for it in request.get("named") or ()], act)
        registry.request_at_start(self._queue, act)
        return {}

    def status(self) -> dict[str, Any]:
        """`changes`: the keys of the file that differ from what runs; `problem`: why the file cannot be read, or None.

        `targets` are those of the file, and those that run beside: `name`, and as `state` `running` (as in the file),
        `changed`, `new` (not in the sidecar yet) or `removed` (not in the file any more).

        Cheap while the file stays as it is.
        """
        stamp = _stamp(self._file)
        if self._seen[0] != stamp:
            self._seen = (stamp, self._compared())
        return {"file": str(self._file), **self._seen[1]}

    def _compared(self) -> dict[str, Any]:
        try:
            config = load_config(self._file)
        except PysyncError as error:
            return {"changes": [], "problem": error.message, "targets": _compared(self._config, self._config)}
        changes = sorted(changed(self._config, config))
        return {"changes": changes, "problem": None, "targets": _compared(self._config, config)}

    def _note_signal(self, *_: object) -> None:
        self._signalled = True


def restart_process() -> None:
    """Replace this process by one with the same arguments. It does not return; call it when the sidecar has stopped."""
    # Until the new one listens to it, SIGHUP would end it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *(it for it in sys.orig_argv[1:] if it != _ONCE)])  # noqa: S606


def changed(one: Config, other: Config) -> Iterator[str]:
    """The keys that differ, `section.key` or `targets.NAME.key`; of a target that only one has just `targets.NAME`."""
    yield from _differing("", _sections(one), _sections(other))
    mine, others = ({it.name: it.model_dump() for it in config.targets} for config in (one, other))
    for name in mine.keys() | others.keys():
        if name in mine and name in others:
            yield from _differing(f"targets.{name}.", mine[name], others[name])
        else:
            yield f"targets.{name}"


def _compared(runs: Config, file: Config) -> list[dict[str, str]]:
    """How the file's targets are compared with those that run, in the order of the file; last those that only run."""
    mine, others = ({it.name: it for it in config.targets} for config in (runs, file))
    both = others.keys() & mine.keys()
    changes = {name: "running" if others[name] == mine[name] else "changed" for name in both}
    states = {name: changes.get(name, "new") for name in others} | dict.fromkeys(mine.keys() - others.keys(), "removed")
    return [{"name": name, "state": state} for name, state in states.items()]


def _sections(config: Config) -> dict[str, Any]:
    return config.model_dump(exclude={"targets"})


def _differing(where: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for key in one.keys() | other.keys():
        mine, theirs = one.get(key), other.get(key)
        if mine == theirs:
            continue
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            yield from _differing(f"{where}{key}.", mine, theirs)
        else:
            yield f"{where}{key}"


def _stamp(file: Path) -> object:
    try:
        status = file.stat()
    except OSError as error:
        return error.errno
    return status.st_mtime_ns, status.st_size, status.st_ino


def _assert_free(section: str, config: Config) -> None:
    """Raises PysyncError where another process has the port that the section asks for."""
    settings = getattr(config, section)
    host, port = getattr(settings, "host", "127.0.0.1"), settings.port
    if not port:
        return
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise PysyncError(
                f"{section}.port: {host}:{port} cannot be had: {error.strerror}", "name another port"
            ) from None
