"""`pysync why` and `pysync actions` on real metastores: every answer that a person at night may need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import table, wait_until
from tests.support.sidecars import pysync
from tests.support.stages import is_at_rest

OPTIONS = """
databases = { shop = "dr_shop" }
exclude = ["shop.tmp_*"]
parked_retry_seconds = 0
"""
WIDEST = 120


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("why"), options=OPTIONS) as running:
        running.target.start()
        running.source.start()
        with closing(Metastore(running.target.uri)) as target:
            target.call(lambda client: client.create_database(hive.Database(name="dr_shop")))
            target.call(lambda client: client.create_table(table("dr_shop", "taken")))
        running.start_sidecar()
        yield running


@pytest.fixture
def source(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.source.uri)) as metastore:
        if metastore.database("shop") is None:
            metastore.call(lambda client: client.create_database(hive.Database(name="shop")))
        yield metastore


def create(source: Metastore, name: str) -> None:
    source.call(lambda client: client.create_table(table("shop", name)))


def rename(source: Metastore, old: str, new: str) -> None:
    moved: Any = source.table("shop", old)
    moved.tableName = new
    source.call(lambda client: client.alter_table("shop", old, moved))


def answer_of(stage: Stage, name: str, *more: str) -> dict[str, Any]:
    """What `pysync why` says of the one target, once it has said it in words, too."""
    lines = pysync("why", name, "-c", stage.config_file)
    assert (lines.returncode, lines.stderr) == (0, ""), lines.stderr
    assert max(map(len, lines.stdout.splitlines())) <= WIDEST, lines.stdout
    done = pysync("why", name, *more, "--json", "-c", stage.config_file)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    (target,) = answer["targets"]
    return {**answer, **target, "code": target["reasons"][0]["code"], "said": lines.stdout}


def wait_for(stage: Stage, name: str, code: str) -> dict[str, Any]:
    """The answer with that code: another one, a moment later, may have another."""
    answers: list[dict[str, Any]] = []

    def has_code() -> bool:
        if is_at_rest(stage):
            answers.append(answer_of(stage, name))
        return bool(answers) and answers[-1]["code"] == code

    wait_until(has_code, what=f"{name}: {code}")
    return answers[-1]


def operations(answer: dict[str, Any]) -> list[str]:
    """Those of events, the oldest first; comparisons come when they come."""
    return [it["operation"] for it in reversed(answer["records"]) if it["operation"] != "Refresh"]


def test_a_table_that_is_there(stage: Stage, source: Metastore) -> None:
    create(source, "orders")
    found = wait_for(stage, "dr_shop.orders", "applied")
    assert (found["object"], found["names"]) == ("dr_shop.orders", ["shop.orders"])
    assert found["verdict"].startswith("replica has dr_shop.orders")
    record = next(it for it in found["records"] if it["outcome"] == "applied")
    assert record["source_object"] == "shop.orders"
    assert {"field": "table dr_shop.orders", "old": None, "new": "created"} in record["differences"]
    altered = source.table("shop", "orders")
    altered.sd.cols.append(hive.FieldSchema("more", "string", None))
    altered.parameters |= {"comment": "new", "jdbc.password": "hunter2"}
    source.call(lambda client: client.alter_table("shop", "orders", altered))
    wait_until(lambda: "sd.cols.more" in answer_of(stage, "shop.orders")["said"], what="the column")
    words = answer_of(stage, "shop.orders")["said"]
    assert "parameters.comment: nothing -> 'new'" in words
    assert "parameters.jdbc.password: nothing -> '***'" in words
    files = [stage.config.queue.directory / name for name in ("journal.db", "journal.db-wal")]
    assert not any(b"hunter2" in file.read_bytes() for file in files)


def test_a_table_that_is_out_of_scope(stage: Stage, source: Metastore) -> None:
    create(source, "tmp_1")
    found = answer_of(stage, "shop.tmp_1")
    assert (found["code"], found["verdict"]) == (
        "out_of_scope",
        "shop.tmp_1 is out of scope: exclude 'shop.tmp_*' leaves it out",
    )


def test_a_table_that_is_parked(stage: Stage, source: Metastore) -> None:
    create(source, "taken")
    found = wait_for(stage, "shop.taken", "parked")
    assert "not from this source" in found["verdict"]
    assert "pysync parked show replica" in found["said"]
    assert [it["table"] for it in found["parked"]] == ["dr_shop.taken"]


def test_a_table_that_was_renamed_twice(stage: Stage, source: Metastore) -> None:
    create(source, "a")
    rename(source, "a", "b")
    rename(source, "b", "c")
    wait_until(lambda: operations(answer_of(stage, "shop.c")).count("RenameTable") == 2, what="the renames")
    for name in ("shop.a", "shop.b", "shop.c", "dr_shop.b"):
        found = answer_of(stage, name)
        assert (found["names"], found["object"]) == (["shop.c", "shop.b", "shop.a"], "dr_shop.c")
        assert found["code"] == "applied"
        assert "RenameTable dr_shop.a -> dr_shop.b" in found["said"]


def test_a_table_that_a_client_has_dropped_at_the_target(stage: Stage, source: Metastore) -> None:
    """Before: "replica has dr_shop.gone: it was written"."""
    create(source, "gone")
    wait_for(stage, "shop.gone", "applied")
    with closing(Metastore(stage.target.uri)) as target:
        target.call(lambda client: client.drop_table("dr_shop", "gone", False))
    found = answer_of(stage, "shop.gone")
    assert (found["code"], found["verdict"]) == ("only_at_source", "the source has shop.gone, and replica does not")
    assert "replica had dr_shop.gone: it was written (PutTable at" in found["said"]
    assert "pysync refresh shop.gone" in found["said"]
    source.call(lambda client: client.drop_table("shop", "gone", False))


def test_a_table_that_was_dropped_and_made_again(stage: Stage, source: Metastore) -> None:
    create(source, "again")
    wait_for(stage, "shop.again", "applied")
    source.call(lambda client: client.drop_table("shop", "again", True))
    wait_for(stage, "shop.again", "dropped")
    create(source, "again")
    found = wait_for(stage, "shop.again", "applied")
    assert operations(found) == ["PutTable", "DropTable", "PutTable"]


def test_a_table_of_a_paused_target_and_who_paused_it(stage: Stage, source: Metastore) -> None:
    done = pysync("pause", "replica", "--reason", "audit", "-c", stage.config_file)
    assert done.returncode == 0, done.stderr
    create(source, "late")
    wait_until(lambda: answer_of(stage, "shop.late")["code"] == "paused", what="the event")
    found = answer_of(stage, "shop.late")
    assert "(command line): audit" in found["verdict"]
    assert [it["kind"] for it in found["source"]["events"]] == ["CREATE_TABLE"]
    assert pysync("resume", "replica", "-c", stage.config_file).returncode == 0
    wait_for(stage, "shop.late", "applied")
    acts = json.loads(pysync("actions", "--outcome", "done", "--json", "-c", stage.config_file).stdout)["records"]
    assert [it["operation"] for it in acts][:2] == ["Resume", "Pause"]
    assert all(it["who"].startswith("uid ") for it in acts)


def test_a_table_that_nobody_has_seen(stage: Stage) -> None:
    assert answer_of(stage, "shop.none")["code"] == "nowhere"
    done = pysync("why", "a.b.c", "-c", stage.config_file)
    assert (done.returncode, done.stdout) == (2, "")


def test_actions_are_listed_and_narrowed(stage: Stage, source: Metastore) -> None:
    create(source, "listed")
    wait_for(stage, "shop.listed", "applied")
    answer = json.loads(pysync("actions", "--table", "shop.listed", "--json", "-c", stage.config_file).stdout)
    assert {it["object"] for it in answer["records"]} == {"dr_shop.listed"}
    done = pysync("actions", "--database", "dr_shop", "--since", "1h", "--limit", 2, "-c", stage.config_file)
    assert (done.returncode, "older records" in done.stderr) == (0, True)
    assert len([line for line in done.stdout.splitlines() if not line.startswith(" ")]) == 2
    refused = pysync("actions", "--outcome", "broken", "-c", stage.config_file)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "applied" in refused.stderr


# --- last: they stop the sidecar


def test_a_table_that_waits_in_the_spool(stage: Stage, source: Metastore) -> None:
    text = stage.config_file.read_text()
    stage._end_sidecar(15)  # type: ignore[arg-type]
    stage.config_file.write_text(text.replace("min_free_mb = 16", "min_free_mb = 100000000"))
    try:
        stage.start_sidecar()
        create(source, "spooled")
        wait_until(lambda: answer_of(stage, "shop.spooled")["code"] == "in_spool", what="the listener's report")
        assert "in its spool" in answer_of(stage, "shop.spooled")["verdict"]
    finally:
        stage.kill_sidecar()
        stage.config_file.write_text(text)


def test_without_a_sidecar_the_journal_tells(stage: Stage) -> None:
    done = pysync("why", "shop.orders", "-c", stage.config_file)
    assert done.returncode == 0, done.stderr
    assert "replica should have dr_shop.orders" in done.stdout
    assert "no sidecar runs" in done.stderr
    assert "out of scope" in pysync("why", "shop.tmp_1", "-c", stage.config_file).stdout
    listed = pysync("actions", "--limit", 3, "-c", stage.config_file)
    assert (listed.returncode, "no sidecar runs" in listed.stderr) == (0, True)
    assert "PutTable" in listed.stdout


def test_the_journal_may_be_deleted_while_the_sidecar_is_stopped(stage: Stage, source: Metastore) -> None:
    for file in Path(stage.config.queue.directory).glob("journal.db*"):
        file.unlink()
    stage.start_sidecar()
    create(source, "anew")
    found = wait_for(stage, "shop.anew", "applied")
    assert operations(found) == ["PutTable"]
    assert answer_of(stage, "shop.spooled")["code"] == "applied", "what waited in the spool has come"
