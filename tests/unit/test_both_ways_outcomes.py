"""Both ways: what is told of an operation that the place takes in part."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.faulty import FaultySettings
from pysync.lab.memory import MemoryMetastore, MemoryStore, MemoryTarget
from pysync.model.difference import Difference
from pysync.model.home import Condition, Stance, births_of
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import (
    DropPartitions,
    DropTable,
    Operation,
    PutDatabase,
    PutPartitions,
    PutTable,
    RenameTable,
)
from pysync.targets.base import Incomplete, Outcome, Rejected
from pysync.targets.hms.store import HmsStore
from pysync.targets.store import RefusedPartition, Written
from tests.support import partition, table

NAME = TableName("db", "t")


def put(what: str, position: int) -> Operation:
    """A put of the database, the table or a partition; each position has other parameters."""
    value = {"value": str(position)}
    origin: dict[str, Any] = {"mark": Mark("east", 1, position, 100), "visited": ("east",)}
    if what == "database":
        return PutDatabase(database="db", definition=hive.Database("db", "", "/db", value), **origin)
    definition = table("db", "t", partition_keys=[("day", "string")], parameters=value)
    if what == "table":
        return PutTable(table=NAME, definition=definition, **origin)
    return PutPartitions(table=NAME, definition=definition, partitions=[partition(definition, ["1"])], **origin)


@pytest.fixture
def target() -> MemoryTarget:
    """A target with the database and the table."""
    made = MemoryTarget(FaultySettings(name="west", kind="faulty", both_ways=True), MemoryStore())
    made.apply(put("database", 1))
    made.apply(put("table", 2))
    return made


@pytest.mark.parametrize("what", ["database", "table"])
def test_an_alter_that_wrote_nothing_is_told_as_unchanged(
    what: str, target: MemoryTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert target.apply(put(what, 3)) is Outcome.APPLIED
    monkeypatch.setattr(HmsStore, f"alter_{what}", lambda *_, **__: False)
    assert target.apply(put(what, 4)) is Outcome.UNCHANGED


@pytest.mark.parametrize("both_ways", [True, False])
def test_what_the_server_ignores_of_a_database_is_not_told_as_applied(both_ways: bool) -> None:
    """HMS 2.3 alters neither description nor location; each event has another mark all the same."""
    target = MemoryTarget(FaultySettings(name="west", kind="faulty", both_ways=both_ways), MemoryStore())
    target.apply(put("database", 1))

    def described(position: int, **parameters: str) -> tuple[Outcome, list[Difference]]:
        operation = cast(PutDatabase, put("database", position))
        operation.definition.description = "new"
        operation.definition.parameters = {"value": "1", **parameters}
        target.take_differences()
        return target.apply(operation), target.take_differences()

    assert [described(at) for at in (2, 3, 3)] == [(Outcome.UNCHANGED, [])] * 3
    assert described(4, other="x") == (Outcome.APPLIED, [Difference("parameters.other", None, "x")])


@pytest.mark.parametrize("on_conflict", ["park", "adopt"])
@pytest.mark.parametrize("another", [True, False])
def test_a_table_born_at_both_ends_is_parked_with_a_hint_that_helps(on_conflict: str, another: bool) -> None:
    """Of two tables of which no alter makes one, `adopt` takes none either."""
    store = MemoryStore()
    target = MemoryTarget(FaultySettings(name="west", kind="faulty", both_ways=True, on_conflict=on_conflict), store)
    target.apply(put("database", 1))
    keys = [] if another else [("day", "string")]
    theirs = table("db", "t", partition_keys=keys, parameters={"value": "theirs"})
    MemoryMetastore(store).call(lambda client: client.create_table(theirs))
    if on_conflict == "adopt" and not another:
        assert target.apply(put("table", 2)) is Outcome.APPLIED
        return
    with pytest.raises(Rejected, match="was created both at the source and at the target") as refused:
        target.apply(put("table", 2))
    assert ("on_conflict" in refused.value.hint) is not another


@pytest.mark.parametrize("another", [True, False])
def test_a_drop_of_what_was_born_at_both_ends_is_parked_if_no_alter_makes_one(another: bool) -> None:
    """The drop stands for the create, too. Setting `on_conflict` would not help, so the hint does not name it."""
    store = MemoryStore()
    target = MemoryTarget(FaultySettings(name="west", kind="faulty", both_ways=True, on_conflict="adopt"), store)
    target.apply(put("database", 1))
    theirs = table("db", "t", partition_keys=[] if another else [("day", "string")], parameters={"value": "theirs"})
    MemoryMetastore(store).call(lambda client: client.create_table(theirs))
    born = cast(PutTable, put("table", 2))
    drop = DropTable(
        table=NAME, mark=born.mark, visited=("east",), condition=Condition(Stance.STATE, [None, born.definition])
    )
    if not another:
        assert target.apply(drop) is Outcome.APPLIED
        return
    with pytest.raises(Rejected, match="was created both at the source and at the target") as refused:
        target.apply(drop)
    assert "on_conflict" not in refused.value.hint


def test_a_database_born_here_gets_no_mark_when_its_home_becomes_another() -> None:
    """A mark would hide from clusters that have the database from here that it was born elsewhere, too."""
    store = MemoryStore()
    target = MemoryTarget(FaultySettings(name="west", kind="faulty", both_ways=True), store)
    MemoryMetastore(store).call(lambda client: client.create_database(hive.Database("db", "", "/db", {})))
    assert target.apply(put("database", 1)) is Outcome.APPLIED
    parameters = target.database("db").parameters
    assert Mark.read(parameters) is None
    assert births_of(parameters, "west") == {"east", "west"}


@pytest.mark.parametrize("what", ["drop", "put"])
def test_requests_on_different_paths_have_different_names(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one name, of two that are sent at once only one would arrive."""
    store = MemoryStore()
    target = MemoryTarget(FaultySettings(name="west", kind="faulty", both_ways=True), store)
    target.apply(put("database", 1))
    ours = table("db", "t", partition_keys=[("day", "string")], parameters={"value": "ours"})
    MemoryMetastore(store).call(lambda client: client.create_table(ours))
    names = set()
    monkeypatch.setattr(HmsStore, "broadcast", lambda _, function: names.add(function.functionName))
    seen = table("db", "t", partition_keys=[("day", "string")], parameters={"value": "older"})
    for path in (("west", "east"), ("west", "north")):
        origin: dict[str, Any] = {"mark": Mark("west", 1, 5, 100), "visited": path, "table": NAME}
        request: Operation = (
            DropPartitions(
                values=[["1", "2"]], keys=["day", "hour"], condition=Condition(Stance.REQUEST, [seen]), **origin
            )
            if what == "drop"
            else PutTable(definition=seen, condition=Condition(Stance.REQUEST, [seen]), **origin)
        )
        assert target.apply(request) is Outcome.CONFLICT
    assert len(names) == 2


@pytest.mark.parametrize(
    ("known", "is_taken", "expected"),
    [("old", False, Outcome.APPLIED), ("old", True, Outcome.CONFLICT), ("older", False, Incomplete)],
)
def test_a_requested_rename_is_done_if_table_and_name_are_as_they_were_there(
    known: str, is_taken: bool, expected: Any
) -> None:
    """Else both ends are asked to send theirs again; what the target lacks is read at the source."""
    store = MemoryStore()
    target = MemoryTarget(FaultySettings(name="west", kind="faulty", both_ways=True), store)
    target.apply(put("database", 1))
    for name in ("t", "u") if is_taken else ("t",):
        made = table("db", name, parameters={"value": "old"})
        MemoryMetastore(store).call(lambda client, made=made: client.create_table(made))
    rename = RenameTable(
        table=NAME,
        definition=table("db", "u", parameters={"value": known}),
        mark=Mark("west", 1, 5, 100),
        visited=("west", "east"),
        condition=Condition(Stance.REQUEST, [table("db", "t", parameters={"value": known})]),
    )
    if expected is Incomplete:
        with pytest.raises(Incomplete):
            target.apply(rename)
        return
    assert target.apply(rename) is expected


def test_partitions_that_are_refused_are_told(target: MemoryTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Written(any=False, refused=[RefusedPartition(("1",), Rejected("the day is not known"))])
    monkeypatch.setattr(HmsStore, "put_partitions", lambda *_: refused)
    with pytest.raises(Rejected, match=r"1 partition of db.t failed: the day is not known"):
        target.apply(put("partition", 3))
