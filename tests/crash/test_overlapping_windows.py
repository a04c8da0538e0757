"""A process that is killed while windows overlap: works of later ones are done, and those of earlier ones are not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pysync.base.crashpoints import VARIABLE
from pysync.metastore.client import Metastore
from pysync.model.event import Event
from pysync.queue import EventQueue
from tests.bench.histories import History
from tests.support.events import append

pytestmark = pytest.mark.crash

ROOT = Path(__file__).parents[2]
PARTITIONS = 300
ROUNDS = 4
PROGRAM = """
import sys, time
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.kinds import target_kind

kind = target_kind("hms")
settings = kind.settings.model_validate({"name": "dr", "kind": "hms", "metastore": sys.argv[2], "window": 20})
with EventQueue(sys.argv[1], min_free_bytes=0) as queue:
    drain = Drain(Replayer(queue, settings, Translator.of(settings)), lambda: kind.open(settings))
    drain.start()
    while queue.target("dr").depth().queued:
        time.sleep(0.01)
    drain.stop()
    drain.join(60)
"""


def events_below(location: str) -> Iterator[Event]:
    """Partitions of a big table, and behind each twenty of them a database that comes and goes with its tables."""
    kept, passing = History("kept", location), History("passing", location)
    big = kept.table("big")
    yield kept.begin()
    yield kept.create(big)
    for number, added in enumerate(kept.ingest([big], PARTITIONS)):
        yield added
        if number % 20 == 0:
            one, two = passing.table("one"), passing.table("two")
            yield passing.begin()
            yield from map(passing.create, (one, two))
            yield from passing.ingest([one], 3)
        if number % 20 == 10:
            yield from map(passing.drop, (one, two))
            yield passing.end()


def test_killed_amid_overlapping_windows_it_converges_and_parks_nothing(metastores, tmp_path):
    """Whatever was done of later windows when it was killed."""
    server = metastores()
    with EventQueue(tmp_path, min_free_bytes=0) as queue:
        queue.target("dr").register()
        append(queue, *events_below(f"file:{server.warehouse}"))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), server.uri]
    for number in range(ROUNDS):
        armed = {**os.environ, VARIABLE: f"apply.done:{5 + 7 * number}"}
        died = subprocess.run(command, env=armed, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
        assert died.returncode == -9, died.stdout + died.stderr
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    with EventQueue(tmp_path, min_free_bytes=0) as queue, closing(Metastore(server.uri)) as metastore:
        assert queue.target("dr").parked.events() == []
        assert (queue.target("dr").position(), sorted(metastore.databases())) == (queue.last, ["default", "kept"])
        assert len(metastore.partition_names("kept", "big")) == PARTITIONS
