"""`pysync repl` as people type it: what it prints, its exit codes, and kills between the steps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pysync.base.errors import PysyncError
from pysync.control.client import ask
from tests.support import wait_until
from tests.support.repls import NEWEST, Repl
from tests.support.sidecars import assert_one_line, command, sidecar

SECONDS = 240.0
UPTO = NEWEST + 6


@pytest.fixture
def repl(shared_metastore, tmp_path: Path) -> Iterator[Repl]:
    world = Repl(tmp_path, shared_metastore.uri)
    yield world
    world.close()


def pysync(world: Repl, side: str, *arguments: object, crash: str = "") -> subprocess.CompletedProcess[str]:
    """`pysync ARGUMENTS -c here.toml` (or there.toml)."""
    config = world.directory / f"{side}.toml"
    environment = {**os.environ, "PYSYNC_CRASH": crash}
    line = command([*arguments, "-c", config])
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)


def named(world: Repl, text: str) -> str:
    return text.replace("{db}", world.db).replace("{there}", world.there)


def printed(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.crash
def test_the_three_commands_as_people_type_them(repl: Repl) -> None:
    text = named(repl, "REPL DUMP {db}.['T3', '[a-z]+'] WITH ('hive.repl.dump.metadata.only'='true', 'hive.x'='1');")
    dumped = pysync(repl, "here", "repl", text)
    head, (directory, last) = printed(dumped)
    assert (head, last) == (["dump_dir", "last_repl_id"], str(UPTO))
    assert Path(directory).parent == repl.root
    assert dumped.stderr.splitlines() == [
        "warning: WITH 'hive.x' has no meaning in pysync and is ignored (docs/dump.md)"
    ]
    status = named(repl, "repl status {there};")
    assert printed(pysync(repl, "there", "repl", status)) == [["last_repl_id"], ["NULL"]]
    plan = json.loads(pysync(repl, "there", "load", directory, "--dry-run", "--json").stdout)["targets"][0]
    assert plan["put"] == [f"{repl.there}.{name}" for name in ("orders", "stores", "t3")]
    assert (plan["drop"], plan["drops"]) == ([], 0)
    assert repl.there not in repl.target.databases(), "a plan changes nothing"

    load = named(repl, f"REPL LOAD {{there}} FROM '{directory}'")
    for crash in ("append.committed:1", "apply.done:2"):
        assert pysync(repl, "there", "repl", load, crash=crash).returncode == -signal.SIGKILL
    loaded = pysync(repl, "there", "repl", load)
    assert (loaded.returncode, loaded.stdout) == (0, ""), loaded.stderr
    assert repl.tables() == ["orders", "stores", "t3"]
    found = json.loads(pysync(repl, "there", "repl", status, "--json").stdout)
    assert found == {"last_repl_id": UPTO, "targets": [{"name": "dr", "last_repl_id": UPTO}], "ignored": []}

    wrong = pysync(repl, "here", "repl", "REPL DUMP sales.['a' FROM 3")
    assert_one_line(wrong, 2, "cannot read the REPL command: column 22: expected ',' or ']', found 'FROM'")
    assert_one_line(pysync(repl, "there", "repl", "REPL LOAD x FROM hdfs://nn/a"), 2, "not a directory of this machine")
    assert_one_line(pysync(repl, "there", "repl", "REPL LOAD FROM '/nowhere'"), 1, "/nowhere holds no finished dump")
    assert_one_line(pysync(repl, "there", "repl", f"REPL LOAD x FROM {directory}"), 2, "set databases = ")
    assert_one_line(pysync(repl, "there", "repl", status, "--target", "none"), 2, "has no target 'none'")


@pytest.mark.crash
def test_a_replaced_policy_after_kills_is_what_the_new_one_says(repl: Repl) -> None:
    first = json.loads(pysync(repl, "here", "repl", named(repl, "REPL DUMP {db}"), "--json").stdout)
    assert first["last_repl_id"] == UPTO
    pysync(repl, "there", "repl", f"REPL LOAD FROM {first['dump_dir']}")
    assert len(repl.tables()) == 6
    text = named(repl, f"REPL DUMP {{db}}.['[a-z]+'] REPLACE {{db}} FROM {UPTO}")
    directory = json.loads(pysync(repl, "here", "repl", text, "--json").stdout)["dump_dir"]
    plan = json.loads(pysync(repl, "there", "load", directory, "--dry-run", "--json").stdout)["targets"][0]
    assert plan["drop"] == [f"{repl.there}.{name}" for name in ("q4", "q5", "t3", "t400")]
    assert plan["drops"] == 4
    load = f"REPL LOAD FROM {directory}"
    for crash in ("append.committed:1", "apply.done:3", "advance.committed:2", "apply.done:1"):
        assert pysync(repl, "there", "repl", load, crash=crash).returncode in {0, -signal.SIGKILL}
    assert pysync(repl, "there", "repl", load).returncode == 0
    assert repl.tables() == ["orders", "stores"]


@pytest.mark.crash
def test_a_dump_that_is_loaded_is_not_cleaned_and_tells_its_status(repl: Repl) -> None:
    """A person pauses the load; meanwhile REPL STATUS asks it, and REPL DUMP finds the dump too old."""
    first = json.loads(pysync(repl, "here", "repl", named(repl, "REPL DUMP {db}"), "--json").stdout)
    pysync(repl, "there", "repl", f"REPL LOAD FROM {first['dump_dir']}")
    text = named(repl, f"REPL DUMP {{db}}.['orders'] REPLACE {{db}} FROM {UPTO}")
    second = json.loads(pysync(repl, "here", "repl", text, "--json").stdout)
    repl.write("max_calls_per_second = 2")  # it must not be over before it is paused
    loading = subprocess.Popen(
        command(["repl", f"REPL LOAD FROM {second['dump_dir']}", "-c", repl.directory / "there.toml"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: runs(repl), seconds=SECONDS, what="the load")
        assert pysync(repl, "there", "pause", "dr").returncode == 0
        repl.write()
        status = named(repl, "REPL STATUS {there}")
        assert printed(pysync(repl, "there", "repl", status))[1] == [str(UPTO)], "of what is loaded as a whole"
        time.sleep(1.1)
        again = named(repl, "REPL DUMP {db}.[] WITH ('hive.repl.dumpdir.ttl'='1s')")
        third = json.loads(pysync(repl, "here", "repl", again, "--json").stdout)
        assert third["removed"] == [Path(first["dump_dir"]).name]
        left = {"name": Path(second["dump_dir"]).name, "reason": "it is being written or loaded"}
        assert third["left"] == [left]
        assert pysync(repl, "there", "resume", "dr").returncode == 0
        assert loading.wait(SECONDS) == 0
    finally:
        loading.kill()
        loading.communicate()
    assert repl.tables() == ["orders"]


def runs(repl: Repl) -> bool:
    """Whether the load answers."""
    try:
        return bool(ask(repl.directory / "queue", "status")["targets"])
    except PysyncError:  # it is not there yet
        return False


def test_a_name_that_the_source_does_not_have_is_refused(repl: Repl) -> None:
    missing = named(repl, "{db}x")
    for text, words in (
        (f"REPL DUMP {missing}", f"the source has no database {missing}; did you mean {repl.db}?"),
        (f"REPL DUMP {missing}.['a']", f"the source has no database {missing}"),
        (
            named(repl, "REPL DUMP {db}.Order"),
            f"the source has no table {repl.db}.order; did you mean {repl.db}.orders?",
        ),
        (f"REPL DUMP {missing} FROM {NEWEST}", f"the source has no database {missing}"),
    ):
        assert_one_line(pysync(repl, "here", "repl", text), 2, words)
    assert not repl.root.exists() or list(repl.root.iterdir()) == []
    repl.hms.call(lambda client: client.drop_table(repl.db, "orders", False))
    repl.log.touch(repl.db, "orders")
    dropped = pysync(repl, "here", "repl", named(repl, f"REPL DUMP {{db}}.orders FROM {UPTO}"))
    assert dropped.returncode == 0, dropped.stderr
    refused = pysync(repl, "here", "repl", named(repl, "REPL DUMP {db} FROM 1"))
    assert_one_line(refused, 1, "make a full dump: without --from, or FROM in REPL DUMP")


@pytest.mark.crash
def test_a_running_sidecar_says_up_to_which_event_it_has_brought_a_database(repl: Repl) -> None:
    text = (repl.directory / "here.toml").read_text().replace("thrift://127.0.0.1:1", str(repl.target.uri))
    live = repl.directory / "live.toml"
    live.write_text(text.replace("[queue]", 'capture = "notification-log"\n[queue]', 1))
    with sidecar(SimpleNamespace(directory=repl.directory, file=live, queue=repl.directory / "queue")):
        for name in ("{there}", "{db}"):
            asked = named(repl, f"REPL STATUS {name}")
            wait_until(
                lambda it=asked: printed(pysync(repl, "live", "repl", it))[1] == [str(UPTO)],
                seconds=SECONDS,
                what=f"the event id of {name}",
            )
        repl.create("later")
        wait_until(
            lambda: printed(pysync(repl, "live", "repl", asked))[1] == [str(UPTO + 1)],
            seconds=SECONDS,
            what="the next id",
        )
        missing = pysync(repl, "live", "repl", "REPL STATUS nosuch")
        assert_one_line(missing, 2, "database nosuch exists neither at the source nor at a target")
