"""The stage: a process in which pysync lives in simulated worlds, one after the other.

It is set once for all of them: to make pysync look at another clock takes longer than many a history.
"""

from __future__ import annotations

import shutil
import sys
import time as real_time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import structlog

from pysync.metastore import source
from pysync.queue import database
from tests.simulation.clock import Clock
from tests.simulation.topologies import Topology
from tests.simulation.world import RecordOf, World

_ROOMS = tuple(f"pysync.{it}." for it in ("capture", "queue", "replay", "resync", "sidecar", "jobs", "targets.apply"))


@dataclass(slots=True)
class Stage:
    """What all worlds have in common: the clock that pysync looks at, and who comes by its crash points."""

    clock: Clock = field(default_factory=Clock)
    world: World | None = None

    def come_by(self, point: str) -> None:
        """Something of pysync comes by a crash point."""
        if self.world is not None:
            self.world.come_by(point)


_set: ContextVar[Stage] = ContextVar("stage")


@contextmanager
def stage() -> Iterator[None]:
    """Have pysync live on a stage until the end of the block, without logs: who wants to know looks at the story."""
    found = Stage()
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(source, "Metastore", lambda connect, **_: connect()))
        # No disk is damaged here, and to look at one takes a thread.
        stack.enter_context(mock.patch.object(database, "_check", new=_nothing))
        for module in _modules("time", real_time):
            stack.enter_context(mock.patch.object(module, "time", found.clock))
        for module in _modules("crash_point"):
            stack.enter_context(mock.patch.object(module, "crash_point", found.come_by))
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50), cache_logger_on_first_use=False)
        stack.callback(structlog.reset_defaults)
        token = _set.set(found)
        stack.callback(_set.reset, token)
        yield


@contextmanager
def simulated(
    topology: Topology, directory: Path, seed: int, *, tells: bool = False, record: RecordOf | None = None
) -> Iterator[World]:
    """A world on the stage, in whose time and at whose crash points pysync lives until the end of the block."""
    directory.mkdir(parents=True)
    here = _set.get()
    here.clock.begin()
    try:
        with closing(World(topology, directory, here.clock, seed, tells=tells, record=record)) as here.world:
            yield here.world
    finally:
        here.world = None
        shutil.rmtree(directory)


def _nothing(*_: object) -> None:
    pass


def _modules(name: str, value: object = None) -> list[Any]:
    """Those of pysync that decide something by the time, or have crash points: which have this name."""
    modules = [module for called, module in list(sys.modules.items()) if called.startswith(_ROOMS)]
    return [it for it in modules if hasattr(it, name) and (value is None or getattr(it, name) is value)]
