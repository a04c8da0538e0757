"""The door: the only way to what a store writes with; what a target of any kind has changed is noted field by field."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.masking import masked
from pysync.journal.record import LONGEST_REASON, LONGEST_VALUE, MOST_FIELDS, bounded, reason_of
from pysync.lab.faulty import FaultySettings
from pysync.lab.memory import MemoryStore, MemoryTarget
from pysync.model.difference import Difference, number_of
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import (
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    RenameTable,
)
from pysync.targets import store as base
from pysync.targets.apply import door
from pysync.targets.apply.changes import MOST, Changes
from pysync.targets.apply.door import Door
from pysync.targets.base import Outcome
from tests.support import partition, table
from tests.support.events import database

NAME = TableName("db", "t")


class Place:
    """A target in memory, and the operations of one source."""

    def __init__(self, *, both_ways: bool = False) -> None:
        self.target = MemoryTarget(FaultySettings(name="dr", kind="faulty", both_ways=both_ways), MemoryStore())
        self.position = 0

    def apply(self, kind: type[Operation], **what: Any) -> list[tuple[str, Any, Any]]:
        """What the target tells of an operation."""
        self.position += 1
        self.outcome = self.target.apply(kind(mark=Mark("onprem", 1, self.position), **what))  # type: ignore[call-arg]
        return [(it.field, it.old, it.new) for it in self.target.take_differences()]

    def put(self, definition: Any) -> list[tuple[str, Any, Any]]:
        return self.apply(PutTable, table=NAME, definition=definition)

    def put_partitions(self, *parts: Any) -> list[tuple[str, Any, Any]]:
        return self.apply(PutPartitions, table=NAME, definition=keyed(), partitions=parts)


@pytest.fixture
def place() -> Place:
    place = Place()
    assert place.apply(PutDatabase, database="db", definition=database("db")) == [("database db", None, "created")]
    return place


def keyed() -> Any:
    return table("db", "t", partition_keys=[("day", "string")])


def with_comment(item: Any, comment: str) -> Any:
    copy = deepcopy(item)
    copy.parameters = {**(copy.parameters or {}), "comment": comment}
    return copy


def test_a_table_is_told_of_from_its_creation_to_its_end(place: Place) -> None:
    plain = table("db", "t")
    assert place.put(plain) == [("table db.t", None, "created")]
    assert place.put(plain) == []
    assert place.outcome is Outcome.UNCHANGED
    assert place.put(with_comment(plain, "new")) == [("parameters.comment", None, "new")]
    assert place.put(with_comment(plain, "newer")) == [("parameters.comment", "new", "newer")]
    renamed = with_comment(table("db", "u"), "newer")
    renamed.sd.location = plain.sd.location
    found = place.apply(RenameTable, table=NAME, definition=renamed)
    assert ("tableName", "t", "u") in found
    assert place.apply(DropTable, table=TableName("db", "u")) == [("table db.u", None, "dropped")]
    assert place.apply(DropTable, table=TableName("db", "u")) == []


def test_columns_are_told_one_by_one(place: Place) -> None:
    place.put(table("db", "t"))
    wider = table("db", "t")
    wider.sd.cols = [*wider.sd.cols, hive.FieldSchema("added", "string", "")]
    ((field, old, new),) = place.put(wider)
    assert (field, old) == ("sd.cols.added", None)
    assert new == {"name": "added", "type": "string"}


def test_another_table_of_the_name_is_told_as_one_that_replaces_it(place: Place) -> None:
    place.put(table("db", "t"))
    first, *others = place.put(keyed())
    assert first == ("table db.t", None, "dropped and created")
    assert "partitionKeys" in {field.partition(".")[0] for field, _, _ in others}


def test_partitions_are_counted_and_the_first_that_change_are_told(place: Place) -> None:
    place.put(keyed())
    parts = [partition(keyed(), [str(number)]) for number in range(30)]
    assert place.put_partitions(*parts) == [("30 partitions", None, "created")]
    assert place.put_partitions(*parts) == []
    found = place.put_partitions(*(with_comment(it, "x") for it in parts), partition(keyed(), ["new"]))
    assert found[0] == ("1 partition", None, "created")
    assert found[1:] == [(f"partition day={number}: parameters.comment", None, "x") for number in range(3)]
    dropped = place.apply(DropPartitions, table=NAME, keys=["day"], values=[["1"], ["2"], ["none"]])
    assert dropped == [("2 partitions", None, "dropped")]


def test_functions_and_constraints_are_told(place: Place) -> None:
    place.put(table("db", "t"))
    function = hive.Function("f", "db", "org.F", "me", 1, 1, 1, [])
    assert place.apply(PutFunction, database="db", definition=function) == [("function f", None, "created")]
    other = deepcopy(function)
    other.className = "org.G"
    assert place.apply(PutFunction, database="db", definition=other) == [("className", "org.F", "org.G")]
    assert place.apply(DropFunction, database="db", function="f") == [("function f", None, "dropped")]
    key = hive.SQLPrimaryKey("db", "t", "id", 1, "pk", False, False, True)
    assert place.apply(PutConstraint, table=NAME, columns=(key,)) == [("constraint", None, "created")]


def test_a_dropped_database_tells_of_its_tables(place: Place) -> None:
    place.put(table("db", "t"))
    assert place.apply(DropDatabase, database="db") == [
        ("table db.t", None, "dropped"),
        ("database db", None, "dropped"),
    ]


def test_what_was_not_written_is_not_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put(table("db", "t"))

    def fail(*_: object, **__: object) -> bool:
        raise ConnectionError("away")

    with monkeypatch.context() as patch:
        patch.setattr(type(place.target.store), "alter_table", fail)
        with pytest.raises(Exception, match="away"):
            place.put(with_comment(table("db", "t"), "new"))
    assert place.target.take_differences() == []
    with monkeypatch.context() as patch:
        patch.setattr(type(place.target.store), "alter_table", lambda *_, **__: False)
        assert place.put(with_comment(table("db", "t"), "new")) == []


def test_values_that_cannot_be_compared_keep_no_write_from_being_done(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.put(table("db", "t"))
    monkeypatch.setattr("pysync.targets.apply.door.fields", lambda *_: {}[0])
    assert place.put(with_comment(table("db", "t"), "new")) == [("fields", None, "cannot be compared: KeyError")]
    assert place.target.table(NAME).parameters["comment"] == "new"


WRITES = ("create_", "alter_", "replace_", "rename_", "put_", "add_", "drop_", "spread_")


APPLY = Path(door.__file__).parent
STORE = ("reads", "functions", "constraints", "statistics", "renames")
"""What a door calls its store."""


def calls_on(module: Path, *receivers: str) -> set[str]:
    """The methods that a module calls on an attribute of one of these names."""
    calls = (it.func for it in ast.walk(ast.parse(module.read_text())) if isinstance(it, ast.Call))
    methods = (it for it in calls if isinstance(it, ast.Attribute) and isinstance(it.value, ast.Attribute))
    return {it.attr for it in methods if it.value.attr in receivers}


def members_of_stores() -> dict[str, Any]:
    """The members of a store that lacks nothing."""
    return {name: member for part in (base.Store, *base.PARTS.values()) for name, member in vars(part).items()}


def test_only_the_door_calls_what_a_store_writes_with() -> None:
    written = {name for name in members_of_stores() if name.startswith(WRITES)}
    assert written < calls_on(APPLY / "door.py", *STORE)
    for module in [*APPLY.glob("*.py"), APPLY.parent / "target.py"]:
        if module.name != "door.py":
            assert not written & calls_on(module, *STORE), module
            assert not (written - set(vars(Door))) & calls_on(module, "store"), module


def test_the_door_writes_as_a_store_does_but_for_what_it_removes() -> None:
    own = {name: member for name, member in members_of_stores().items() if inspect.isfunction(member)}
    same = {name for name in own if name.startswith(WRITES) and not name.startswith("drop_")}
    for name in same:
        assert inspect.signature(vars(Door)[name]) == inspect.signature(own[name]), name


def test_no_more_than_a_few_fields_are_noted() -> None:
    changes = Changes()
    for number in range(MOST + 5):
        changes.note(Difference(str(number), None, None), Difference("again", None, None))
    taken = changes.take()
    assert len(taken) == MOST
    assert str(taken[-1].field) == f"and {2 * (MOST + 5) - MOST + 1} more", "the rest is counted"
    assert number_of(it.field for it in taken) == 2 * (MOST + 5)
    assert changes.take() == []


# --- which tables come, go or get other columns


def redefined(place: Place) -> list[str]:
    """The names that are told from now on, in order; each while it is not written yet."""
    reported: list[str] = []

    @contextmanager
    def around(names: Collection[TableName]) -> Iterator[None]:
        before = {name: place.target.table(name) for name in names}
        reported.extend(map(str, names))
        yield
        assert any(place.target.table(name) != table for name, table in before.items())

    place.target.redefining(around)
    return reported


def test_a_table_is_redefined_if_what_a_view_reads_of_it_changes(place: Place) -> None:
    reported = redefined(place)
    place.put(table("db", "t"))
    place.put(with_comment(table("db", "t"), "new"))
    assert reported == ["db.t"]
    wider = table("db", "t")
    wider.sd.cols = [*wider.sd.cols, hive.FieldSchema("added", "string", "")]
    place.put(wider)
    place.put(wider)
    assert reported == ["db.t", "db.t"]
    place.put(keyed())
    place.put_partitions(partition(keyed(), ["1"]))
    assert reported == ["db.t", "db.t", "db.t"]


def test_a_rename_redefines_both_names_and_a_drop_the_last(place: Place) -> None:
    place.put(table("db", "t"))
    reported = redefined(place)
    renamed = table("db", "u")
    renamed.sd.location = table("db", "t").sd.location
    place.apply(RenameTable, table=NAME, definition=renamed)
    place.apply(DropDatabase, database="db")
    assert reported == ["db.u", "db.t", "db.u"]


@pytest.mark.parametrize("field", ["viewOriginalText", "viewExpandedText"])
def test_a_view_is_redefined_with_its_text(place: Place, field: str) -> None:
    first, second = table("db", "t"), table("db", "t")
    for view, text in ((first, "select 1"), (second, "select 2")):
        view.tableType, view.sd.location = "VIRTUAL_VIEW", None
        view.viewOriginalText = view.viewExpandedText = "select 1"
        setattr(view, field, text)
    place.put(first)
    reported = redefined(place)
    place.put(second)
    assert reported == ["db.t"]


def test_a_format_that_has_timestamps_of_its_own_redefines_a_table(place: Place) -> None:
    place.put(table("db", "t"))
    reported = redefined(place)
    place.put(table("db", "t", parameters={"spark.sql.sources.provider": "delta"}))
    assert reported == ["db.t"]


# --- what a record shows of it

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=500)),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=5), inner, max_size=5)),
    max_leaves=10,
)


@given(st.lists(st.builds(Difference, st.text(max_size=400), VALUES, VALUES), max_size=40))
def test_every_difference_is_bounded_text(differences: list[Difference]) -> None:
    found = bounded(differences)
    assert len(found) == min(len(differences), MOST_FIELDS)
    for it in found:
        for text in (it.field, it.old, it.new):
            assert text is None or (isinstance(text, str) and len(text) <= LONGEST_VALUE)


@pytest.mark.parametrize("path", ["sd.location", "parameters.comment", "owner", "sd.cols.id", "parameters.numFiles"])
def test_what_is_no_secret_is_shown(path: str) -> None:
    assert bounded([Difference(path, "s3://bucket/db/t", 5)]) == (Difference(path, "s3://bucket/db/t", "5"),)


@given(st.one_of(st.none(), st.text(max_size=3 * LONGEST_REASON)))
def test_a_reason_is_bounded_and_keeps_its_end(text: str | None) -> None:
    found = reason_of(text)
    assert (found is None) == (not text)
    if found and text and masked(text) == text:
        assert len(found) <= LONGEST_REASON
        assert found[-100:] == text[-100:]


@pytest.fixture(autouse=True)
def _nothing_left(place: Place) -> Iterator[None]:
    yield
    assert place.target.take_differences() == []
