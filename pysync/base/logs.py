"""Logs: structured lines on standard error, for people or (json) machines; never a payload, never a secret.

docs/logs.md lists every event. What libraries log comes as `library_logged`, from level `warning` on, and what nobody
catches as an event, too: with `json` every line is an object.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal

import structlog
from structlog.typing import EventDict, Processor

from pysync.base.masking import HIDDEN, is_secret, masked
from pysync.base.text import plain

_LIBRARIES = logging.WARNING  # what they say below that may hold payloads, and the keys of requests
_SILENT = ("py4j", "pyathena")
"""py4j logs whole commands, payload included, and tracebacks of what is normal. pyathena logs each error that it
raises as well, and each call that it tries again at whatever level it was given: a level silences neither.
"""
_FIRST = ("timestamp", "level", "event", "target", "worker", "source", "instance")
_LAST = ("reason", "hint", "message", "traceback")
"""What may be long."""
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
"""As `<3>` before a line: what the journal takes for its priority, and cuts off (sd-daemon(3))."""

log = structlog.get_logger(__name__)


def configure(level: str, form: Literal["console", "json"]) -> None:
    """Set the process's logging, that of libraries as well; `level` as in `[log]`. May be called again."""
    number: int = getattr(logging, level.upper())
    stamped: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendered: list[Processor] = [_masked, _ordered, structlog.processors.JSONRenderer()]
    if form == "console":
        rendered = [
            _masked,
            _ordered,
            _plain,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), sort_keys=False),
        ]
    if _is_journal():
        rendered[-1] = _prioritized(rendered[-1])
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *stamped, *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    _configure_libraries(max(number, _LIBRARIES), [*stamped, _from_library], rendered)
    _catch_what_nobody_catches()


def _is_journal() -> bool:
    """Whether standard error goes to the journal: then systemd says which stream that is (systemd.exec(5))."""
    try:
        status = os.fstat(sys.stderr.fileno())
    except OSError:  # it is no file, but what a test or a notebook has put in its place
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _prioritized(render: Processor) -> Processor:
    """The same lines, each with its priority for the journal."""

    def rendered(logger: Any, name: str, event: EventDict) -> str:
        priority = _PRIORITIES.get(event["level"], _PRIORITIES["info"])
        return "\n".join(f"<{priority}>{line}" for line in str(render(logger, name, event)).split("\n"))

    return rendered


def _configure_libraries(number: int, before: Sequence[Processor], rendered: Sequence[Processor]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered],
        )
    )
    # `force`: else this does nothing once a library, or an earlier call, has set a handler.
    logging.basicConfig(level=number, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for name in _SILENT:
        silent = logging.getLogger(name)
        silent.propagate = False
        # Without any handler Python itself prints the bare text from level `warning` on.
        silent.handlers[:] = [logging.NullHandler()]


def _catch_what_nobody_catches() -> None:
    """Log what Python would print by itself, in lines of its own."""
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread
    sys.unraisablehook = _ignored


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    text = "".join(traceback.format_exception(kind, error, trace))
    log.error("exception_uncaught", thread=threading.current_thread().name, traceback=text)


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    # By SystemExit a thread ends itself: Python does not print that either.
    if args.exc_type is not SystemExit and args.exc_value is not None:
        _uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def _ignored(args: sys.UnraisableHookArgs) -> None:
    text = "".join(traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback))
    # A name, and not the object's own text, which could be anything.
    where = getattr(args.object, "__qualname__", type(args.object).__name__)
    log.warning("exception_ignored", where=where, traceback=text)


def _from_library(_: Any, __: str, event: EventDict) -> EventDict:
    """A library's message is no key: it becomes a field of `library_logged`."""
    record: logging.LogRecord = event["_record"]
    entry = {**event, "event": "library_logged", "logger": record.name, "message": event["event"]}
    exception = entry.pop("exc_info", None)
    if exception:
        entry["traceback"] = logging.Formatter().formatException(exception)
    return entry


def _masked(_: Any, __: str, event: EventDict) -> EventDict:
    """Nothing that a server, a library or an exception quotes shows a secret."""
    return {key: _without_secrets(key, it) for key, it in event.items()}


def _without_secrets(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_secrets(str(name), it) for name, it in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_secrets(key, it) for it in value]
    if isinstance(value, BaseException):
        value = str(value)
    if isinstance(value, str):
        return HIDDEN if is_secret(key) else masked(value)
    return value


def _ordered(_: Any, __: str, event: EventDict) -> EventDict:
    """Whom it is about first, and what may be long last; what is between stays in the order of the call."""
    first = {key: event[key] for key in _FIRST if key in event}
    last = {key: event[key] for key in _LAST if key in event}
    return first | {key: it for key, it in event.items() if key not in last} | last


def _plain(_: Any, __: str, event: EventDict) -> EventDict:
    """Text as text: nothing in it steers a terminal, and no line feed in it begins what looks like another line."""
    shown = {key: repr(it) if isinstance(it, (list, tuple, dict)) else it for key, it in event.items()}
    return {key: plain(it).replace("\n", "\n    ") if isinstance(it, str) else it for key, it in shown.items()}
