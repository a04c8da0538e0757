"""Drift of every kind, made behind pysync's back on real servers, goes away without a command from a person."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import partition, table, wait_for_value, wait_until
from tests.support.hanging import stopped
from tests.support.spools import spooled
from tests.support.stages import assert_converges, soon_idle, unequal

pytestmark = pytest.mark.crash

SECONDS = 120.0
DAY = [("day", "string")]


@dataclass(slots=True)
class Drift:
    """A stage with the same objects at both ends, and clients of both."""

    stage: Stage
    source: Metastore
    target: Metastore


def create(metastore: Metastore, name: str, *days: str, **fields: Any) -> None:
    made = table("db", name, partition_keys=DAY if days else (), **fields)
    metastore.call(lambda client: client.create_table(made))
    for day in days:
        add_partition(metastore, name, day)


def add_partition(metastore: Metastore, name: str, day: str) -> None:
    new = partition(metastore.table("db", name), [day])
    metastore.call(lambda client: client.add_partition(new))


def drop(metastore: Metastore, name: str) -> None:
    metastore.call(lambda client: client.drop_table("db", name, False))


def drop_partition(metastore: Metastore, name: str, day: str) -> None:
    metastore.call(lambda client: client.drop_partition("db", name, [day], False))


def alter(metastore: Metastore, name: str, change: Callable[[Any], None]) -> None:
    found = metastore.table("db", name)
    change(found)
    metastore.call(lambda client: client.alter_table("db", name, found))


def alter_partition(metastore: Metastore, name: str, day: str) -> None:
    found = metastore.call(lambda client: client.get_partition("db", name, [day]))
    found.parameters["changed"] = "yes"
    metastore.call(lambda client: client.alter_partition("db", name, found))


def rename(found: Any) -> None:
    found.tableName = "renamed"


def add_column(found: Any) -> None:
    found.sd.cols.append(hive.FieldSchema("more", "string", None))


def set_parameter(found: Any) -> None:
    found.parameters["by"] = "hand"


def recreate(metastore: Metastore, name: str) -> None:
    """With other partition keys."""
    drop(metastore, name)
    made = table("db", name, partition_keys=[("month", "int")])
    metastore.call(lambda client: client.create_table(made))
    new = partition(metastore.table("db", name), ["7"])
    metastore.call(lambda client: client.add_partition(new))


def create_view(metastore: Metastore, name: str) -> None:
    view = table("db", name)
    view.tableType, view.viewOriginalText, view.viewExpandedText = "VIRTUAL_VIEW", "SELECT 1", "SELECT 1"
    view.parameters.pop("EXTERNAL")
    metastore.call(lambda client: client.create_table(view))


def create_function(metastore: Metastore, name: str) -> None:
    new = hive.Function(name, "db", "org.F", "tester", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [])
    metastore.call(lambda client: client.create_function(new))


def create_database(metastore: Metastore, name: str) -> None:
    metastore.call(lambda client: client.create_database(hive.Database(name, "", None, {})))
    metastore.call(lambda client: client.create_table(table(name, "within")))


BEFORE = ("altered", "columns", "dropped", "gone_there", "hand", "old_name", "recreated", "untouched")

AT_SOURCE: dict[str, Callable[[Metastore], None]] = {
    "a table that was created": lambda hms: create(hms, "created", "1", "2"),
    "a table that was dropped": lambda hms: drop(hms, "dropped"),
    "a table that was renamed": lambda hms: alter(hms, "old_name", rename),
    "a table with a new column": lambda hms: alter(hms, "columns", add_column),
    "a table that was created anew with other keys": lambda hms: recreate(hms, "recreated"),
    "a partition that was added": lambda hms: add_partition(hms, "altered", "3"),
    "a partition that was dropped": lambda hms: drop_partition(hms, "altered", "1"),
    "a partition that was altered": lambda hms: alter_partition(hms, "altered", "2"),
    "a view": lambda hms: create_view(hms, "seen"),
    "a function": lambda hms: create_function(hms, "made"),
    "a database that was created": lambda hms: create_database(hms, "fresh"),
    "a database that was dropped": lambda hms: hms.call(lambda client: client.drop_database("doomed", True, True)),
}
"""Changes whose events are lost."""

AT_TARGET: dict[str, Callable[[Metastore], None]] = {
    "a table that somebody dropped": lambda hms: drop(hms, "gone_there"),
    "a table that somebody altered": lambda hms: alter(hms, "hand", set_parameter),
    "a partition that somebody dropped": lambda hms: drop_partition(hms, "untouched", "1"),
    "a partition that somebody added": lambda hms: add_partition(hms, "untouched", "9"),
}


@pytest.fixture
def drift(tmp_path: Path) -> Iterator[Drift]:
    with Stage(tmp_path, database="disk", source=soon_idle) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            source.call(lambda client: client.create_database(hive.Database("db", "", None, {})))
            create_database(source, "doomed")
            for name in BEFORE:
                create(source, name, "1", "2")
            assert_converges(stage, SECONDS)
            yield Drift(stage, source, target)


def lose(drift: Drift, changes: Callable[[], None]) -> None:
    """Have changes made that no event tells of: the sidecar is away, the source is killed, its spool is lost."""
    stage = drift.stage
    stage._end_sidecar(signal.SIGTERM)
    changes()
    stage.source.kill()
    files = spooled(stage.directory / "spool")
    assert files, "nothing was spooled"
    for file in files:
        file.unlink()
    stage.source.start()
    stage.start_sidecar()


def states(stage: Stage) -> list[str]:
    """Of the gaps that a listener left; there are others, such as that of a queue which has just begun."""
    return [gap["state"] for gap in stage.status()["gaps"] if "metastore" in gap["reason"]]


def assert_healed(stage: Stage, seen: set[str] | None = None) -> None:
    """A gap is found, and closed; the states that it was seen in go to `seen`."""

    def closed() -> bool:
        found = states(stage)
        if seen is not None:
            seen.update(found)
        return bool(found) and set(found) == {"closed"}

    wait_until(closed, seconds=SECONDS, what=f"the closing of the gaps {stage.status()['gaps']}")


def test_twelve_kinds_of_lost_changes_and_four_at_the_target_are_made_good(drift: Drift) -> None:
    theirs = table("db", "theirs", parameters={"owner": "somebody"})
    drift.target.call(lambda client: client.create_table(theirs))
    create_database(drift.target, "foreign")

    def changes() -> None:
        for change in AT_SOURCE.values():
            change(drift.source)
        for change in AT_TARGET.values():
            change(drift.target)

    lose(drift, changes)
    before = {it.name for it in unequal(drift.stage)}
    assert len(before) >= len(BEFORE), before
    seen: set[str] = set()
    assert_healed(drift.stage, seen)
    left = {it.name: it.result for it in unequal(drift.stage)}
    assert left == {"db.theirs": "foreign", "foreign": "foreign"}, "objects of others stay, and nothing else differs"
    assert drift.target.table("db", "theirs").parameters["owner"] == "somebody"
    assert drift.target.tables("foreign") == ["within"]
    assert drift.stage.status()["targets"][0]["parked"] == 0
    assert "closed" in seen


def test_events_go_on_while_a_gap_is_closed(drift: Drift) -> None:
    lose(drift, lambda: create(drift.source, "created", "1"))
    for number in range(20):
        create(drift.source, f"later{number}", "1")
        alter(drift.source, f"later{number}", add_column)
    drop(drift.source, "later0")
    assert_healed(drift.stage)
    assert_converges(drift.stage, SECONDS)


def test_a_listener_that_ended_in_order_leaves_no_gap(drift: Drift) -> None:
    drift.stage.source.stop()
    drift.stage.source.start()
    create(drift.source, "created")
    assert_converges(drift.stage, SECONDS)
    silence = drift.stage.config.source.silence_seconds
    started = drift.stage.status()["instances"][-1]["last_at"]
    wait_until(lambda: _now(drift.stage) > started + silence + 4, seconds=SECONDS, what="the time of a silence")
    assert states(drift.stage) == []


def _now(stage: Stage) -> float:

    assert stage.status()["pid"]
    return time.time()


def test_silence_of_a_hung_source_is_a_gap_that_closes_when_it_is_back(drift: Drift) -> None:
    with stopped(drift.stage.source.pid):
        wait_for_value(lambda: states(drift.stage), ["open"], seconds=SECONDS, what="the gap")
    assert_healed(drift.stage)
    assert_converges(drift.stage, SECONDS)
