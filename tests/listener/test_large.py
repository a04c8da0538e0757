"""Large events: a bounded share of the metastore's heap, whatever a client does; beyond it the table's name alone.

The JVM here has 256 MiB, and ends with its first OutOfMemoryError, as metastores are set up to do.
"""

from __future__ import annotations

import pytest

from tests.listener.driver import MIB, Place
from tests.listener.stand import database_in

LARGE = 60
"""MiB of the largest event; it took ten times as much."""
_WHOLE = 31
"""MiB of an event that is sent whole, where there is heap enough."""
_ROOMY = str(1 << 30)


@pytest.fixture(autouse=True)
def _strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:+ExitOnOutOfMemoryError")


def test_an_event_beyond_the_bound_tells_of_its_table(place: Place) -> None:
    place.bridge.start()
    driver = place.driver(spool_max_bytes=_ROOMY)
    driver.ask("partitions", "small", 3, 100)
    driver.ask("partitions", "large", LARGE, MIB)
    driver.create("after")
    place.wait_for_count(3)
    small, large, after = place.bridge.events
    assert (small.kind, len(small.after), after.kind) == ("ADD_PARTITION", 3, "CREATE_DATABASE")
    assert (large.kind, large.table, large.before, large.after) == ("TABLE_CHANGED", None, [], [])
    reported = {key: large.attributes[key] for key in ("database", "table", "created", "kind")}
    assert reported == {"database": "db", "table": "large", "created": "1700000000", "kind": "ADD_PARTITION"}
    assert [event.sequence for event in place.bridge.events] == [1, 2, 3]
    assert place.log_lines("events are lost") == []


@pytest.mark.crash
def test_one_that_is_of_no_table_is_counted_as_lost(place: Place) -> None:
    place.bridge.start()
    driver = place.driver(spool_max_bytes=_ROOMY)
    driver.create("large", 20 * MIB)
    driver.create("after")
    place.wait_for_count(1)
    assert [(database_in(event), event.sequence) for event in place.bridge.events] == [("after", 2)]
    assert len(place.log_lines("events are lost, 1 so far")) == 1


@pytest.mark.crash
def test_an_event_below_the_bound_comes_whole(place: Place) -> None:
    place.bridge.start()
    driver = place.driver(spool_max_bytes=_ROOMY)
    driver.ask("partitions", "large", 14, MIB)
    driver.create("after")
    place.wait_for_count(2)
    assert [event.kind for event in place.bridge.events] == ["ADD_PARTITION", "CREATE_DATABASE"]
    assert len(place.bridge.events[0].after) == 14


def test_what_a_larger_metastore_spooled_is_delivered_by_a_smaller_one(place: Place) -> None:
    """Else it brings that down at each of its starts."""
    place.heap = "1g"
    driver = place.driver(spool_max_bytes=_ROOMY)
    driver.ask("partitions", "large", _WHOLE, MIB)
    driver.kill()
    assert place.spool_bytes() > _WHOLE * MIB
    place.heap = "160m"
    place.bridge.start()
    driver = place.driver(spool_max_bytes=_ROOMY)
    driver.create("after")
    place.wait_for_count(2)
    large, after = place.bridge.events
    assert (large.kind, len(large.after), database_in(after)) == ("ADD_PARTITION", _WHOLE, "after")
    assert driver.process.poll() is None
