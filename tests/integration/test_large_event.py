"""Large events: a metastore of little heap tells the table's name alone, and the target gets it all the same."""

from __future__ import annotations

import base64
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.event import Event, Kind
from pysync.model.wire import encode, encode_event
from tests.support import partition, table, wait_until
from tests.support.callers import Caller
from tests.support.sidecars import Place, sidecar, unused_port
from tests.support.stages import assert_converges

pytestmark = pytest.mark.crash

HEAP = 160
"""MiB of the source; an event of a 16th of it is sent whole."""
PARTITIONS, PARAMETERS, LENGTH = 500, 8, 3_900
LARGE = 32
"""MiB of the largest event that a listener sends."""
COPIES = 10
"""How often it may be in the sidecar's memory at once; it was 14 times."""


def small(directory: Path, **settings: Any) -> EmbeddedMetastore:
    return EmbeddedMetastore(directory, heap_mb=HEAP, **settings)


def test_partitions_that_are_too_many_for_one_event_come_to_the_target(tmp_path: Path) -> None:
    with Stage(tmp_path, source=small) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with closing(Metastore(stage.source.uri)) as source:
            source.call(lambda client: client.create_database(hive.Database("db", "", None, {})))
            source.call(lambda client: client.create_table(table("db", "t", partition_keys=[("day", "string")])))
            new = [partition(source.table("db", "t"), [str(day)]) for day in range(PARTITIONS)]
            for one in new:
                one.parameters.update({f"p{number}": "-" * LENGTH for number in range(PARAMETERS)})
            source.call(lambda client: client.add_partitions(new))
            source.call(lambda client: client.create_table(table("db", "after")))
        assert_converges(stage)
        with closing(Metastore(stage.target.uri)) as target:
            came = target.call(lambda client: client.get_partition_names("db", "t", -1))
        assert len(came) == PARTITIONS
        (instance,) = stage.status()["instances"]
        assert (instance["received"], instance["missing"]) == (4, [])
        assert "a ADD_PARTITION of db.t is longer than" in stage.source.log_file.read_text()


def test_the_memory_that_a_large_event_takes_of_the_sidecar(tmp_path: Path) -> None:
    """Taking it in, and reading it for a target that is away."""
    parent = table("db", "t", partition_keys=[("day", "string")])
    one = partition(parent, ["1"])
    one.parameters = {"padding": "-" * (1 << 20)}
    parts = (encode(one),) * (LARGE - 1)
    event = Event(Kind.ADD_PARTITION, "onprem", "i", 1, int(time.time() * 1000), table=encode(parent), after=parts)
    place, port = Place(tmp_path), unused_port()
    place.write(port=port)
    with sidecar(place) as running, closing(Caller(port)) as caller:
        before = most_memory(running.process.pid)
        assert caller.append(base64.b64encode(encode_event(event)).decode()) == "queued"
        wait_until(lambda: "target_unavailable" in running.log(), what="its way to the target")
        assert most_memory(running.process.pid) - before < COPIES * LARGE


def most_memory(pid: int) -> int:
    """MiB that a process had in memory at most."""
    (line,) = [it for it in Path(f"/proc/{pid}/status").read_text().splitlines() if it.startswith("VmHWM")]
    return int(line.split()[1]) // 1024
