"""Logs: structured lines on standard error, for people or (json) machines; never a payload, never a secret."""

from __future__ import annotations

import logging
import sys
from typing import Any, Literal

import structlog

from pysync.text import plain


def configure(level: str, form: Literal["console", "json"]) -> None:
    """Set the process's logging; `level` as in `[log]`."""
    number: int = getattr(logging, level.upper())
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
    for_form: list[structlog.typing.Processor] = []
    if form == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        for_form = [_plain]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *for_form,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _plain(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Text as text: nothing in it steers a terminal, and no line feed in it begins what looks like another line."""
    return {key: plain(it).replace("\n", "\n    ") if isinstance(it, str) else it for key, it in event.items()}
