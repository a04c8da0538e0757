"""REPL DUMP, REPL LOAD and REPL STATUS on a real metastore: every example of Hive's page, and what it takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.base.errors import PysyncError, UsageError
from pysync.dump.index import open_dump
from pysync.jobs import oneoff
from pysync.jobs.loading import load_once
from pysync.sidecar.shutdown import Shutdown
from tests.support.repls import NEWEST, Repl, tables_of

pytestmark = pytest.mark.smoke

LONG = pytest.mark.crash
"""All but a few: together they take longer than `make test` has."""
ALL = ["orders", "q4", "q5", "stores", "t3", "t400"]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch) -> None:
    monkeypatch.setattr(Shutdown, "on_signals", lambda _: None)
    monkeypatch.setattr(oneoff, "collect_seldom", lambda: None)


@pytest.fixture
def repl(shared_metastore, tmp_path: Path) -> Iterator[Repl]:
    world = Repl(tmp_path, shared_metastore.uri)
    yield world
    world.close()


@pytest.fixture
def apart(shared_metastore, metastores, tmp_path: Path) -> Iterator[Repl]:
    """The same with a metastore of its own as the target: no name there is one at the source."""
    world = Repl(tmp_path, shared_metastore.uri, metastores("target").uri)
    yield world
    world.close()


# --- which objects a policy takes


@pytest.mark.parametrize(
    ("policy", "taken"),
    [
        pytest.param("{db};", ALL, marks=LONG),
        pytest.param("{db}.T3;", ["t3"], marks=LONG),
        ("{db}.['T3', '[a-z]+'];", ["orders", "stores", "t3"]),
        pytest.param("{db}.['.*?'].['T[0-9]+', 'Q4'];", ["orders", "q5", "stores"], marks=LONG),
        pytest.param("{db}.[];", [], marks=LONG),
        pytest.param("{db}.'t3|[a-z]+'.'stores';", ["orders", "t3"], marks=LONG),
    ],
)
def test_a_policy_takes_what_hive_s_page_says_of_it(repl: Repl, policy: str, taken: list[str]) -> None:
    done = repl.dump_and_load(policy)
    assert (tables_of(done), repl.tables(), repl.functions()) == (taken, taken, ["f"])
    assert done.manifest.upto == NEWEST + len(ALL), "without FROM it is everything, up to the newest event"
    assert repl.status() == done.manifest.upto


@LONG
def test_every_dump_has_a_directory_of_its_own_in_the_root(repl: Repl) -> None:
    found = {repl.dump("{db}.[]").directory for _ in range(3)}
    assert len(found) == 3
    assert {it.parent for it in found} == {repl.root}
    assert all(it.name.startswith(f"{repl.db}-") for it in found)


# --- FROM, TO, LIMIT


@LONG
def test_a_limit_counts_events_of_the_policy_and_leaves_no_hole(repl: Repl) -> None:
    first = repl.dump_and_load("{db}.['[a-z]+']").manifest.upto
    for number in range(3):
        repl.change("orders", str(number))
        for _ in range(5):
            repl.log.touch("elsewhere", "x")
            repl.log.touch(repl.db, "t3")  # of the database, and not of the policy
        repl.change("stores", str(number))
    found = []
    at = first
    while at < repl.log.log.current():
        done = repl.dump_and_load(f"{{db}}.['[a-z]+'] FROM {at} LIMIT 2")
        assert done.manifest.since == at
        at = done.manifest.upto
        found.append(at - first)
    assert found == [12, 24, 36], "two events of the policy each, among ten others"
    assert [repl.parameter(name) for name in ("orders", "stores")] == ["2", "2"]
    assert repl.status() == at


@LONG
def test_from_and_to_take_what_changed_between_them(repl: Repl) -> None:
    repl.move_on()
    at = repl.dump_and_load("{db}").manifest.upto
    repl.change("orders", "1")
    repl.change("stores", "1")
    repl.change("t3", "1")
    one = repl.dump(f"{{db}} FROM {at} TO {at + 1}")
    assert (tables_of(one), one.manifest.upto) == (["orders"], at + 1)
    for text, upto, taken in [
        (f"FROM {at} TO {at + 2} LIMIT 100", at + 2, ["orders", "stores"]),
        (f"FROM {at} to 1400 LIMIT 100", at + 3, ["orders", "stores", "t3"]),
        (f"FROM {at} LIMIT 1", at + 1, ["orders"]),
        (f"FROM {at}", at + 3, ["orders", "stores", "t3"]),
    ]:
        done = repl.dump(f"{{db}} {text}")
        assert (tables_of(done), done.manifest.upto) == (taken, upto), text
    repl.load(one.directory)
    assert (repl.parameter("orders"), repl.parameter("stores"), repl.status()) == ("1", None, at + 1)
    with pytest.raises(PysyncError, match=f"begins after notification {at + 2}, but target dr has dumps up to"):
        repl.load(repl.dump(f"{{db}} FROM {at + 2}").directory)


# --- REPLACE


def test_a_narrower_policy_drops_what_it_does_not_take(repl: Repl) -> None:
    repl.move_on()
    at = repl.dump_and_load("{db}").manifest.upto
    repl.target.call(lambda client: client.create_table(_foreign(repl, "t9")))
    repl.change("orders", "1")
    done = repl.dump_and_load(f"{{db}}.['[a-z]+'] REPLACE {{db}} FROM {at}")
    assert tables_of(done) == ["orders"], "nothing is new, so there is only what changed"
    assert repl.tables() == ["orders", "stores", "t9"], "what another has made at the target stays"
    assert (repl.functions(), repl.status()) == (["f"], done.manifest.upto)
    assert repl.status("{there}.t3") is None
    repl.load(done.directory)
    assert repl.tables() == ["orders", "stores", "t9"], "load twice, and the second time changes nothing"
    repl.change("stores", "1")
    repl.dump_and_load(f"{{db}}.['[a-z]+'] FROM {done.manifest.upto}")
    assert repl.parameter("stores") == "1", "the next one follows the replaced policy"


def _foreign(repl: Repl, name: str) -> object:
    found = repl.hms.table(repl.db, "orders")
    found.dbName, found.tableName, found.sd.location = repl.there, name, None
    return found


@LONG
def test_a_wider_policy_brings_what_is_new_in_it_whole(repl: Repl) -> None:
    repl.create("days", partition_keys=[("day", "string")])
    repl.add_day("days", "1")
    at = repl.dump_and_load("{db}.['[a-z]+'].['days']").manifest.upto
    assert repl.tables() == ["orders", "stores"]
    repl.move_on()
    at = repl.dump_and_load(f"{{db}}.['[a-z]+'].['days'] FROM {at}").manifest.upto
    done = repl.dump_and_load(f"{{db}}.['[a-z]+', 'Q5'] REPLACE {{db}}.['[a-z]+'].['days'] FROM {at}")
    assert tables_of(done) == ["days", "q5"], "whole, though nothing of them changed"
    assert repl.tables() == ["days", "orders", "q5", "stores"]
    assert repl.target.partition_names(repl.there, "days") == ["day=1"]


@LONG
def test_renames_between_the_policies_end_as_the_new_one_says(apart: Repl) -> None:
    repl = apart
    at = repl.dump_and_load("{db}.['[a-z]+', 't[0-9]+']").manifest.upto
    assert repl.tables() == ["orders", "stores", "t3", "t400"]
    repl.rename("t3", "tthree")  # from what only the old one takes into both
    repl.rename("stores", "t500")  # from both into what only the old one takes
    repl.rename("q5", "qnew")  # from none of them into both
    repl.rename("orders", "q6")  # from both into what only the new one takes
    repl.dump_and_load(f"{{db}}.['[a-z]+', 'q[0-9]+'] REPLACE {{db}}.['[a-z]+', 't[0-9]+'] FROM {at}")
    assert repl.tables() == ["q4", "q6", "qnew", "tthree"]


@LONG
def test_a_replaced_policy_needs_the_dumps_of_the_old_one(repl: Repl) -> None:
    done = repl.dump(f"{{db}}.['[a-z]+'] REPLACE {{db}} FROM {NEWEST}")
    with pytest.raises(PysyncError, match="has loaded no dump"):
        repl.load(done.directory)
    repl.dump_and_load("{db}.['q4']")
    done = repl.dump(f"{{db}}.['[a-z]+'] REPLACE {{db}} FROM {NEWEST}")
    with pytest.raises(PysyncError, match="another scope"):
        repl.load(done.directory)
    assert repl.tables() == ["q4"]


@LONG
def test_the_brake_holds_the_drops_of_a_replaced_policy(repl: Repl) -> None:
    """Until a person lets them go; the load waits for that."""
    repl.write("max_drops_per_window = 1")
    at = repl.dump_and_load("{db}").manifest.upto
    done = repl.dump(f"{{db}}.['orders'] REPLACE {{db}} FROM {at}")
    with pytest.raises(_HeldError, match="the drop of 5 tables of"):
        _load_until_held(repl, done.directory)
    assert repl.tables() == ALL
    repl.write("max_drops_per_window = 10")
    repl.load(done.directory)
    assert repl.tables() == ["orders"]


class _HeldError(Exception):
    pass


def _load_until_held(repl: Repl, directory: Path) -> None:
    def tell(status) -> None:
        if brake := status["targets"][0]["brake"]:
            raise _HeldError(f"the drop of {brake['summary']}")

    load_once(repl.there_config, open_dump(directory), ["dr"], tell)


# --- WITH


@LONG
def test_external_tables_and_data_are_left_out_as_with_says(repl: Repl) -> None:
    repl.create("own", managed=True)
    no_external = "'hive.repl.include.external.tables'='false'"
    done = repl.dump_and_load(f"{{db}} WITH ({no_external}, 'hive.repl.dump.metadata.only'='true')")
    assert (repl.tables(), done.manifest.files) == (["own"], "none")
    repl.move_on()
    at = done.manifest.upto
    repl.change("orders", "1")
    done = repl.dump_and_load(f"{{db}} FROM {at} WITH ({no_external})")
    assert repl.tables() == ["own"]
    more = "'hive.repl.include.external.tables'='true', 'hive.repl.bootstrap.external.tables'='true'"
    done = repl.dump_and_load(f"{{db}} FROM {at} WITH ({more})")
    assert tables_of(done) == sorted([*ALL, "own"]), "what is new, and what may have changed"
    assert repl.tables() == sorted([*ALL, "own"])


@LONG
def test_a_load_is_refused_for_another_database_than_it_would_write(repl: Repl) -> None:
    done = repl.dump("{db}.['orders', 'q4']")
    there, repl.there = repl.there, "other"
    with pytest.raises(UsageError, match=r"target dr names sales_.*_two; set databases = "):
        repl.load(done.directory)
    repl.there = f"{there}.orders"
    with pytest.raises(UsageError, match=r"the dump has sales_.*\.q4, too"):
        repl.load(done.directory)
    repl.there = there
    assert repl.status() is None
