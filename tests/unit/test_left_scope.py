"""What leaves the scope, by a rename at the source or by other names in pysync.toml: out_of_scope decides about it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pysync.model.event import Kind
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.replay.window.policy import Policy
from pysync.targets.hms import HmsSettings
from pysync.verify.compare import ComparedObject
from pysync.verify.findings import EXTRA
from pysync.verify.rules import Rules
from tests.support import table
from tests.support.drains import Maker, add_partition, create_database
from tests.support.events import change, event, settings
from tests.support.refreshing import ALL, Hms, Target, apply, database

NAME = TableName("db", "t")
KEPT = "db.tmp_t"
LEAVING = {"exclude": ["db.tmp_*"]}


def keyed(name: str, created: int = 1) -> Any:
    item = table(*name.split("."), partition_keys=[("day", "string")])
    item.createTime = created
    return item


def create(name: str, created: int = 1) -> Maker:
    return lambda sequence: event(Kind.CREATE_TABLE, after=[keyed(name, created)], sequence=sequence)


def drop(name: str, created: int) -> Maker:
    return lambda sequence: event(Kind.DROP_TABLE, before=[keyed(name, created)], sequence=sequence)


def rename(old: str, new: str) -> Maker:
    return lambda sequence: event(Kind.ALTER_TABLE, before=[keyed(old)], after=[keyed(new)], sequence=sequence)


def compare(**names: str) -> Maker:
    return lambda sequence: event(Kind.REFRESH, attributes=names, sequence=sequence)


LEAVES = (create_database(), create("db.t"), add_partition("db.t", "1", "2"), rename("db.t", KEPT))


def state(bench: Any) -> tuple[str, list[str]] | None:
    """Which table of the source the one at the target is a copy of, and its partitions; None if there is none."""
    there = bench.target.table(NAME)
    mark = Mark.read(there.parameters) if there is not None else None
    return None if mark is None else (mark.object, sorted(it.values[0] for it in bench.target.partitions(NAME)))


def run(bench: Any, *makers: Maker) -> Any:
    bench.append(*makers)
    if bench.drain is None:
        bench.start()
    bench.finish()
    return bench


@pytest.mark.parametrize("window", [1, 500])
def test_it_stays_as_it_is_until_another_table_gets_its_name(faulty_drains: Any, window: int) -> None:
    bench = faulty_drains(window=window, **LEAVING)
    source = Hms()
    source.add(KEPT, "1", "2", "3", created=1)
    bench.source = lambda: source
    run(bench, *LEAVES, add_partition(KEPT, "3"))
    assert state(bench) == (KEPT, ["1", "2"])
    run(bench, compare(database="db"), compare(), compare(database="db", table="t", absent="true"))
    assert state(bench) == (KEPT, ["1", "2"]), "no comparison takes it for the table that had the name"
    run(bench, create("db.t", 2))
    assert state(bench) == ("db.t", [])
    run(bench, drop("db.t", 2))
    assert (state(bench), bench.parked()) == (None, [])


def test_what_was_done_before_it_left_is_done(faulty_drains: Any) -> None:
    bench = faulty_drains(**LEAVING)
    run(bench, *LEAVES, drop(KEPT, 1), rename("db.other", KEPT))
    assert state(bench) == (KEPT, ["1", "2"])


def test_a_repeat_changes_nothing_and_one_that_is_absent_is_not_made(faulty_drains: Any) -> None:
    bench = faulty_drains(**LEAVING)
    run(bench, *LEAVES, LEAVES[-1])
    assert state(bench) == (KEPT, ["1", "2"])
    run(bench, rename("db.absent", "db.tmp_absent"))
    assert (bench.tables(), bench.parked()) == (["t"], [])


def test_it_comes_back_into_the_scope_whole(faulty_drains: Any) -> None:
    bench = faulty_drains(**LEAVING)
    source = Hms()
    source.add("db.t", "1", "3", created=1)
    bench.source = lambda: source
    run(bench, *LEAVES, rename(KEPT, "db.t"))
    assert state(bench) == ("db.t", ["1", "3"])


@pytest.mark.parametrize("window", [1, 500])
def test_it_is_dropped_if_the_settings_say_so(faulty_drains: Any, window: int) -> None:
    bench = faulty_drains(out_of_scope="drop", window=window, **LEAVING)
    assert state(run(bench, *LEAVES)) is None


def scoped(renamed: str = KEPT, after: Any = None, **values: Any) -> tuple[Kind, TableName | None] | None:
    found = Policy.of(values.pop("of", settings)(**values)).scope(
        change(Kind.ALTER_TABLE, before=[keyed("db.t")], after=[after or keyed(renamed)])
    )
    return None if found is None else (found.kind, found.left_as)


def of_hms(**values: Any) -> HmsSettings:
    return HmsSettings(name="dr", kind="hms", metastore="thrift://h", **values)


@pytest.mark.parametrize(
    ("values", "renamed", "expected"),
    [
        (LEAVING, KEPT, (Kind.DROP_TABLE, TableName("db", "tmp_t"))),
        ({"include": ["db"]}, "attic.t", (Kind.DROP_TABLE, TableName("attic", "t"))),
        ({"exclude": ["attic"]}, "attic.t", (Kind.DROP_TABLE, TableName("attic", "t"))),
        ({"exclude": ["attic"], "out_of_scope": "drop"}, "attic.t", (Kind.DROP_TABLE, None)),
        ({"exclude": ["attic"], "drops": "suppress"}, "attic.t", None),
        ({"drops": "trash"}, "pysync_trash.t", (Kind.DROP_TABLE, None)),
        ({"exclude": ["attic"], "both_ways": True}, "attic.t", (Kind.DROP_TABLE, None)),
    ],
)
def test_what_a_rename_out_of_scope_means(
    values: dict[str, Any], renamed: str, expected: tuple[Kind, TableName | None] | None
) -> None:
    assert scoped(renamed, of=of_hms, **values) == expected


def test_one_that_leaves_by_name_and_definition_at_once_is_kept_too() -> None:
    managed = keyed("db.u")
    managed.tableType, managed.parameters = "MANAGED_TABLE", {}
    kept = scoped(after=managed, include_types=["EXTERNAL_TABLE"])
    assert kept == (Kind.DROP_TABLE, TableName("db", "u"))
    managed.tableName = "t"
    assert scoped(after=managed, include_types=["EXTERNAL_TABLE"]) is None, "under the same name it just stays"


def test_verify_says_why_it_is_there() -> None:
    rules, there = Rules.of(settings(**LEAVING), "onprem"), keyed("db.t")
    compared = ComparedObject("table", "db.t", EXTRA, source="db.t")
    for of, excuse in (("db.t", ""), (KEPT, f"it left the scope as {KEPT}")):
        there.parameters = Mark("onprem", 1, 5, object=of, target="dr").parameters()
        found = rules.extra_object(compared, there)
        assert (found.result, found.excuse, found.drift) == (EXTRA, excuse, not excuse)


def test_verify_says_why_a_database_with_a_former_name_is_there() -> None:
    rules, there = Rules.of(settings(), "onprem"), database("c")
    there.parameters = Mark("onprem", 1, 5, object="db", target="dr").parameters()
    found = rules.extra_object(ComparedObject("database", "c", EXTRA, source="c"), there)
    assert (found.excuse, found.drift) == ("it left the scope as db", False)


def renamed(*, of_others: bool = False) -> Target:
    """A target that has `db` as `c`, as a former scope said."""
    target = Target()
    if of_others:
        target.there.bases["c"] = database("c")
        target.has("c.by_hand", source=None)
    target.has("c.t", copied="db.t")
    return target


def test_a_database_with_a_former_name_stays_when_another_scope_would_give_that_name() -> None:
    """`c` is no database of the source that is gone, though nothing else is mapped to `c` now."""
    target = renamed()
    apply(Hms("db.t"), target, ALL)
    assert target.dropped() == []
    apply(Hms("db.t"), target, ALL, databases={"other": "c"})
    assert target.dropped() == []


@pytest.mark.parametrize(("of_others", "dropped"), [(False, ["c.t", "c"]), (True, ["c.t"])])
@pytest.mark.parametrize("now", [{}, {"other": "c"}])
def test_it_goes_if_the_settings_say_so(now: dict[str, str], of_others: bool, dropped: list[str]) -> None:
    target = renamed(of_others=of_others)
    former = json.dumps([{"databases": {"db": "c"}}])
    apply(Hms("db.t"), target, {"former": former, "upto": "0"}, databases=now)
    assert target.dropped() == dropped


def test_only_what_may_have_left_is_read_at_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    target, read = Target(), list[TableName]()
    for name in ("db.stays", "db.tmp_t"):
        target.has(name, copied=name)
    table_of = target.table
    monkeypatch.setattr(target, "table", lambda name: read.append(name) or table_of(name))
    apply(Hms("db.stays", "db.tmp_t"), target, {"former": json.dumps([{}]), "upto": "0"}, **LEAVING)
    assert (target.dropped(), read) == (["db.tmp_t"], [TableName("db", "tmp_t")])
