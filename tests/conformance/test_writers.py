"""Objects that another target of the same queue has written, and those of another queue of the same source.

The first are another's, and stay. The second may be newer or older than an event: no number tells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import pytest

from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import Operation
from pysync.targets.base import Outcome, Rejected, Target, WrittenByAnother
from tests.conformance.harness import BOTH_WAYS, TargetHarness, needs_marks
from tests.conformance.objects import Source, partition, table

Op = TypeVar("Op", bound=Operation)
EPOCH = 1
DR = Writer(EPOCH, 7, {3: 10, 5: 20}, "dr", frozenset({"archive"}))
ARCHIVE = replace(DR, target="archive", others=frozenset({"dr"}))


def by(writer: Writer, operation: Op, **mark: Any) -> Op:
    """The operation with a mark of that writer."""
    own = {"epoch": writer.epoch, "life": writer.life, "target": writer.target, "writer": writer}
    return replace(operation, mark=replace(operation.mark, **own, **mark))


def by_of(target: Target, name: TableName) -> str:
    return str(target.table(name).parameters.get("by"))


@pytest.mark.parametrize("on_conflict", ["park", "adopt"])
def test_an_object_of_another_target_stays(
    harness: TargetHarness, source: Source, name: TableName, location: str, on_conflict: str
) -> None:
    needs_marks(harness, "a mark does not name the target")
    target = harness.open(on_conflict=on_conflict)
    theirs = table(name, location, keys=["k"], parameters={"by": "archive"})
    ours = table(name, location, keys=["k"], parameters={"by": "dr"})
    target.apply(by(ARCHIVE, source.put_table(theirs, born=True), object="tiny.t"))
    target.apply(by(ARCHIVE, source.put_partitions(theirs, partition(theirs, ["1"])), object="tiny.t"))
    puts: list[Any] = [source.put_table(ours), source.put_partitions(ours, partition(ours, ["2"]))]
    for operation in puts:
        with pytest.raises(Rejected, match=r"is where the target 'archive' has its copy of tiny\.t"):
            target.apply(by(DR, operation, object=str(name)))
    drops: list[Any] = [
        source.drop_partitions(ours, ["1"]),
        source.drop_table(name),
        source.drop_database(name.database),
    ]
    for operation in drops:
        target.apply(by(DR, operation, object=operation.mark.object))
    assert by_of(target, name) == "archive"
    assert [it.values for it in target.partitions(name)] == [["1"]]
    assert target.apply(by(ARCHIVE, source.drop_table(name), object="tiny.t")) == Outcome.APPLIED


def test_what_a_target_of_a_former_name_wrote_is_taken_over(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    former = replace(DR, target="no longer in pysync.toml")
    target.apply(by(former, source.put_table(table(name, location, parameters={"by": "former"}))))
    changed = source.put_table(table(name, location, parameters={"by": "dr"}))
    assert target.apply(by(DR, changed)) == Outcome.APPLIED
    assert target.table(name).parameters["pysync.target"] == "dr"


UNKNOWN = {
    "another queue, begun later": Mark("onprem", EPOCH + 1, 999, life=7),
    "another queue, begun earlier": Mark("onprem", EPOCH - 1, 1, life=7),
    "behind the end of a life that ended": Mark("onprem", EPOCH, 21, life=5),
    "a life after an older copy was put back": Mark("onprem", EPOCH, 999, life=6),
}


@pytest.mark.parametrize("there", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_an_event_has_no_order_with_is_overwritten_once_the_source_was_read(
    harness: TargetHarness, source: Source, name: TableName, location: str, there: Mark
) -> None:
    target, written = harness.open(), replace(there, created=10)
    other = table(name, location, parameters={"by": "another"})
    target.apply(replace(source.put_table(other), mark=written))
    reported = by(DR, source.put_table(table(name, location, parameters={"by": "event"}), at=30))
    if BOTH_WAYS in harness.features:  # the home's state counts
        assert [target.apply(reported), target.apply(reported), by_of(target, name)] == [
            "applied",
            "unchanged",
            "event",
        ]
        return
    with pytest.raises(WrittenByAnother, match="was written by another queue of this source"):
        target.apply(reported)
    assert by_of(target, name) == "another"
    same = by(DR, source.put_table(other, at=30))
    assert target.apply(same) == Outcome.UNCHANGED
    read = replace(reported, is_current=True)
    assert [target.apply(read), target.apply(read)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert by_of(target, name) == "event"


@pytest.mark.parametrize("there", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_drop_takes_what_it_has_no_order_with_unless_it_was_created_later(
    target: Target, source: Source, name: TableName, location: str, there: Mark
) -> None:
    for created, outcome in ((11, Outcome.STALE), (10, Outcome.APPLIED)):
        target.apply(replace(source.put_table(table(name, location)), mark=replace(there, created=created)))
        assert target.apply(by(DR, source.drop_table(name))) == outcome


@pytest.mark.parametrize("there", [Mark("onprem", EPOCH, 20, life=5), Mark("onprem", EPOCH, 20, life=7)])
def test_an_event_that_comes_again_after_a_restart_changes_nothing(
    target: Target, source: Source, name: TableName, location: str, there: Mark
) -> None:
    written = replace(there, created=10)
    target.apply(replace(source.put_table(table(name, location, parameters={"by": "later"})), mark=written))
    again = by(DR, source.put_table(table(name, location, parameters={"by": "earlier"}), at=19))
    assert target.apply(again) == Outcome.STALE
    assert by_of(target, name) == "later"
