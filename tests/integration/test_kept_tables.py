"""Kept tables stay at the target on real metastores: killed servers, comparisons, repairs, an older queue."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.mark import KEPT_KEY
from tests.support import new_database, table, wait_until
from tests.support.dumps import fill as fill_whole
from tests.support.sidecars import pysync
from tests.support.sites import Site, two_sites
from tests.support.stages import wait_until_compared

pytestmark = pytest.mark.servers

TABLES = 30
GONE = 20


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Two metastores; tables that a test makes are young, so that only their number counts."""
    with Stage(tmp_path, database="disk", options="max_drops_per_window = 14\n") as stage:
        stage.target.start()
        stage.source.start()
        yield stage


def started(stage: Stage) -> None:
    stage.start_sidecar()
    wait_until_compared(stage)


def run(stage: Stage, *arguments: object) -> str:
    done = pysync(*arguments, "-c", stage.config_file, seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def filled(source: Metastore, prefix: str, tables: int = TABLES) -> str:
    """A database of the source with so many tables; returns its name."""
    name = new_database(source, prefix)
    fill(source, name, tables)
    return name


def fill(source: Metastore, name: str, tables: int) -> None:
    for number in range(tables):
        source.call(lambda client, it=number: client.create_table(table(name, f"t{it:02}")))


def drop_most(stage: Stage, source: Metastore, name: str) -> None:
    """Drop the first tables; the target gets all of these drops at once."""
    run(stage, "pause", "replica")
    for number in range(GONE):
        source.call(lambda client, it=number: client.drop_table(name, f"t{it:02}", False))
    wait_until(lambda: stage.status()["targets"][0]["queued"] >= GONE, what="the drops in the queue")
    run(stage, "resume", "replica")


def objects(stage: Stage, state: str) -> list[str]:
    return [it["object"] for it in json.loads(run(stage, state, "list", "replica", "--json"))["objects"]]


def wait_for_held(stage: Stage, number: int) -> None:
    wait_until(lambda: len(objects(stage, "held")) == number, seconds=60, what=f"{number} objects that are held")


def stop(stage: Stage) -> None:
    stage._end_sidecar(signal.SIGTERM)


def older_queue(stage: Stage, saved: Path) -> None:
    """Put the queue back as it was when it was saved; pysync notices that, and compares."""
    stop(stage)
    directory = stage.config.queue.directory
    for file in ("queue.db", "queue.db-wal"):
        (directory / file).unlink(missing_ok=True)
        if (saved / file).exists():
            shutil.copy(saved / file, directory)
    stage.start_sidecar()
    reasons = (gap["reason"] for gap in stage.status()["gaps"])
    assert any("an older file was restored" in it for it in reasons)
    wait_until_compared(stage)


def killed_source(stage: Stage) -> None:
    gaps = len(stage.status()["gaps"])
    stage.source.kill()
    stage.source.start()
    with closing(Metastore(stage.source.uri)) as source:
        new_database(source, "later")  # the new process is heard
    wait_until(lambda: len(stage.status()["gaps"]) > gaps, seconds=60, what="the gap")
    wait_until_compared(stage)


def restarted(stage: Stage) -> None:
    stop(stage)
    stage.start_sidecar()


def test_kept_tables_outlast_kills_comparisons_repairs_and_an_older_queue(stage: Stage, tmp_path: Path) -> None:
    """Before: the next comparison dropped 29 of 39, up to the limit, and held the others again."""
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        name = filled(source, "hr")
        started(stage)
        stop(stage)
        saved = tmp_path / "saved"
        shutil.copytree(stage.config.queue.directory, saved)
        stage.start_sidecar()
        drop_most(stage, source, name)
        wait_for_held(stage, GONE)
        assert run(stage, "held", "keep", "replica", name).startswith(f"replica keeps {GONE} objects")
        wait_until(lambda: stage.status()["targets"][0]["parked"] == 0, what="the decision being carried out")
        acts: dict[str, Callable[[], object]] = {
            "the metastore of the source is killed": lambda: killed_source(stage),
            "refresh": lambda: run(stage, "refresh", "--wait"),
            "refresh of one": lambda: run(stage, "refresh", f"{name}.t00", "--wait"),
            "repair": lambda: run(stage, "verify", name, "--repair"),
            "restart": lambda: restarted(stage),
            "an older queue": lambda: older_queue(stage, saved),
        }
        for act, do in acts.items():
            do()
            assert len(target.tables(name)) == TABLES, act
            assert objects(stage, "kept") == [f"{name}.t{number:02}" for number in range(GONE)], act
            assert objects(stage, "held") == [], act
        source.call(lambda client: client.create_table(table(name, "t00")))
        wait_until(lambda: f"{name}.t00" not in objects(stage, "kept"), what="the source having it again")
        run(stage, "verify", name)


def test_two_databases_are_decided_apart_while_all_others_go_on(stage: Stage) -> None:
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        mistaken, intended = (filled(source, it) for it in ("mistaken", "intended"))
        started(stage)
        for name in (mistaken, intended):
            source.call(lambda client, it=name: client.drop_database(it, False, True))
        wait_for_held(stage, 2 * (TABLES + 1))
        other = filled(source, "other", 100)
        wait_until(lambda: len(target.tables(other)) == 100, what="the tables that are created meanwhile")
        assert len(objects(stage, "held")) == 2 * (TABLES + 1)
        run(stage, "held", "keep", "replica", mistaken)
        run(stage, "held", "drop", "replica", intended, "--yes")
        wait_until(lambda: intended not in target.databases(), what="the drop")
        assert (len(target.tables(mistaken)), len(target.tables(other))) == (TABLES, 100)
        wait_until(lambda: stage.status()["targets"][0]["brake"] is None, what="nothing being held")


def test_a_rebuilt_database_needs_no_decision_and_an_attic_does(stage: Stage) -> None:
    """Before: 15 tables that were dropped and made again were held for ever; 60 that were renamed and dropped went."""
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        name, old = filled(source, "nightly", 15), filled(source, "old")
        started(stage)
        source.call(lambda client: client.drop_database(name, False, True))
        wait_for_held(stage, 16)
        source.call(lambda client: client.create_database(ttypes.Database(name=name, parameters={})))
        fill(source, name, 15)
        # The drop may go as soon as fewer than 15 tables are gone; their new events, in the queue, make them again.
        wait_until(lambda: stage.status()["targets"][0]["parked"] == 0, what="the end of the hold")
        wait_until(lambda: len(target.tables(name)) == 15, what="the tables that were made again")
        assert objects(stage, "held") == []
        run(stage, "pause", "replica")
        attic = new_database(source, "attic")
        for number in range(TABLES):
            renamed = source.table(old, f"t{number:02}")
            renamed.dbName = attic
            source.call(lambda client, it=renamed: client.alter_table(old, it.tableName, it))
        source.call(lambda client: client.drop_database(attic, False, True))
        run(stage, "resume", "replica")
        wait_for_held(stage, TABLES + 1)
        wait_until(lambda: len(target.tables(attic)) == TABLES, what="the renames")
        run(stage, "held", "keep", "replica")
        wait_until(lambda: stage.status()["targets"][0]["parked"] == 0, what="the decision being carried out")
        assert len(target.tables(attic)) == TABLES


def kept_at(site: Site, target: str) -> list[str]:
    return [it["object"] for it in site.asked("kept", "list", target)["objects"]]


def keep_what_is_dropped(onprem: Site) -> list[str]:
    """Drop tables of crm at onprem, and keep them at dr; their names."""
    gone = [f"t{number:03}" for number in range(GONE)]
    onprem.command("pause", "dr")
    for name in gone:
        onprem.call(lambda client, it=name: client.drop_table("crm", it, False))
    wait_until(lambda: onprem.status()["targets"][0]["queued"] >= GONE, what="the drops in the queue")
    onprem.command("resume", "dr")
    wait_until(lambda: len(onprem.asked("held", "list", "dr")["objects"]) == GONE, what="the hold")
    onprem.command("held", "keep", "dr")
    wait_until(lambda: onprem.status()["targets"][0]["parked"] == 0, what="the decision being carried out")
    assert kept_at(onprem, "dr") == [f"crm.{it}" for it in gone]
    return gone


@pytest.mark.timeout(600)
def test_kept_tables_are_ordinary_ones_of_the_new_source_after_a_promotion(tmp_path: Path) -> None:
    """They go back to the former source, so that after the way back, too, none of them is kept, and all are there."""
    back, again = tmp_path / "back.toml", tmp_path / "again.toml"

    def fill_crm(uri: str) -> None:
        fill_whole(uri, "crm", tables=TABLES, large=1, key=False)

    with two_sites(tmp_path, fill_crm, "max_drops_per_window = 14\n") as (onprem, dr):
        every = dr.tables("crm").keys()
        gone = keep_what_is_dropped(onprem)
        assert onprem.asked("promote", "dr", "--out", back, "--yes")["only_at_target"] == GONE
        assert not any(KEPT_KEY in it.parameters for it in dr.tables("crm").values())
        dr.install(back.read_text())
        dr.run()
        dr.asked("bootstrap")
        dr.rest()
        assert (dr.tables("crm").keys(), onprem.tables("crm").keys()) == (every, every)
        assert kept_at(dr, "onprem") == []

        assert dr.asked("promote", "onprem", "--out", again, "--yes")["promoted"] is True
        onprem.command("target", "enable", "dr")
        onprem.asked("bootstrap")
        onprem.rest()
        assert (dr.tables("crm").keys(), kept_at(onprem, "dr")) == (every, [])
        onprem.call(lambda client: client.drop_table("crm", gone[0], False))
        wait_until(lambda: gone[0] not in dr.tables("crm"), what="the drop, as the decision is over")
