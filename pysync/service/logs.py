"""Logs: structured lines on standard error, for people or (json) machines; never a payload, never a secret."""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog


def configure(level: str, form: Literal["console", "json"]) -> None:
    """Set the process's logging; `level` as in `[log]`."""
    number: int = getattr(logging, level.upper())
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if form == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
