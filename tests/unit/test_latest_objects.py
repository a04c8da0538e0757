"""What the latest events say of the source's objects, and what of the source contradicts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.capture.latest_objects import LatestObjects
from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.names import TableName
from tests.support import partition, table
from tests.support.events import change, database

OLDER = "is as it was before its latest event"
MISSING = "is not there, though no event says that it was dropped"
BACK = "is there, though an event says that it was dropped"


def made(name: str = "t", created: int = 100, **parameters: str) -> Any:
    found = table("db", name, partition_keys=[("day", "string")], parameters=parameters)
    found.createTime = created
    return found


def day(value: str, **parameters: str) -> Any:
    found = partition(made(), [value])
    found.parameters = parameters
    return found


def created(*tables: Any) -> list[Change]:
    return [change(Kind.CREATE_TABLE, after=[it]) for it in tables]


def altered(before: Any, after: Any, **fields: Any) -> Change:
    return change(Kind.ALTER_TABLE, before=[before], after=[after], **fields)


def of_partitions(kind: Kind, *, before: Sequence[Any] = (), after: Sequence[Any] = ()) -> Change:
    return change(kind, of=made(), before=before, after=after)


def contradictions(changes: Sequence[Change], found: dict[str, Any]) -> dict[str, str]:
    objects = LatestObjects()
    for it in changes:
        objects.note(it)
    there = {str(it): it.contradiction(found.get(str(it))) for it in objects.states if it.certain}
    return {name: why for name, why in there.items() if why}


ALTERS = [altered(made(v=str(number)), made(v=str(number + 1))) for number in range(3)]
RENAME = altered(made("t"), made("u"))
ADD = of_partitions(Kind.ADD_PARTITION, after=[day("1"), day("2")])


@pytest.mark.parametrize(
    ("changes", "found", "wrong"),
    [
        (created(made()), {"db.t": made()}, {}),
        (created(made()), {}, {"db.t": MISSING}),
        (created(made(created=200)), {"db.t": made(created=100)}, {"db.t": OLDER}),
        (created(made(created=200)), {"db.t": made(created=300)}, {}),
        (ALTERS, {"db.t": made(v="3")}, {}),
        (ALTERS, {"db.t": made(v="2")}, {"db.t": OLDER}),
        (ALTERS, {"db.t": made(v="0")}, {"db.t": OLDER}),
        (ALTERS, {"db.t": made(v="9")}, {}),  # altered since
        ([*ALTERS, altered(made(v="3"), made(v="1"))], {"db.t": made(v="1")}, {}),
        # A client may send any createTime with an alter.
        ([altered(made(v="1"), made(created=500, v="2"))], {"db.t": made(v="2")}, {}),
        ([altered(made(v="1"), made(created=0, v="2"))], {"db.t": made(v="2")}, {}),
        ([change(Kind.DROP_TABLE, before=[made()])], {}, {}),
        ([change(Kind.DROP_TABLE, before=[made()])], {"db.t": made()}, {"db.t": BACK}),
        ([change(Kind.DROP_TABLE, before=[made()])], {"db.t": made(created=101)}, {}),
        ([RENAME], {"db.u": made("u")}, {}),
        ([RENAME], {"db.t": made("t")}, {"db.t": BACK, "db.u": MISSING}),
        ([ADD], {"db.t/day=2": day("2")}, {}),
        ([ADD], {}, {"db.t/day=2": MISSING}),
        ([ADD, of_partitions(Kind.DROP_PARTITION, before=[day("2"), day("1")])], {}, {}),
        ([ADD, of_partitions(Kind.ALTER_PARTITION, before=[day("2")], after=[day("3")])], {"db.t/day=3": day("3")}, {}),
        ([ADD, RENAME], {"db.u": made("u")}, {}),
        (
            [of_partitions(Kind.DROP_PARTITION, before=[day("1")]), ADD],
            {"db.t/day=1": day("1"), "db.t/day=2": day("2")},
            {},
        ),
        ([ADD, change(Kind.DROP_TABLE, before=[made()])], {"db.t/day=2": day("2")}, {"db.t/day=2": BACK}),
        ([change(Kind.CREATE_DATABASE, after=[database("db")])], {}, {"db": MISSING}),
        (
            [*created(made()), change(Kind.DROP_DATABASE, before=[database("db")])],
            {"db": database("db"), "db.t": made()},
            {"db": BACK, "db.t": BACK},
        ),
        ([change(Kind.CREATE_FUNCTION, after=[hive.Function("f", "db", "C", "ann", 1, 0, 1, [])])], {}, {}),
    ],
)
def test_what_is_older_than_its_latest_event_contradicts_it(changes, found, wrong):
    assert contradictions(changes, found) == wrong


@pytest.mark.parametrize(("milliseconds", "wrong"), [(4999, {}), (5000, {"db.t": MISSING})])
@pytest.mark.parametrize("other", [{"attributes": {"thread": "2"}}, {"instance": "jvm-2"}])
def test_of_two_threads_at_once_nobody_knows_which_came_last(other, milliseconds, wrong):
    drop = change(Kind.DROP_TABLE, before=[made()], time_ms=10_000, attributes={"thread": "1"})
    create = change(
        Kind.CREATE_TABLE, after=[made()], time_ms=10_000 + milliseconds, **({"attributes": {"thread": "1"}} | other)
    )
    assert contradictions([drop, create], {}) == wrong


@pytest.mark.parametrize(("milliseconds", "wrong"), [(4999, {}), (5000, {"db.t/day=2": BACK})])
def test_a_partition_of_another_thread_may_be_of_the_table_that_is_created_again(milliseconds, wrong):
    add = change(Kind.ADD_PARTITION, of=made(), after=[day("2")], time_ms=10_000, attributes={"thread": "2"})
    drop = change(Kind.DROP_TABLE, before=[made()], time_ms=10_000 + milliseconds, attributes={"thread": "1"})
    assert contradictions([add, drop], {"db.t/day=2": day("2")}) == wrong


def test_a_table_in_doubt_contradicts_nothing_until_its_next_event():
    objects = LatestObjects()
    objects.note(created(made())[0])
    objects.doubt(TableName("db", "t"))
    assert not any(it.certain for it in objects.states)
    objects.note(ALTERS[0])
    assert [(str(it), it.certain) for it in objects.states] == [("db.t", True)]


def test_the_twenty_latest_objects_are_remembered():
    objects = LatestObjects()
    for number in range(25):
        objects.note(created(made(f"t{number}"))[0])
    first = objects.states[0]
    objects.forget_oldest([first])
    assert [str(it) for it in objects.states] == ["db.t0", *(f"db.t{number}" for number in range(5, 25))]
