"""What the tests on a whole stage (two metastores, a sidecar) share."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError
from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.show import compare
from pysync.lab.demo.stage import Stage
from pysync.verify.compare import DIFFERENT, EQUAL, ComparedObject
from tests.support import wait_until
from tests.support.ddl import DdlClient

CLIENTS = 4
NO_BRAKE = "max_drop_share = 0.0\n"
"""Options of a Stage whose source drops databases and most tables of one on purpose."""


def soon_idle(directory: Path, *, overrides: dict[str, str], **settings: Any) -> EmbeddedMetastore:
    """A metastore that says goodbye right after a change; for a Stage's `source`."""
    return EmbeddedMetastore(directory, overrides={**overrides, "pysync.idle.ms": "0"}, **settings)


def unequal(stage: Stage) -> list[ComparedObject]:
    """The objects in which source and target differ now.

    A comparison may meet the replay in a deadlock of the target's database; then it says nothing about equality.
    """
    try:
        compared = compare(stage.source.uri, stage.target.uri, stage.config.targets[0])
    except PysyncError as error:
        return [ComparedObject("metastore", "no answer", DIFFERENT, fields=(str(error),))]
    return [item for item in compared if item.result != EQUAL]


def assert_converges(stage: Stage, seconds: float = 120.0) -> None:
    """Wait until source and target are equal; fails with the differences and the sidecar's status.

    It compares only what has come to rest: its reading would hold up the replay.
    """
    until = time.monotonic() + seconds
    while not is_at_rest(stage) or (left := unequal(stage)):
        if time.monotonic() > until:
            left = unequal(stage)
            raise AssertionError(f"not equal after {seconds:g} s: {left}\nstatus: {stage.status()}")
        time.sleep(0.3)


def is_at_rest(stage: Stage) -> bool:
    """Whether nothing is queued, no gap is open, and nothing came in the last second: a listener delivers later."""
    status = stage.status()
    if status["targets"][0]["queued"] or any(gap["state"] != "closed" for gap in status["gaps"]):
        return False
    return all(time.time() - it["last_at"] > 1 for it in status["instances"])


def wait_until_compared(stage: Stage) -> None:
    """Wait for the end of the comparison with the new target, which may read ahead of events that are to come."""

    def compared() -> bool:
        gaps = stage.status()["gaps"]
        return bool(gaps) and all(gap["state"] == "closed" for gap in gaps)

    wait_until(compared, seconds=120, what="the comparison with the new target")


def assert_nothing_missing(stage: Stage) -> None:
    """Every event that a listener numbered is in the queue, and none was parked."""
    status = stage.status()
    missing = {item["instance"]: item["missing"] for item in status["instances"] if item["missing"]}
    assert not missing, f"events that never came: {missing}"
    assert status["targets"][0]["parked"] == 0, status["targets"]


@contextmanager
def ddl_stream(stage: Stage, clients: int = CLIENTS, pause: float = 0.02) -> Iterator[Sequence[DdlClient]]:
    """Clients that change the source for as long as the block runs; each must have got something done.

    They drop whole databases, so the stage needs NO_BRAKE.
    """
    assert stage.config.targets[0].max_drop_share == 0, "the brake would hold what the stream drops"
    running = [DdlClient(stage.source.uri, f"stream{n}", seed=n, pause=pause) for n in range(clients)]
    for client in running:
        client.start()
    try:
        yield running
    finally:
        for client in running:
            client.stop()
    assert all(client.done > 2 for client in running), [client.done for client in running]
