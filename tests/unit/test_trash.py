"""The trash: what it may be combined with, its names, who ends what, and two lanes at once."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pysync.base.errors import PysyncError
from pysync.lab.faulty import FaultySettings
from pysync.model.event import Kind
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropTable
from pysync.replay.window.scope import scope_of
from pysync.sidecar import trash as trash_module
from pysync.sidecar.trash import Sweeper, Trash
from pysync.targets.apply.trash import _name
from pysync.targets.glue.settings import GlueSettings
from pysync.targets.hms import HmsSettings
from pysync.worker import Finished
from tests.support import table
from tests.support.drains import FaultyDrain, Maker, create, create_database, drop, rename
from tests.support.events import event
from tests.support.targets import FakeTarget

HMS = {"name": "dr", "kind": "hms", "metastore": "thrift://a", "drops": "trash"}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[FaultyDrain]:
    made = FaultyDrain(tmp_path, drops="trash")
    made.start()
    yield made
    made.close()


def put_into_trash(bench: FaultyDrain, *names: str) -> None:
    bench.append(create_database(), *map(create, names))
    bench.finish()
    bench.append(*map(drop, names))
    bench.finish()


def tables_in_trash(bench: FaultyDrain) -> list[str]:
    return [it["table"] for it in Trash(bench.settings).listed({})["tables"]]


def sweeper(bench: FaultyDrain, source: str = "onprem", *, later: float = 8 * 86400, paused: bool = False) -> Sweeper:
    now = max(it["at"] for it in Trash(bench.settings).listed({})["tables"])
    return Sweeper(bench.settings, source, lambda: paused, clock=lambda: now + later)


# --- settings


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        ({"both_ways": True}, "does not work with both_ways"),
        ({"delete_data": True}, "does not work with delete_data"),
        ({"trash_database": "a.b"}, "is not the name of a database"),
        ({"trash_database": ""}, "is not the name of a database"),
        ({"trash_keep": "7"}, "is not an interval"),
        ({"trash_keep": "0s"}, "is not an interval"),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], reported: str) -> None:
    HmsSettings.model_validate(HMS)
    with pytest.raises(ValidationError, match=reported):
        HmsSettings.model_validate(HMS | more)


def test_only_some_kinds_have_a_trash() -> None:
    with pytest.raises(ValidationError, match="a target of kind 'glue' has no trash"):
        GlueSettings(name="lake", kind="glue", region="eu-west-1", drops="trash")


def test_it_is_no_change_of_scope() -> None:
    applies = HmsSettings.model_validate(HMS | {"drops": "apply"})
    assert scope_of(HmsSettings.model_validate(HMS)) == scope_of(applies)


# --- names


@given(st.text(min_size=1, max_size=140), st.text(min_size=1, max_size=140), st.floats(0, 4e9))
def test_every_name_is_one_that_every_metastore_accepts(database: str, table: str, at: float) -> None:
    name = TableName.of(database, table)
    first, second = _name(name, at), _name(name, at)
    assert re.fullmatch(r"t\d{8}_\d{6}_[0-9a-f]{8}_[a-z0-9_]+", first)
    assert len(first) <= 128
    assert first != second, "of two drops in the same moment"


# --- what becomes of it


def test_drop_create_and_drop_in_one_window(bench: FaultyDrain) -> None:
    put_into_trash(bench, "db.a")
    bench.append(create("db.a"), drop("db.a"), create("db.a"))
    bench.finish()
    assert bench.tables() == ["a"]
    bench.append(drop("db.a"))
    bench.finish()
    assert set(tables_in_trash(bench)) == {"db.a"}
    assert len(tables_in_trash(bench)) >= 2


@pytest.mark.parametrize("keys", [[], [("day", "string")]])
def test_a_table_that_is_dropped_and_made_otherwise_at_once_is_kept(bench: FaultyDrain, keys: list[Any]) -> None:
    def make(keys: list[Any], created: int) -> Maker:
        wanted = table("db", "a", partition_keys=keys)
        wanted.createTime = created
        return lambda sequence: event(Kind.CREATE_TABLE, after=[wanted], sequence=sequence)

    bench.append(create_database(), make([], 10))
    bench.finish()
    bench.append(drop("db.a", created=10), make(keys, 20))
    bench.finish()
    assert (tables_in_trash(bench), bench.tables()) == (["db.a"], ["a"])
    assert len(bench.target.table(TableName("db", "a")).partitionKeys or ()) == len(keys)


def test_a_table_is_kept_from_which_another_takes_the_name(bench: FaultyDrain) -> None:
    bench.append(create_database(), create("db.a"), create("db.b"))
    bench.finish()
    bench.append(drop("db.b"), rename("db.a", "db.b"))
    bench.finish()
    assert (tables_in_trash(bench), bench.tables()) == (["db.b"], ["b"])


def test_many_lanes_at_once_make_one_database(bench: FaultyDrain) -> None:
    names = [TableName("db", f"t{number}") for number in range(20)]
    bench.append(create_database(), *(create(str(name)) for name in names))
    bench.finish()

    def dropped(name: TableName) -> str:
        return str(bench.open_target().apply(DropTable(table=name, mark=Mark("onprem", 2**50, 1))))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(dropped, names)) == ["applied"] * 20
    assert sorted(tables_in_trash(bench)) == sorted(map(str, names))


# --- when it expires


def test_the_sweeper_ends_what_has_expired(bench: FaultyDrain) -> None:
    put_into_trash(bench, "db.a", "db.b")
    sweeper(bench, later=6.9 * 86400).turn()
    assert len(tables_in_trash(bench)) == 2
    sweeper(bench).turn()
    assert tables_in_trash(bench) == []


def test_it_leaves_what_another_source_dropped_and_waits_while_paused(bench: FaultyDrain) -> None:
    put_into_trash(bench, "db.a")
    sweeper(bench, "other").turn()
    sweeper(bench, paused=True).turn()
    assert tables_in_trash(bench) == ["db.a"]


def test_two_targets_in_one_metastore_have_a_trash_each(bench: FaultyDrain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: the sweep of one removed, and its list showed, what the other's trash has in the same database."""
    put_into_trash(bench, "db.a")
    first, second = bench.settings, bench.settings.model_copy(update={"name": "second"})
    kind = trash_module.target_kind(first.kind)
    monkeypatch.setattr(trash_module, "target_kind", lambda _: SimpleNamespace(open=lambda _: kind.open(first)))
    names = [first.name, "second"]
    assert Trash(second, names).listed({})["tables"] == []
    assert Trash(second, names).empty({})["removed"] == 0
    Sweeper(second, "onprem", lambda: False, clock=lambda: time.time() + 8 * 86400, others=names).turn()
    assert [it["table"] for it in Trash(first, names).listed({})["tables"]] == ["db.a"]


def test_it_ends_at_once_in_the_middle(bench: FaultyDrain) -> None:
    put_into_trash(bench, "db.a")
    found = sweeper(bench)
    found.worker.stop()
    with pytest.raises(Finished):
        found.turn()
    assert tables_in_trash(bench) == ["db.a"]


def test_it_only_starts_where_it_has_something_to_do() -> None:
    for drops, mode, starts in (("apply", "apply", False), ("trash", "shadow", False), ("trash", "apply", True)):
        settings = FaultySettings(name="no-lanes", kind="faulty", drops=drops, mode=mode)
        found = Sweeper(settings, "onprem", lambda: True)
        found.start()
        assert found.worker.started is starts
        assert found.worker.end(60)


# --- requests


@pytest.mark.parametrize("request_", [{}, {"name": 7}, {"name": None}, {"name": ["a"]}])
def test_a_restore_needs_a_name(bench: FaultyDrain, request_: dict[str, Any]) -> None:
    with pytest.raises(PysyncError, match="is no name of a table"):
        Trash(bench.settings).restore(request_)


@pytest.mark.parametrize("older_than", [-1, True, "7d", float("nan"), [1]])
def test_an_age_must_be_a_number_of_seconds(bench: FaultyDrain, older_than: Any) -> None:
    with pytest.raises(PysyncError, match="must be a number of seconds"):
        Trash(bench.settings).empty({"older_than": older_than})


def test_a_large_trash_is_emptied_in_parts(bench: FaultyDrain, monkeypatch: pytest.MonkeyPatch) -> None:
    put_into_trash(bench, "db.a", "db.b")
    monkeypatch.setattr(trash_module, "_ANSWER_SECONDS", -1.0)
    answer = Trash(bench.settings).empty({})
    assert (answer["removed"], answer["left"]) == (0, 2)
    monkeypatch.setattr(trash_module, "_ANSWER_SECONDS", 60.0)
    assert Trash(bench.settings).empty({"older_than": 3600})["removed"] == 0
    assert Trash(bench.settings).empty({})["removed"] == 2


def test_a_target_on_no_store_has_no_trash(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kind:
        @staticmethod
        def open(_: object) -> FakeTarget:
            found = FakeTarget()
            found.close = lambda: None
            return found

    monkeypatch.setattr(trash_module, "target_kind", lambda _: Kind)
    with pytest.raises(PysyncError, match="which has no trash"):
        Trash(FaultySettings(name="t", kind="faulty")).listed({})
