"""`pysync wait` and `pysync status --object` on real metastores: what they promise is true when they return."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import table
from tests.support.sidecars import pysync
from tests.support.stages import wait_until_compared
from tests.support.waiting import release, waited

OPTIONS = """
databases = { shop = "dr_shop" }
exclude = ["shop.tmp_*"]
parked_retry_seconds = 0
"""
MANY = 25


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("wait"), options=OPTIONS) as running:
        running.target.start()
        running.source.start()
        running.start_sidecar()
        wait_until_compared(running)
        yield running


@pytest.fixture(scope="module")
def source(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.source.uri)) as metastore:
        metastore.call(lambda client: client.create_database(hive.Database(name="shop")))
        yield metastore


@pytest.fixture(scope="module")
def target(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.target.uri)) as metastore:
        yield metastore


def create(source: Metastore, name: str) -> None:
    source.call(lambda client: client.create_table(table("shop", name)))


def json_of(stage: Stage, *arguments: object, code: int = 0) -> dict[str, Any]:
    """What `pysync ARGUMENTS --json` prints."""
    done = pysync(arguments[0], "-c", stage.config_file, "--json", *arguments[1:], seconds=200)
    assert done.returncode == code, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def test_what_was_made_before_is_at_the_target_when_it_returns(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    create(source, "orders")
    found = json_of(stage, "wait", "shop.orders", "--timeout", "2m")
    assert target.table("dr_shop", "orders") is not None
    assert (found["state"], found["code"]) == ("there", "there")
    done = pysync("wait", "shop", "-c", stage.config_file)
    assert (done.returncode, done.stdout.partition(" up to event ")[0]) == (0, "replica has all changes of shop")


def test_changes_that_are_still_in_the_spool_are_waited_for(stage: Stage, source: Metastore, target: Metastore) -> None:
    """The sidecar that is asked has not been sent them."""
    stage.kill_sidecar()
    for number in range(MANY):
        create(source, f"spooled{number}")
    stage.start_sidecar()
    found = waited(stage.config.queue.directory, "shop", "replica")
    assert found["state"] == "there", found
    assert sum(name.startswith("spooled") for name in target.tables("dr_shop")) == MANY


def test_a_change_right_before_is_never_missed(stage: Stage, source: Metastore, target: Metastore) -> None:
    for number in range(5):
        create(source, f"right{number}")
        found = waited(stage.config.queue.directory, f"shop.right{number}", "replica")
        assert found["state"] == "there", found
        assert target.table("dr_shop", f"right{number}") is not None


def test_what_is_out_of_scope_is_said_at_once(stage: Stage, source: Metastore) -> None:
    found = json_of(stage, "wait", "shop.tmp_1", code=1)
    assert (found["code"], found["text"]) == (
        "out_of_scope",
        "shop.tmp_1 is out of scope of replica: exclude 'shop.tmp_*' leaves it out",
    )


def test_a_paused_target_ends_it_and_says_what_to_do(stage: Stage, source: Metastore, target: Metastore) -> None:
    directory = stage.config.queue.directory
    ask(directory, "pause", target="replica", reason="a test")
    try:
        create(source, "late")
        found = waited(directory, "shop", "replica")
        assert (found["state"], found["code"], found["hint"]) == ("cannot", "paused", "pysync resume replica")
        status = json_of(stage, "status", "--object", "shop.late", code=1)
        (there,) = status["targets"]
        assert (there["name"], there["waiting"], there["paused"]) == ("dr_shop.late", 1, "a test")
        assert there["lag_seconds"] > 0
    finally:
        ask(directory, "resume", target="replica")
    assert waited(directory, "shop.late", "replica")["state"] == "there"
    (there,) = json_of(stage, "status", "--object", "shop.late")["targets"]
    assert (there["waiting"], there["lag_seconds"], there["parked"], there["position"]) == (0, 0.0, [], there["last"])


def test_the_end_of_its_time_has_an_exit_code_of_its_own(stage: Stage) -> None:
    """A listener that does not report: nobody knows what is in its spool."""
    os.kill(stage.source.pid, signal.SIGSTOP)
    try:
        found = json_of(stage, "wait", "shop", "--timeout", "1s", code=3)
        assert (found["state"], found["code"]) == ("waits", "listener")
    finally:
        os.kill(stage.source.pid, signal.SIGCONT)


def test_an_event_id_needs_a_notification_log(stage: Stage) -> None:
    found = json_of(stage, "wait", "shop", "--for-id", 3, code=1)
    assert found["code"] == "no_log"


def test_a_pinned_database_stays_as_it_is_and_others_go_on(stage: Stage, source: Metastore, target: Metastore) -> None:
    directory = stage.config.queue.directory
    source.call(lambda client: client.create_database(hive.Database(name="other")))
    found = waited(directory, "shop", "replica", consistent=True, pin=120)
    assert found["state"] == "there", found
    before = target.tables("dr_shop")
    create(source, "behind")
    source.call(lambda client: client.create_table(table("other", "beside")))
    assert waited(directory, "other", "replica")["state"] == "there"
    assert target.tables("other") == ["beside"]
    assert target.tables("dr_shop") == before
    assert stage.status()["targets"][0]["pinned"] == ["dr_shop"]
    assert release(directory, found)
    assert waited(directory, "shop", "replica")["state"] == "there"
    assert "behind" in target.tables("dr_shop")


def drop(target: Metastore, name: str) -> None:
    """Drop a table at the target, past the sidecar."""
    target.call(lambda client: client.drop_table("dr_shop", name, False))


def test_a_table_that_was_dropped_at_the_target_is_missing_until_a_refresh(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    create(source, "lost")
    assert json_of(stage, "wait", "shop.lost")["not_looked_at"] == []
    drop(target, "lost")
    text = "replica does not have what the source has: shop.lost"
    for name in ("shop.lost", "shop"):
        found = json_of(stage, "wait", name, code=1)
        assert (found["code"], found["missing"], found["text"]) == ("missing", ["shop.lost"], text)
        assert found["hint"] == "pysync refresh shop.lost"
        (there,) = json_of(stage, "status", "--object", name, code=1)["targets"]
        assert (there["missing"], there["not_looked_at"]) == (["shop.lost"], [])
    done = pysync("wait", "shop", "--consistent", "-c", stage.config_file)
    assert (done.returncode, done.stderr) == (1, f"pysync: {text}; pysync refresh shop.lost\n")
    done = pysync("status", "--object", "shop.lost", "-c", stage.config_file)
    assert (done.returncode, "missing     the target does not have shop.lost" in done.stdout) == (1, True)
    assert pysync("refresh", "shop.lost", "--wait", "-c", stage.config_file).returncode == 0
    assert target.table("dr_shop", "lost") is not None
    assert json_of(stage, "wait", "shop")["code"] == "there"
    (there,) = json_of(stage, "status", "--object", "shop")["targets"]
    assert (there["missing"], there["not_looked_at"]) == ([], [])


def test_a_database_that_was_dropped_at_the_target_comes_back_by_what_is_offered(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    source.call(lambda client: client.create_database(hive.Database(name="gone")))
    source.call(lambda client: client.create_table(table("gone", "t")))
    assert json_of(stage, "wait", "gone")["code"] == "there"
    target.call(lambda client: client.drop_database("gone", False, True))
    for name in ("gone", "gone.t"):
        found = json_of(stage, "wait", name, code=1)
        assert (found["missing"], found["hint"]) == (
            ["gone", "gone.t"],
            "pysync verify gone --target replica --repair",
        )
    done = pysync("why", "gone.t", "-c", stage.config_file)
    assert "run: pysync verify gone --target replica --repair" in done.stdout, "a refresh of the table is parked"
    done = pysync(*found["hint"].split()[1:], "-c", stage.config_file, seconds=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json_of(stage, "wait", "gone")["code"] == "there"
    assert target.table("gone", "t") is not None


def test_of_a_target_that_hangs_it_is_not_said_that_it_has_anything(stage: Stage, source: Metastore) -> None:
    create(source, "seen")
    assert json_of(stage, "wait", "shop.seen")["code"] == "there"
    os.kill(stage.target.pid, signal.SIGSTOP)
    try:
        found = json_of(stage, "wait", "shop.seen", "--timeout", "4s", code=3)
        assert (found["state"], found["code"]) == ("waits", "target_away")
        (there,) = json_of(stage, "status", "--object", "shop.seen")["targets"]
        assert there["not_looked_at"] == ["target"]
    finally:
        os.kill(stage.target.pid, signal.SIGCONT)
    assert json_of(stage, "wait", "shop.seen")["code"] == "there"


def test_a_hold_that_ends_too_early_is_told(stage: Stage, source: Metastore) -> None:
    directory = stage.config.queue.directory
    found = waited(directory, "shop", "replica", consistent=True, pin=30)
    ask(directory, "pause", target="replica")  # interrupts what is under way: it comes again
    ask(directory, "resume", target="replica")
    until = time.monotonic() + 60
    while stage.status()["targets"][0]["pinned"] and time.monotonic() < until:
        time.sleep(0.1)
    assert not release(directory, found)


def test_a_command_runs_while_the_database_is_pinned(stage: Stage, tmp_path: Path) -> None:
    file = tmp_path / "made"
    program = f"import pathlib; pathlib.Path({str(file)!r}).touch(); raise SystemExit(7)"
    found = json_of(stage, "wait", "shop", "--consistent", "--", sys.executable, "-c", program, code=7)
    assert (found["state"], found["pinned"], found["exit_code"], file.exists()) == ("there", True, 7, True)
    assert stage.status()["targets"][0]["pinned"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("wait", "shop", "--for-id", "3", "--now"),
        ("wait", "shop", "--", "true"),
        ("wait", "shop", "--pin", "1m"),
        ("wait", "shop", "--timeout", "5"),
        ("wait", "shop.orders", "--consistent"),
        ("status", "--object", "shop", "--watch"),
        ("wait", "shop", "--consistent", "--pin", "2h"),
    ],
)
def test_what_does_not_fit_together_is_refused(stage: Stage, arguments: tuple[str, ...]) -> None:
    done = pysync(arguments[0], "-c", stage.config_file, *arguments[1:])
    assert done.returncode == 2, done.stderr
