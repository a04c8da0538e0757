"""What commands take: each kind of value is read here, and refused in words that say what to write instead."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import typer

from pysync.base.errors import UsageError
from pysync.base.text import LONGEST, meant, plain, quoted
from pysync.base.validation import path_of, seconds
from pysync.model.names import TableName, without_quotes

MOST = 2**63 - 1
"""The largest position and notification: both are counted in 64 bits."""
_MOST_DIGITS = 20


def path(value: Any) -> Path:
    """The path of a file or directory."""
    try:
        return path_of(str(value))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def absolute_path(value: Any) -> Path:
    """The path of a file or directory, from the working directory if it is not absolute."""
    return path(value).absolute()


def table(value: Any) -> TableName:
    """A table by its name, DB.TABLE."""
    try:
        return TableName.parse(str(value))
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error


def database_or_table(value: Any) -> str:
    """A database or table by its name, DB or DB.TABLE."""
    text = without_quotes(str(value).strip())
    if not text or text.count(".") > 1 or not all(text.split(".")):
        raise typer.BadParameter(
            f"{quoted(text)} is not the name of a database or table; write db or db.table, with the names at the source"
        )
    return text


def line(value: Any) -> str:
    """A text that is shown in a line of its own."""
    text = str(value).strip()
    if not text or "\n" in text or plain(text) != text:
        raise typer.BadParameter(f"{quoted(text)} is not a line of text; write a few words")
    if len(text) > LONGEST:
        raise typer.BadParameter(f"the text is too long ({len(text):,} characters); the maximum is {LONGEST}")
    return text


def number(least: int, most: int = MOST) -> Callable[[Any], int]:
    """A whole number within these bounds."""

    def read(value: Any) -> int:
        text = str(value).strip()
        # Python's int() takes 1_0, +1 and the digits of all scripts, and refuses thousands of them in words of its own.
        if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit() or len(text) > _MOST_DIGITS:
            raise typer.BadParameter(f"{quoted(text)} is not a whole number; write {max(least, 1)}, for example")
        if not least <= int(text) <= most:
            bound = f"the minimum is {least}" if int(text) < least else f"the maximum is {most}"
            raise typer.BadParameter(f"{text} is out of range; {bound}")
        return int(text)

    return read


def instant(value: Any) -> float:
    """A time in seconds since 1970: `2h` ago, or a date with or without a time of day, in this machine's zone."""
    text = str(value).strip()
    try:
        if (ago := seconds(text)) is not None:
            return time.time() - ago
        return max(0.0, datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        fault = f"{quoted(text)} is no time; write 30m, 2h or 7d (ago), or 2026-01-31T12:00"
        raise typer.BadParameter(fault) from None


def period(value: Any) -> float:
    """How long, in seconds: `30s`, `5m` or `2h`, and not nothing."""
    if isinstance(value, (int, float)):  # a default
        return float(value)
    try:
        length = seconds(str(value).strip())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if not length:
        raise typer.BadParameter(f"{quoted(str(value))} is not a length of time; write 30s, 5m or 2h")
    return float(length)


def ago(value: Any) -> int:
    """How long ago, in seconds."""
    text = str(value).strip()
    try:
        span = seconds(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if span is None:
        raise typer.BadParameter(f"{quoted(text)} is not a duration; write 30m, 12h or 7d")
    return span


class Bound(NamedTuple):
    """The begin or end of a range of events: a position, or a time in seconds since 1970."""

    position: int | None
    time: float | None


def bound(value: Any) -> Bound:
    """A position, or a time as `instant` takes it."""
    text = str(value).strip()
    if text.removeprefix("-").isdecimal():
        return Bound(number(1)(text), None)
    try:
        return Bound(None, instant(text))
    except typer.BadParameter:
        fault = f"{quoted(text)} is neither a position nor a time; write 4711, 2h (ago) or 2026-01-31T12:00"
        raise typer.BadParameter(fault) from None


def choice(*known: str) -> Callable[[Any], str]:
    """One of these words."""

    def read(value: Any) -> str:
        if value not in known:
            raise typer.BadParameter(f"{quoted(str(value))} is not allowed; {meant(str(value), known, 'write one of')}")
        return str(value)

    return read


class KeyValue(NamedTuple):
    """A property."""

    key: str
    value: str


def setting(value: Any) -> KeyValue:
    """A property, written KEY=VALUE."""
    key, equals, text = str(value).partition("=")
    if not equals or not key.strip():
        raise typer.BadParameter(
            f"{quoted(str(value))} is not a setting; write KEY=VALUE, as in hive.metastore.try.direct.sql=false"
        )
    return KeyValue(key, text)
