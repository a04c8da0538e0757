"""Two tables of the source that would have one name at the target: the first has it, and the other never overwrites it.

However the events are divided into windows. The target is one in memory that decides as every kind does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pysync.model.event import Kind
from pysync.model.mark import OBJECT_KEY, Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutTable, RenameTable
from pysync.model.wire import encode_event
from pysync.queue import Queued
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import draft
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.translate import Translator
from tests.support import table
from tests.support.drains import (
    FaultyDrain,
    Maker,
    add_partition,
    create,
    create_database,
    create_partitioned,
    drop,
    drop_database,
    drop_partitions,
    rename,
)
from tests.support.events import database, event, settings
from tests.support.refreshing import Hms, Target, apply

Benches = Callable[..., FaultyDrain]
MERGED = {"databases": {"db": "both", "twin": "both"}}
PATTERN = {"databases": {"raw_*": "*"}}  # raw_db and db meet, if the source has both
WINDOWS = pytest.mark.parametrize("window", [1, 3, 2000])


def run(bench: FaultyDrain, *makers: Maker) -> FaultyDrain:
    """Apply the events. Two tables that want one name are in no order: the one that is to be first has its own run."""
    bench.append(*makers)
    if bench.drain is None:
        bench.start()
    bench.finish()
    return bench


def holder(bench: FaultyDrain, name: str) -> str | None:
    """Whose copy the target's table is."""
    found = bench.target.table(TableName.parse(name))
    return None if found is None else found.parameters.get(OBJECT_KEY)


def alter(name: str, **parameters: str) -> Maker:
    before, after = table(*name.split(".")), table(*name.split("."), parameters=parameters)
    return lambda sequence: event(Kind.ALTER_TABLE, before=[before], after=[after], sequence=sequence)


def property_of(bench: FaultyDrain, name: str, key: str = "by") -> str | None:
    found = bench.target.table(TableName.parse(name))
    return None if found is None else found.parameters.get(key)


BOTH = (create_database("db"), create_database("twin"))


@WINDOWS
def test_the_second_table_is_parked_and_the_first_goes_on(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, **MERGED)
    run(run(bench, *BOTH, create("db.t")), create("twin.t"), alter("db.t", by="db"), alter("twin.t", by="twin"))
    run(bench, alter("db.t", by="db again"), create("twin.u"))
    assert (holder(bench, "both.t"), property_of(bench, "both.t")) == ("db.t", "db again")
    assert holder(bench, "both.u") == "twin.u"
    assert {(position, key) for position, key, _ in bench.parked()} == {(4, "both.t@twin/t"), (6, "both.t@twin/t")}
    reason = bench.queue.target(bench.name).parked.events()[0].reason
    assert reason.startswith(f"table both.t at the target {bench.name!r} is the copy of db.t, and twin.t of the source")
    assert "give one of the two another name" in reason


@WINDOWS
def test_a_name_that_a_pattern_gives_away_meets_one_that_is_not_renamed(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, **PATTERN)
    run(bench, create_database("raw_db"), create_database("db"), create("raw_db.t"))
    run(run(bench, create("db.t")), drop("db.t"), alter("raw_db.t", by="raw"))
    assert (holder(bench, "db.t"), property_of(bench, "db.t")) == ("raw_db.t", "raw")
    assert {key for _, key, _ in bench.parked()} == {"db.t@db/t"}, "the drop waits behind the create"


@WINDOWS
def test_when_the_first_is_dropped_the_second_gets_the_name(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, **MERGED)
    run(run(bench, *BOTH, create("db.t")), create("twin.t"))
    run(bench, drop("db.t"))
    bench.restart()  # which tries what is parked
    run(bench, create_database("other"))
    assert (holder(bench, "both.t"), bench.parked()) == ("twin.t", [])


@pytest.mark.parametrize("gone", [[drop("twin.t")], [drop("twin.t"), drop_database("twin")]], ids=["table", "all"])
def test_what_is_parked_of_the_second_goes_once_that_is_dropped(faulty_drains: Benches, gone: list[Maker]) -> None:
    bench = faulty_drains(**MERGED)
    run(run(bench, *BOTH, create("db.t")), create("twin.t"))
    run(bench, *gone)
    bench.restart()  # which tries what is parked
    run(bench, create_database("other"))
    assert (bench.parked(), bench.tables("both"), holder(bench, "both.t")) == ([], ["t"], "db.t")


def test_what_is_parked_of_the_second_is_given_up_by_the_key_that_is_shown(faulty_drains: Benches) -> None:
    bench = run(run(faulty_drains(**MERGED), *BOTH, create("db.t")), create("twin.t"), alter("twin.t", by="twin"))
    ((_, key, _), *_) = bench.parked()
    assert str(TableName.parse(key)) == key, "--table reads it as it is"
    assert bench.drain is not None
    bench.drain.skip(table=key).result(60)
    assert (bench.parked(), holder(bench, "both.t")) == ([], "db.t")


@WINDOWS
def test_the_drop_of_one_database_leaves_the_tables_of_the_other(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, **MERGED)
    run(bench, *BOTH, create("db.t"), create("twin.u"), alter("db.t", by="db"), drop_database("twin"))
    assert (bench.tables("both"), property_of(bench, "both.t"), bench.parked()) == (["t"], "db", [])
    run(bench, drop_database("db"))
    assert (bench.target.database("both"), bench.parked()) == (None, [])


@WINDOWS
def test_a_table_moved_into_a_database_by_name_survives_its_drop(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, tables={"db.t": "twin.moved"})
    run(bench, *BOTH, create("db.t"), create("twin.u"), drop_database("twin"))
    assert (bench.tables("twin"), bench.parked()) == (["moved"], [])


@WINDOWS
def test_partitions_go_to_the_table_that_has_them(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, **MERGED)
    run(run(bench, *BOTH, create_partitioned("db.t")), create_partitioned("twin.t"))
    run(bench, add_partition("db.t", "1", "2"), add_partition("twin.t", "3"), drop_partitions("twin.t", "1"))
    there = {it.values[0] for it in bench.target.partitions(TableName("both", "t"))}
    assert there == {"1", "2"}


@WINDOWS
def test_a_rename_between_names_that_are_one_at_the_target_moves_the_mark(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, **MERGED)
    run(bench, *BOTH, create("db.t"), rename("db.t", "twin.t"), alter("twin.t", by="twin"))
    assert (holder(bench, "both.t"), property_of(bench, "both.t"), bench.parked()) == ("twin.t", "twin", [])
    run(bench, create("db.t"), drop("twin.t"))
    bench.restart()
    run(bench, create_database("other"))
    assert (holder(bench, "both.t"), bench.parked()) == ("db.t", [])


@WINDOWS
def test_a_rename_from_one_pattern_into_another_is_a_rename(faulty_drains: Benches, window: int) -> None:
    bench = faulty_drains(window=window, databases={"raw_*": "r_*", "ref_*": "f_*"}, tables={"raw_a.*": "r_a.old_*"})
    makers = [create_database("raw_a"), create_database("raw_b"), create_database("ref_a")]
    run(bench, *makers, create("raw_a.t"), rename("raw_a.t", "raw_b.t"), rename("raw_b.t", "ref_a.u"))
    assert [bench.tables(it) for it in ("r_a", "r_b", "f_a")] == [[], [], ["u"]]
    assert (holder(bench, "f_a.u"), bench.parked()) == ("ref_a.u", [])


def test_a_draft_orders_what_is_one_table_and_lets_go_what_is_not() -> None:
    translator = Translator.of(settings(**MERGED))
    makers = [create("db.t"), create("twin.t"), alter("db.t", by="db"), rename("db.u", "twin.u"), drop("twin.v")]
    events = [Queued(at, encode_event(make(at)), 0) for at, make in enumerate(makers, 1)]
    found = draft(events, translator, Writer(5), Blocks())
    assert [(sorted(work.keys), [type(it) for it in work.operations]) for work in found.works] == [
        (["both.t"], [PutTable]),
        (["both.t@twin/t"], [PutTable]),
        (["both.u", "both.u@twin/u"], [PutTable]),
        (["both.t"], [PutTable]),
        (["both.v@twin/v"], [DropTable]),
    ]
    moved = found.works[2].operations[0].mark
    assert (moved.object, moved.formerly, moved.rivals) == ("twin.u", "db.u", frozenset({"both.u"})), "but not db.u"


def test_what_is_out_of_scope_is_no_rival(faulty_drains: Benches) -> None:
    bench = faulty_drains(**MERGED)
    run(run(bench, *BOTH, create("db.t")), create("twin.t"))
    assert len(bench.parked()) == 1
    bench.configure(**MERGED, exclude=["db.t"])
    bench.restart()
    run(bench, create_database("other"))
    assert (holder(bench, "both.t"), bench.parked()) == ("twin.t", [])


def test_a_copy_of_what_is_excluded_now_gets_the_mark_of_its_new_object(faulty_drains: Benches) -> None:
    """A change that writes nothing else writes the mark."""
    bench = faulty_drains()
    run(bench, create_database("both"), create("both.t"))
    assert holder(bench, "both.t") == "both.t"
    bench.configure(**MERGED, exclude=["both"])
    bench.restart()
    run(bench, alter("db.t"))  # before the other: they are in no order, and the first that comes has the name
    run(bench, create("twin.t"))
    assert (holder(bench, "both.t"), [key for _, key, _ in bench.parked()]) == ("db.t", ["both.t@twin/t"])


def test_a_mark_names_the_object_unless_the_target_goes_both_ways() -> None:
    assert NameMapping.of(settings()).names_objects is True
    assert OBJECT_KEY not in Mark("onprem", 5, 1).parameters()
    mark = Mark("onprem", 5, 1, object="db.t", formerly="db.s", rivals=frozenset({"twin.t"}))
    assert mark.parameters()[OBJECT_KEY] == "db.t"
    assert Mark.read(mark.parameters()) == mark
    upstream = {OBJECT_KEY: "far.away", "mine": "1"}
    assert Mark("onprem", 5, 1).on(upstream) == {"mine": "1", **Mark("onprem", 5, 1).parameters()}


def refreshed(of: str, *, others: str, settings_: dict[str, Any], present: str = "") -> Target:
    """What a refresh of a table or database does at a target whose table both.t is that of `others`."""
    database, _, name = of.partition(".")
    target = Target()
    target.there.add("both.t", parameters=Mark("onprem", 5, 1, 100, object=others).parameters())
    names = {"database": database, **({"table": name} if name else {"present": present})}
    apply(Hms("db.t", "twin.t"), target, names, **settings_)
    return target


def test_a_refresh_says_which_table_it_is_of() -> None:
    target = refreshed("twin.t", others="db.t", settings_=MERGED)
    (put,) = [it for it in target.applied if isinstance(it, PutTable)]
    assert (put.mark.object, put.mark.rivals) == ("twin.t", frozenset({"db.t", "both.t"}))


def test_a_refresh_of_a_database_drops_only_what_no_source_database_has() -> None:
    target = refreshed("twin", others="db.t", settings_=MERGED)
    assert target.dropped() == []
    target.there.add("both.gone", parameters=Mark("onprem", 5, 1, 100, object="db.gone").parameters())
    apply(Hms("db.t", "twin.t"), target, {"database": "twin"}, **MERGED)
    assert target.dropped() == ["both.gone"]


def test_a_comparison_drops_what_a_pattern_brought_from_a_database_that_is_gone() -> None:
    source, target = Hms(), Target()
    source.bases["archive"] = database("archive")
    target.there.add("archive.old_t", parameters=Mark("onprem", 5, 1, 100, object="crm.t").parameters())
    apply(source, target, {"database": "archive"}, tables={"crm.*": "archive.old_*"})
    assert target.dropped() == ["archive.old_t"]


def test_the_rename_of_a_table_says_both_its_names() -> None:
    translator = Translator.of(settings(databases={"raw_*": "r_*"}))
    queued = Queued(1, encode_event(rename("raw_a.t", "raw_b.t")(1)), 0)
    (work,) = draft([queued], translator, Writer(5), Blocks()).works
    (operation,) = work.operations
    assert isinstance(operation, RenameTable)
    assert (operation.mark.object, operation.mark.formerly) == ("raw_b.t", "raw_a.t")


TABLES = st.sampled_from(["db.t", "twin.t", "db.u", "twin.u"])
STEPS = st.lists(
    st.builds(lambda name: ("create", name), TABLES)
    | st.builds(lambda name: ("alter", name), TABLES)
    | st.builds(lambda name: ("drop", name), TABLES)
    | st.builds(lambda old, new: ("rename", old, new), TABLES, TABLES),
    max_size=12,
)


def history(steps: list[tuple[str, ...]]) -> tuple[list[Maker], dict[str, str]]:
    """The events of those steps that a metastore would take, and the tables at the end with their property `by`."""
    makers, held = list[Maker](), dict[str, str]()
    for at, (act, name, *others) in enumerate(steps):
        if act == "create" and name not in held:
            makers.append(defined(Kind.CREATE_TABLE, None, name, by := str(at)))
            held[name] = by
        elif act == "alter" and name in held:
            makers.append(defined(Kind.ALTER_TABLE, name, name, str(at), held[name]))
            held[name] = str(at)
        elif act == "drop" and name in held:
            makers.append(drop(name))
            del held[name]
        elif act == "rename" and name in held and others[0] not in held:
            makers.append(defined(Kind.ALTER_TABLE, name, others[0], held[name], held[name]))
            held[others[0]] = held.pop(name)
    return makers, held


def defined(kind: Kind, old: str | None, new: str, by: str, was: str = "") -> Maker:
    before = [] if old is None else [table(*old.split("."), parameters={"by": was})]
    after = [table(*new.split("."), parameters={"by": by})]
    return lambda sequence: event(kind, before=before, after=after, sequence=sequence)


@hypothesis_settings(max_examples=15, deadline=None)
@given(steps=STEPS, window=st.integers(1, 6))
def test_whatever_happens_the_target_has_each_table_as_it_is_or_parks_it(
    steps: list[tuple[str, ...]], window: int
) -> None:
    makers, held = history(steps)
    with tempfile.TemporaryDirectory() as directory:
        bench = FaultyDrain(Path(directory), window=window, **MERGED)
        run(bench, *BOTH, *makers)
        bench.restart()  # which tries what is parked
        run(bench, create_database("other"))
        there = {str(name): bench.target.table(TableName("both", name)).parameters for name in bench.tables("both")}
        parked = " ".join(key for _, key, _ in bench.parked())
        bench.close()
    found = {its[OBJECT_KEY]: its["by"] for its in there.values()}
    waiting = {name for name in ("db.t", "twin.t", "db.u", "twin.u") if key_of(name) in parked.split()}
    assert {name: by for name, by in found.items() if name not in waiting} == {
        name: by for name, by in held.items() if name not in waiting
    }


def key_of(name: str) -> str:
    return NameMapping.of(settings(**MERGED)).order_key(TableName.parse(name))
