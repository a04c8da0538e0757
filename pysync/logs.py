"""Logs: structured lines on standard error, for people or (json) machines; never a payload, never a secret.

docs/logs.md lists every event. What libraries log comes as `library_logged`, from level `warning` on.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any, Literal

import structlog
from structlog.typing import EventDict, Processor

from pysync.text import plain

_LIBRARIES = logging.WARNING  # what they say below that may hold payloads, and the keys of requests


def configure(level: str, form: Literal["console", "json"]) -> None:
    """Set the process's logging, that of libraries as well; `level` as in `[log]`. May be called again."""
    number: int = getattr(logging, level.upper())
    stamped: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendered: list[Processor] = [structlog.processors.JSONRenderer()]
    if form == "console":
        rendered = [_plain, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *stamped, *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    _configure_libraries(max(number, _LIBRARIES), [*stamped, _from_library], rendered)


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


def _from_library(_: Any, __: str, event: EventDict) -> EventDict:
    """A library's message is no key: it becomes a field of `library_logged`."""
    record: logging.LogRecord = event["_record"]
    found = {**event, "event": "library_logged", "logger": record.name, "message": event["event"]}
    exception = found.pop("exc_info", None)
    if exception:
        found["traceback"] = logging.Formatter().formatException(exception)
    return found


def _plain(_: Any, __: str, event: EventDict) -> EventDict:
    """Text as text: nothing in it steers a terminal, and no line feed in it begins what looks like another line."""
    return {key: plain(it).replace("\n", "\n    ") if isinstance(it, str) else it for key, it in event.items()}
