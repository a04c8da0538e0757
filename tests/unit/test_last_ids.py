"""`pysync.last.id`: a database at the target says up to which event id of the source's log everything is in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import ValidationError

from pysync.base.errors import PysyncError
from pysync.capture.gaps import GapWatch
from pysync.metastore.source import reading
from pysync.model.definition import LAST_ID_KEY
from pysync.model.event import Kind
from pysync.model.mark import Mark
from pysync.resync.refreshes import Refreshes
from pysync.sidecar.waiting import Capture, LastIds, ObjectStatus
from pysync.sidecar.why.ends import EndsReader
from pysync.targets.diff import same
from pysync.targets.hms import HmsSettings
from tests.support.drains import FaultyDrain, create, create_database, drop_database
from tests.support.events import database, event
from tests.support.refreshing import Hms


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[FaultyDrain]:
    with structlog.testing.capture_logs(), closing(FaultyDrain(tmp_path, exclude=["hr"])) as found:
        source = Hms("db.t", "hr.t")
        found.source = lambda: source
        found.start()
        yield found


class Log:
    """A reader of the notification log, up to the `id` that the test sets."""

    id = 7

    def status(self) -> dict[str, Any]:
        return {"position": self.id}


class Ids:
    """The worker, and what the log has."""

    def __init__(self, bench: FaultyDrain, *, has_source: bool = True) -> None:
        self.log, drain = Log(), bench.drain
        assert drain is not None
        read = Capture(bench.queue, GapWatch(bench.queue, 15.0), lambda _: frozenset(), self.log)  # type: ignore[arg-type]
        objects = ObjectStatus(bench.queue, {bench.name: drain}, read, EndsReader(None))
        self.refreshes = Refreshes(bench.queue, "onprem")
        self.worker = LastIds(
            drain, objects, self.refreshes, source=bench.source if has_source else partial(reading, None)
        )
        self.bench = bench

    def turn(self) -> str | None:
        """What the database says after a look."""
        self.worker.turn()
        self.bench.finish()
        return last_id(self.bench)


def last_id(bench: FaultyDrain, name: str = "db") -> str | None:
    found = bench.target.database(name)
    return None if found is None else (found.parameters or {}).get(LAST_ID_KEY)


def test_it_is_written_when_it_has_grown(bench: FaultyDrain) -> None:
    ids = Ids(bench)
    bench.append(create_database(), create("db.t"))
    bench.finish()
    assert last_id(bench) is None
    assert ids.turn() == "7"
    last = bench.queue.last
    assert ids.turn() == "7"
    assert bench.queue.last == last, "nothing is asked for"
    ids.log.id = 9
    assert ids.turn() == "9"
    assert Mark.read(bench.target.database("db").parameters) is not None


def test_a_change_of_the_database_keeps_it(bench: FaultyDrain) -> None:
    ids = Ids(bench)
    bench.append(create_database())
    bench.finish()
    ids.turn()
    altered = database("db", parameters={"team": "blue"})
    bench.append(lambda at: event(Kind.ALTER_DATABASE, before=[database("db")], after=[altered], sequence=at))
    bench.finish()
    assert bench.target.database("db").parameters["team"] == "blue"
    assert last_id(bench) == "7"


def test_what_is_parked_or_paused_keeps_it_from_growing(bench: FaultyDrain) -> None:
    bench.stop()
    bench.configure([{"kind": "refuse", "tables": ["db.bad"]}])
    bench.start()
    ids = Ids(bench)
    bench.append(create_database())
    bench.finish()
    ids.turn()
    bench.append(create("db.bad"))
    bench.finish()
    ids.log.id = 9
    assert ids.turn() == "7"


def test_a_database_that_is_created_anew_has_none(bench: FaultyDrain) -> None:
    ids = Ids(bench)
    bench.append(create_database())
    bench.finish()
    ids.turn()
    bench.append(drop_database(), create_database())
    bench.finish()
    assert bench.target.database("db") is not None
    assert last_id(bench) is None


def test_what_is_not_in_scope_has_none(bench: FaultyDrain) -> None:
    ids = Ids(bench)
    bench.append(create_database(), create_database("hr"))
    bench.finish()
    ids.turn()
    assert last_id(bench, "hr") is None


def test_an_id_that_the_source_has_of_its_own_source_stays_there(bench: FaultyDrain) -> None:
    chained = database("db", parameters={LAST_ID_KEY: "99"})
    bench.append(lambda at: event(Kind.CREATE_DATABASE, after=[chained], sequence=at))
    bench.finish()
    assert last_id(bench) is None


def test_it_is_no_difference() -> None:
    assert same(database("db"), database("db", parameters={LAST_ID_KEY: "7"}))


def test_without_a_source_it_says_what_is_missing(bench: FaultyDrain) -> None:
    with pytest.raises(PysyncError, match=r"\[source\] metastore is not set"):
        Ids(bench, has_source=False).worker.turn()


def test_both_ways_there_is_none() -> None:
    with pytest.raises(ValidationError, match="both_ways = true does not work with last_id_every"):
        HmsSettings(name="dr", kind="hms", metastore="thrift://a:1", both_ways=True, last_id_every="1m")
