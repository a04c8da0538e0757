"""The brake: what a target may remove, what is held object by object, and when a hold ends."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from structlog.testing import capture_logs

from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.replay.window.scope import scope_of
from pysync.sidecar import held
from tests.support import table, wait_until
from tests.support.braking import (
    HALF,
    OLD,
    TABLES,
    at_once,
    compared,
    decide,
    filled,
    held_by,
    names,
    one_by_one,
    reason_of,
    refreshed,
    wait_for_held,
)
from tests.support.drains import (
    add_partition,
    create,
    create_database,
    create_partitioned,
    drop,
    drop_database,
    drop_partitions,
    rename,
)
from tests.support.events import event
from tests.support.refreshing import Hms

# --- what is held, and what goes on


def test_what_exceeds_a_limit_is_held_and_everything_else_goes_on(faulty_drains):
    """Before: the whole target stood still until somebody decided."""
    bench = filled(faulty_drains, max_drops_per_window=3)
    at_once(bench, create("db.new"), *map(drop, TABLES), create_database("other"), create("other.t"))
    assert held_by(bench) == TABLES
    assert sorted(bench.tables()) == ["new", *names(*TABLES)]
    assert bench.tables("other") == ["t"]
    assert reason_of(bench) == "max_drops_per_window is 3"
    bench.append(create("db.later"))
    bench.finish()
    assert "later" in bench.tables()
    assert {kind for _, _, kind in bench.parked()} == {"held"}


def test_what_is_held_holds_nothing_of_what_comes_later(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    bench.append(create_database("other"), create("other.t"))
    at_once(bench, *map(drop, TABLES))
    at_once(bench, drop("other.t"))
    assert (held_by(bench), bench.tables("other")) == (TABLES, [])


def test_a_hold_says_all_of_its_objects(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    at_once(bench, *map(drop, TABLES))
    listed = held.listed(bench.drain)
    assert [it["object"] for it in listed["objects"]] == TABLES
    status = held.brake_status(bench.drain)
    assert (status["drops"], status["summary"]) == (6, "6 tables of db")
    assert status["objects"] == [f"table {name}" for name in TABLES]
    assert [it.outcome for it in bench.records if it.outcome == "held"] == ["held"] * 6


@pytest.mark.parametrize(
    "limits",
    [{"max_drops_per_window": 5}, {"max_drops": "5 per 1h"}, {"max_drop_share_from": 6}],
    ids=["of a window", "over time", "share"],
)
def test_a_dropped_database_counts_its_tables_and_is_held_before_the_first_is_gone(faulty_drains, limits):
    bench = filled(faulty_drains, **limits)
    for name in TABLES:  # as HMS announces DROP DATABASE … CASCADE
        bench.append(drop(name, int(time.time()), attributes={"uncommitted": "true"}))
        bench.finish()
    bench.append(drop_database())
    bench.finish()
    wait_for_held(bench, "db", *TABLES)
    assert len(bench.tables()) == 6
    assert held.brake_status(bench.drain)["summary"] == "database db with 6 tables"
    decide(bench)
    assert bench.target.database("db") is None
    assert bench.drain.brake.held() == []


def test_functions_count(faulty_drains):
    """Before: they were not counted, so that a database lost all of them unasked."""
    bench = filled(faulty_drains, max_drops_per_window=2)
    for number in range(4):
        bench.append(lambda sequence, n=number: event(Kind.CREATE_FUNCTION, after=[a_function(n)], sequence=sequence))
    bench.finish()
    at_once(
        bench,
        *(
            lambda sequence, n=number: event(Kind.DROP_FUNCTION, before=[a_function(n)], sequence=sequence)
            for number in range(4)
        ),
    )
    assert held_by(bench) == [f"db.f{number}()" for number in range(4)]
    assert len(bench.target.functions("db")) == 4


def a_function(number: int) -> Any:
    return hive.Function(functionName=f"f{number}", dbName="db", className="a.B", resourceUris=[], createTime=1)


def test_tables_that_are_renamed_into_a_database_go_with_it_only_if_a_person_says_so(faulty_drains):
    """Before: the target was asked for the tables of `attic` while they had their old names, so that all were gone."""
    bench = filled(faulty_drains, **HALF)
    at_once(
        bench,
        create_database("attic"),
        *(rename(name, name.replace("db.", "attic.")) for name in TABLES),
        drop_database("attic"),
    )
    # `attic` is young, but its tables are old.
    assert held_by(bench) == ["attic", *(name.replace("db.", "attic.") for name in TABLES)]
    assert bench.tables("attic") == names(*TABLES)
    decide(bench, keep=True)
    assert bench.tables("attic") == names(*TABLES)


def test_partitions_of_one_window_are_held_together(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_partitioned("db.p"), add_partition("db.p", "1", "2", "3", "4"))
    bench.finish()
    at_once(bench, drop_partitions("db.p", "1", "2", "3"))
    assert held_by(bench) == [f"db.p/day={day}" for day in "123"]
    bench.append(add_partition("db.p", "5"))
    bench.finish()
    bench.drain.decide(["db.p/day=1"], keep=True)
    bench.drain.decide(["db.p/day=2", "db.p/day=3"], keep=False)
    wait_until(lambda: bench.parked() == [], what="the drops")
    assert bench.target.partition_names(TableName("db", "p")) == ["day=1", "day=4", "day=5"]


def test_partitions_that_a_table_loses_because_it_is_made_anew_count(faulty_drains):
    """Before: DROP TABLE and CREATE TABLE in one window counted as one drop, whatever was in the table."""
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_partitioned("db.p"), add_partition("db.p", "1", "2", "3"))
    bench.finish()
    at_once(bench, drop("db.p"), create_partitioned("db.p"))
    assert held_by(bench) == ["db.p/*"]
    assert len(bench.target.partition_names(TableName("db", "p"))) == 3
    bench.append(add_partition("db.p", "1", "2"))
    bench.finish()
    decide(bench)
    assert bench.target.partition_names(TableName("db", "p")) == ["day=1", "day=2"]


# --- a hold ends by itself when its reason ends


def test_a_database_that_is_dropped_and_made_again_is_not_held_for_ever(faulty_drains):
    """Before: 15 tables dropped and made again 4 s later were held until somebody decided, with an untrue text."""
    bench = filled(faulty_drains, **HALF)
    bench.append(drop_database())
    bench.finish()
    wait_for_held(bench, "db", *TABLES)
    bench.append(create_database(), *map(create, TABLES))
    bench.finish()
    wait_until(lambda: (held_by(bench), bench.parked()) == ([], []), what="the end of the hold")
    assert len(bench.tables()) == 6


def test_what_the_source_has_again_is_no_loss_though_its_events_are_not_here_yet(faulty_drains):
    bench = filled(faulty_drains, **HALF)
    source = Hms(*TABLES)
    bench.source = lambda: source
    bench.restart()
    bench.append(drop_database())
    bench.finish()
    assert (held_by(bench), bench.parked()) == ([], [])


def test_new_tables_do_not_wait_for_the_former_ones_of_a_database_made_again(faulty_drains):
    """Before: nothing in the database was applied until somebody had decided about the former tables."""
    bench = filled(faulty_drains, **HALF)
    at_once(bench, drop_database(), create_database(), create("db.new"))
    wait_for_held(bench, *TABLES)
    assert bench.tables() == sorted(names(*TABLES, "db.new"))
    bench.append(create("db.later"))
    bench.finish()
    assert "later" in bench.tables()
    decide(bench)
    assert bench.tables() == ["later", "new"]


def test_new_tables_do_not_wait_for_a_held_one_of_a_database_dropped_behind_it(faulty_drains):
    """Before: the drop of the database stayed parked for all of it, so that new tables waited for each next retry."""
    bench = filled(faulty_drains, max_drops="2 per 1h", max_drop_share=0)
    one_by_one(bench, *TABLES[:3])
    assert held_by(bench) == TABLES[2:3]
    bench.append(drop_database(), create_database(), create("db.new"))
    bench.finish()
    wait_until(lambda: {key for _, key, _ in bench.parked()} == set(TABLES[2:]), what="what is held, and no more")
    assert bench.tables() == ["new", "t2", "t3", "t4", "t5"]
    bench.append(create("db.later"))
    bench.finish()
    assert "later" in bench.tables()
    decide(bench, TABLES[2], keep=True)
    decide(bench, *TABLES[3:])
    assert bench.tables() == ["later", "new", "t2"]


def test_the_drop_of_a_database_that_a_person_lets_through_takes_nothing_newer(faulty_drains):
    """Its event comes after those of the database that was made again."""
    bench = filled(faulty_drains, **HALF)
    bench.append(drop_database())
    bench.finish()
    wait_for_held(bench, "db", *TABLES)
    bench.append(create_database(), create("db.new"))
    bench.finish()
    decide(bench, *TABLES)
    assert bench.tables() == ["new"]


def test_what_comes_and_goes_before_it_is_at_the_target_is_not_held(faulty_drains):
    """Before: a hold of it stayed until somebody decided, though there was nothing to remove, and nothing parked."""
    bench = filled(faulty_drains, max_drops_per_window=3)
    at_once(
        bench,
        create_partitioned("db.p"),
        add_partition("db.p", "1"),
        drop_partitions("db.p", "1"),
        *map(drop, TABLES[:4]),
    )
    wait_for_held(bench, *TABLES[:4])


def test_a_hold_of_partitions_ends_when_the_source_adds_them_again(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=2)
    bench.append(create_partitioned("db.p"), add_partition("db.p", "1", "2", "3"))
    bench.finish()
    at_once(bench, drop_partitions("db.p", "1", "2", "3"))
    assert len(held_by(bench)) == 3
    bench.append(add_partition("db.p", "1", "2", "3"))
    bench.finish()
    wait_until(lambda: (held_by(bench), bench.parked()) == ([], []), what="the end of the hold")
    assert len(bench.target.partition_names(TableName("db", "p"))) == 3


# --- comparisons


def test_a_comparison_is_one_act(faulty_drains):
    """Before: its refreshes were judged one by one, so it dropped up to the limit, and then held the rest."""
    bench = filled(faulty_drains, max_drops_per_window=5)
    others = [f"other.t{number}" for number in range(3)]
    bench.append(create_database("other"), *map(create, others))
    bench.finish()
    source = Hms(TABLES[0], TABLES[1])
    source.add("other.new")
    bench.source = lambda: source
    bench.restart()
    bench.append(*compared("db", "default", "other", present=[*TABLES[:2], "other.new"]))
    bench.finish()
    wait_for_held(bench, *TABLES[2:], *others)
    assert (len(bench.tables()), len(bench.tables("other"))) == (6, 3)
    bench.append(create("db.goes_on"))
    bench.finish()
    assert "goes_on" in bench.tables()
    decide(bench)
    assert (bench.tables(), bench.tables("other")) == (["goes_on", "t0", "t1"], [])


def test_databases_that_a_comparison_finds_gone_are_held(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    source = Hms()
    bench.source = lambda: source
    bench.restart()
    bench.append(*compared("default"))
    bench.finish()
    wait_for_held(bench, "db", *TABLES)
    bench.append(create_database("other"), create("other.t"))
    bench.finish()
    assert bench.tables("other") == ["t"]
    decide(bench)
    assert bench.target.database("db") is None


@pytest.mark.parametrize("limits", [{"max_drops_per_window": 5}, HALF])
def test_what_leaves_the_scope_is_held_though_the_source_has_it(faulty_drains, limits):
    bench = filled(faulty_drains, out_of_scope="drop", **limits)
    source = Hms(*TABLES)
    bench.source = lambda: source
    bench.stop()
    former = json.dumps([scope_of(bench.settings)])
    bench.configure(exclude=["db"], out_of_scope="drop", **limits)
    bench.start()
    bench.append(lambda sequence: event(Kind.REFRESH, attributes={"former": former}, sequence=sequence))
    bench.finish()
    assert set(held_by(bench)) >= set(TABLES)
    for _ in range(2):
        bench.restart()
        bench.finish()
    assert bench.tables() == names(*TABLES)


def test_a_comparison_counts_each_object_once(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=7, max_drop_share=0)
    source = Hms()
    bench.source = lambda: source
    bench.restart()
    bench.append(*compared("default"))
    bench.finish()
    assert (bench.target.database("db"), held_by(bench)) == (None, [])


def test_what_is_held_is_logged_once(faulty_drains):
    with capture_logs() as logs:
        bench = filled(faulty_drains, max_drops_per_window=3)
        at_once(bench, *map(drop, TABLES))
        bench.restart()
        bench.finish()
    assert [it["count"] for it in logs if it["event"] == "drops_held"] == [6]


def test_a_table_with_a_slash_in_its_name_is_no_partition_of_another(faulty_drains):
    """Hive 4 allows a slash in the names of tables, but neither `=` nor `*`. Before: db.a waited for what is held of
    db.a/b, and stayed for ever once a person had kept that.
    """
    bench = filled(faulty_drains, max_drops="2 per 1h", max_drop_share=0, out_of_scope="drop")
    bench.append(create("db.a"), create_partitioned("db.a/b"), add_partition("db.a/b", "1"), create("db.c/d"))
    one_by_one(bench, *TABLES[:2])
    at_once(bench, drop_partitions("db.a/b", "1"), drop("db.c/d"))
    assert held_by(bench) == ["db.a/b/day=1", "db.c/d"]
    assert [it.table for it in bench.drain.brake.held()] == ["db.a/b", "db.c/d"]
    assert {key for _, key, _ in bench.parked()} == {"db.a/b", "db.c/d"}
    decide(bench, keep=True)
    one_by_one(bench, "db.a", "db.a/b")
    decide(bench, "db.a")
    assert bench.tables() == ["a/b", "c/d", "t2", "t3", "t4", "t5"]


def altered(name: str, **parameters: str) -> Any:
    before, after = (table(*name.split(".")), table(*name.split(".")))
    before.createTime = after.createTime = OLD
    after.parameters = {**after.parameters, **parameters}
    return lambda sequence: event(Kind.ALTER_TABLE, before=[before], after=[after], sequence=sequence)


@pytest.mark.parametrize("how", ["alters at once", "alters one by one", "refreshes"])
def test_what_leaves_the_scope_by_an_alter_is_held_though_the_source_has_it(faulty_drains, how):
    """Before: what the source has under that name was no loss, so that all of them went."""
    bench = filled(faulty_drains, **HALF, out_of_scope="drop", exclude_parameters=["temporary"])
    source = Hms(TABLES[0], TABLES[1], created=OLD)
    for name in TABLES[2:]:
        source.add(name, created=OLD, parameters={"temporary": "1"})
    bench.source = lambda: source
    bench.restart()
    leave = [altered(name, temporary="1") for name in TABLES[2:]]
    if how == "alters at once":
        at_once(bench, *leave)
    else:
        for one in leave if how == "alters one by one" else map(refreshed, TABLES[2:]):
            bench.append(one)
            bench.finish()
    number = 4 if how == "alters at once" else 1
    assert held_by(bench) == TABLES[-number:]
    assert len(bench.tables()) == 2 + number
    source.add(TABLES[5], created=OLD)
    bench.append(refreshed(TABLES[5]))
    bench.finish()
    wait_until(lambda: (held_by(bench), bench.parked()) == ([], []), what="the end of the hold")
    assert bench.tables() == ["t0", "t1", "t5"], "with one that is in scope again it is only half"
