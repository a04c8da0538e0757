"""Curves: lag, throughput and slowest tables of targets, in the journal's file. SQL only.

Each sample goes into two steps of time: a minute, kept for a day, and half an hour, kept for a month. So a target takes
some 3,000 rows, and every range is read from about as many points.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pysync.base.latency import Worst
from pysync.base.text import plain

DAY_HOURS, MONTH_HOURS = 24, 30 * 24
_HOUR = 3600
_STEPS = {60: (DAY_HOURS + 1) * _HOUR, 1800: (MONTH_HOURS + 1) * _HOUR}
"""How long points are kept, by their steps; both in seconds."""

_SCHEMA = (
    """CREATE TABLE points (
        target TEXT NOT NULL, step INTEGER NOT NULL, at INTEGER NOT NULL, lag_seconds REAL NOT NULL,
        applied INTEGER NOT NULL, parked INTEGER NOT NULL, PRIMARY KEY (target, step, at)) WITHOUT ROWID""",
    """CREATE TABLE slowest (
        target TEXT NOT NULL, object TEXT NOT NULL, seconds REAL NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (target, object)) WITHOUT ROWID""",
)
_ADD = """INSERT INTO points VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (target, step, at) DO UPDATE SET
    lag_seconds = max(lag_seconds, excluded.lag_seconds), applied = applied + excluded.applied,
    parked = excluded.parked"""
_POINTS = """SELECT at, lag_seconds, applied, parked FROM points
    WHERE target = ? AND step = ? AND at > ? ORDER BY at"""
_SLOWEST = "SELECT object, seconds, at FROM slowest WHERE target = ?"


@dataclass(frozen=True, slots=True)
class Sample:
    """What a target was at a time, in seconds since 1970; `applied` counts operations since the sample before.

    `slowest` are the day's slowest tables.
    """

    target: str
    at: float
    lag_seconds: float
    applied: int
    parked: int
    slowest: Sequence[Worst] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """What a target was from `at` on, for one step: the greatest lag, all that was applied, and parked at the end."""

    at: int
    lag_seconds: float
    applied: int
    parked: int


def step_of(hours: int) -> int:
    """The step of the points for so many hours, in seconds."""
    return min(_STEPS) if hours <= DAY_HOURS else max(_STEPS)


def create(connection: sqlite3.Connection) -> None:
    """Create the tables, within the caller's transaction."""
    for statement in _SCHEMA:
        connection.execute(statement)


def add(connection: sqlite3.Connection, samples: Sequence[Sample], now: float) -> None:
    """Add samples, and remove what is too old at the time `now`, within the caller's transaction."""
    rows = [
        (it.target, step, int(it.at // step * step), it.lag_seconds, it.applied, it.parked)
        for it in samples
        for step in _STEPS
    ]
    connection.executemany(_ADD, rows)
    for step, seconds in _STEPS.items():
        connection.execute("DELETE FROM points WHERE step = ? AND at < ?", (step, int(now) - seconds))
    newest = {it.target: it.slowest for it in samples}
    connection.executemany("DELETE FROM slowest WHERE target = ?", [(it,) for it in newest])
    slowest = [(target, plain(it.object), it.seconds, it.at) for target, samples in newest.items() for it in samples]
    connection.executemany("INSERT OR REPLACE INTO slowest VALUES (?, ?, ?, ?)", slowest)


def points(connection: sqlite3.Connection, target: str, step: int, since: float) -> list[Point]:
    """The points of a target after a time, the oldest first."""
    return [Point(*row) for row in connection.execute(_POINTS, (target, step, since))]


def slowest(connection: sqlite3.Connection, target: str) -> list[Worst]:
    """The slowest tables of a target's last sample."""
    return [Worst(*row) for row in connection.execute(_SLOWEST, (target,))]


def rename_target(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Rename a target in all that is kept of it."""
    tables: Iterable[str] = ("points", "slowest")
    for table in tables:
        connection.execute(f"UPDATE OR REPLACE {table} SET target = ? WHERE target = ?", (new, old))  # noqa: S608
