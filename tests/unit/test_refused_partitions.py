"""One partition of many that a metastore refuses: it alone is refused, and the others are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.lab.memory.partitions import PartitionCalls
from pysync.lab.memory.store import MemoryStore
from pysync.lab.memory.target import MemoryTarget
from pysync.metastore.errors import MetastoreCallFailed, MetastoreUnavailable
from pysync.model.names import TableName
from pysync.targets.base import Forbidden, Incomplete, Outcome, OutcomeUnknown, Rejected, Unavailable, kind_of
from pysync.targets.hms import HmsSettings
from tests.conformance.objects import Source, columns, partition, table
from tests.support import wait_until
from tests.support.drains import add_partition, create_database, create_partitioned

NAME = TableName("db", "t")
NO_FILE_SYSTEM = 'java.io.IOException: Got exception: UnsupportedFileSystemException No FileSystem for scheme "x"'
NO_HOST = "java.lang.IllegalArgumentException: java.net.UnknownHostException: old-nn"
DENIED = "Permission denied: user=hive, access=WRITE"
_WRITES = ("add_partitions_req", "alter_partitions_with_environment_context", "drop_partitions_req")


class Place:
    """A metastore in memory. A writing call about a partition of `bad` fails with `refusal`; `calls` counts all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refusal: Exception = hive.MetaException(NO_FILE_SYSTEM)
        self.bad: set[str] = set()
        self.calls = 0
        self.before_call: Callable[[], object] = lambda: None
        for name in _WRITES:
            monkeypatch.setattr(PartitionCalls, name, self._asked(getattr(PartitionCalls, name)))
        self.target = MemoryTarget(HmsSettings(name="dr", kind="hms", metastore="thrift://h"), MemoryStore())
        self.source = Source()
        self.table = table(NAME, "file:/db/t", keys=["k"])
        self.target.apply(self.source.put_database("db", "file:/db"))
        self.target.apply(self.source.put_table(self.table))

    def put(self, number: int = 20, *, at: str = "file:/db/t", fresh: bool = False) -> Outcome:
        """Put the partitions 00, 01, … into this directory."""
        items = [partition(self.table, [value], location=f"{at}/{value}") for value in names(most=number)]
        return self.target.apply(replace(self.source.put_partitions(self.table, *items), fresh=fresh))

    def there(self, at: str = "file:/db/t") -> list[str]:
        """The partitions that are there, in this directory."""
        return sorted(it.values[0] for it in self.target.partitions(NAME) if it.sd.location.startswith(at))

    def _asked(self, plain: Any) -> Any:
        def call(client: PartitionCalls, *args: Any) -> Any:
            self.calls += 1
            self.before_call()
            items = args[2] if len(args) > 1 else args[0].parts
            asked = [
                it.partition("=")[2] if isinstance(it, str) else it.values[0] for it in getattr(items, "names", items)
            ]
            if self.bad.intersection(asked):
                raise self.refusal
            return plain(client, *args)

        return call


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(monkeypatch)


def parked(bench: Any) -> set[tuple[str, int]]:
    """Why events are parked, and after how many tries."""
    return {(it.kind, it.attempts) for it in bench.queue.target(bench.name).parked.events()}


def names(*without: int, most: int = 20) -> list[str]:
    return [f"{number:02}" for number in range(most) if number not in without]


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("text", [NO_FILE_SYSTEM, NO_HOST])
def test_one_of_twenty_is_refused_and_the_others_are_added(place: Place, text: str, fresh: bool) -> None:
    place.bad, place.refusal = {"07"}, hive.MetaException(text)
    with pytest.raises(Rejected, match=r"^1 partition of db\.t failed: partition k=07: ") as refused:
        place.put(fresh=fresh)
    assert kind_of(refused.value) == "rejected"
    assert place.there() == names(7)


def test_one_of_twenty_is_refused_and_the_others_are_altered(place: Place) -> None:
    place.put()
    place.bad = {"07", "19"}
    with pytest.raises(Rejected, match=r"^2 partitions of db\.t failed: partition k=07: .*; partition k=19: "):
        place.put(at="file:/new")
    assert place.there("file:/new") == names(7, 19)
    place.bad = set()
    assert place.put(at="file:/new") == Outcome.APPLIED
    assert place.there("file:/new") == names()


def test_one_of_twenty_is_refused_and_the_others_are_dropped(place: Place) -> None:
    place.put()
    place.bad = {"07"}
    with pytest.raises(Rejected, match=r"^1 partition of db\.t failed: partition k=07: "):
        place.target.apply(place.source.drop_partitions(place.table, *([value] for value in names())))
    assert place.there() == ["07"]


def test_one_of_twenty_is_refused_and_the_others_get_the_columns_of_their_table(place: Place) -> None:
    place.put()
    place.bad = {"07"}
    with pytest.raises(Rejected, match=r"^1 partition of db\.t failed: partition k=07: "):
        place.target.store.spread_columns(place.table, columns(("a:int", "b:string", "c:int")))
    assert sorted(it.values[0] for it in place.target.partitions(NAME) if len(it.sd.cols) == 3) == names(7)


def test_the_batches_after_a_refusal_are_written_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(place.target.store), "batch", 10)
    place.bad = {"07"}
    place.refusal = hive.InvalidObjectException("Invalid column type")
    with pytest.raises(Rejected, match="partition k=07: Invalid column type"):
        place.put(45)
    assert place.there() == names(7, most=45)
    place.bad = {"08"}
    with pytest.raises(Rejected, match="partition k=08: Invalid column type"):
        place.target.apply(place.source.drop_partitions(place.table, *([value] for value in names(most=45))))
    assert place.there() == ["08"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MetastoreUnavailable("no"), Unavailable),
        (MetastoreCallFailed("no answer"), OutcomeUnknown),
        (hive.MetaException("Got exception: java.net.ConnectException Connection refused"), Unavailable),
        (RuntimeError("ours"), RuntimeError),
    ],
)
def test_an_error_that_may_pass_or_is_ours_is_asked_once(place: Place, error: Exception, kind: type[Exception]) -> None:
    place.bad, place.refusal = set(names()), error
    with pytest.raises(kind) as raised:
        place.put()
    assert (type(raised.value), place.calls) == (kind, 1)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (hive.MetaException(NO_FILE_SYSTEM), Rejected),
        (hive.MetaException(NO_HOST), PysyncError),
        (hive.MetaException(DENIED), Forbidden),
        (hive.InvalidObjectException("Invalid column type"), Rejected),
    ],
)
def test_where_nothing_is_taken_the_error_keeps_its_kind_and_few_calls_are_made(
    place: Place, error: Exception, kind: type[PysyncError]
) -> None:
    place.bad, place.refusal = set(names(most=500)), error
    with pytest.raises(kind, match=r"10 partitions of db\.t failed") as raised:
        place.put(500)
    assert (type(raised.value), place.there()) == (kind, [])
    assert place.calls < 60, "some 30 calls until ten are refused, twice if another client may be the cause"


def test_one_that_is_forbidden_waits_alone(place: Place) -> None:
    place.bad, place.refusal = {"07"}, hive.MetaException(DENIED)
    with pytest.raises(Forbidden, match=r"1 partition of db\.t failed"):
        place.put()
    assert place.there() == names(7)


def test_what_another_client_has_dropped_meanwhile_is_decided_again(place: Place) -> None:
    place.put()

    def drops() -> None:
        place.before_call = lambda: None
        request = hive.DropPartitionsRequest("db", "t", hive.RequestPartsSpec(names=["k=07"]), ifExists=True)
        place.target.store.hms.call(lambda client: client.drop_partitions_req(request))

    place.before_call = drops
    assert place.put(at="file:/new") == Outcome.APPLIED
    assert place.there("file:/new") == names()


def test_a_table_that_another_client_has_dropped_meanwhile_is_missing(place: Place) -> None:
    def drops() -> None:
        place.before_call = lambda: None
        place.target.store.hms.call(lambda client: client.drop_table_with_environment_context("db", "t", False, None))

    place.before_call = drops
    with pytest.raises(Incomplete):
        place.put()


@pytest.mark.parametrize("text", [NO_FILE_SYSTEM, NO_HOST])
def test_it_is_parked_as_refused_by_the_target_also_when_it_is_tried_alone(
    faulty_drains: Any, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    bench = faulty_drains(retry_attempts=2)
    refusing = Place(monkeypatch)
    refusing.bad, refusing.refusal = {"07"}, hive.MetaException(text)
    bench.append(create_database(), create_partitioned("db.t"), *(add_partition("db.t", it) for it in names()))
    bench.start()
    wait_until(lambda: ("rejected", 1) in parked(bench), what="the refusal")
    bench.restart()
    wait_until(lambda: ("rejected", 2) in parked(bench), what="the refusal of what is tried alone")
    assert {kind for kind, _ in parked(bench)} <= {"rejected", "waits"}
    assert sorted(it.values[0] for it in bench.target.partitions(NAME)) == names(7)
