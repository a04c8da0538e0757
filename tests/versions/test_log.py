"""Hive's own notification log, on released servers whose DbNotificationListener writes it.

3.1 writes `json-0.2`, 4.x `gzip(json-2.0)`. 2.3's is in tests/integration: recorded rows.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.config import load_config
from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.queue import EventQueue
from tests.support import new_database, partition, table, wait_until
from tests.support.spools import spooled
from tests.support.stages import assert_converges, is_at_rest, wait_until_compared
from tests.support.statistics import columns, delete, of_columns, plain, read, write, write_all
from tests.versions.body import Body, version_of
from tests.versions.conftest import Report, Row
from tests.versions.server import metastore_of
from tests.versions.test_catalogs import Other, create_ours, ours
from tests.versions.test_pairs import judged, need, settle

VERSIONS = ("3.1.3", "4.2.0")
FORMATS = {"3.1.3": "json-0.2", "4.2.0": "gzip(json-2.0)"}
AUTH = "hive.metastore.event.db.notification.api.auth"
SECONDS = 120.0


def without_listener(version: str, **own: str) -> Callable[..., EmbeddedMetastore]:
    """What makes metastores that keep a log, and have no other listener; `own` are further settings."""

    def make(
        directory: Path, *, overrides: Mapping[str, str] | None = None, jars: Sequence[Path] = (), **more: Any
    ) -> EmbeddedMetastore:
        assert overrides
        assert jars, "those of the listener, which is left out"
        return metastore_of(version, notification_log=True)(directory, overrides=own, **more)

    return make


def follow_the_log(stage: Stage) -> None:
    """Have the sidecar read the log instead of waiting for a listener."""
    text = stage.config_file.read_text(encoding="utf-8")
    log = 'silence_seconds = 5\ncapture = "notification-log"\npoll_seconds = 0.2'
    stage.config_file.write_text(text.replace("silence_seconds = 5", log, 1), encoding="utf-8")
    stage.config = load_config(stage.config_file)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_log_tells_ends_equal(version: str, tmp_path: Path, report: Report) -> None:
    need(report, version)
    with Stage(tmp_path, source=without_listener(version), target=metastore_of(version)) as stage:
        follow_the_log(stage)
        stage.target.start()
        stage.source.start()
        with Metastore(stage.source.uri) as metastore:
            body = Body(metastore, version_of(version), f"file:{tmp_path}/data")
            metastore.call(lambda client: client.create_table(table("default", "first")))  # a log that is empty is none
            stage.start_sidecar()
            wait_until(lambda: state(stage) == "running", seconds=SECONDS, what="following the log")
            wait_until_compared(stage)  # which would bring everything, too
            for part in (body.databases, body.tables, body.skewed, body.partitions, body.odd_partitions, body.alters):
                part()
            for part in (body.renames, body.exchange, body.views, body.functions, body.keys, body.newer_constraints):
                part()  # no inserts: Hive's listener reads the files, which are not there
            body.drops()
            metastore.call(lambda client: client.open_txns(hive.OpenTxnRequest(1, "ann", "host")))
            settle(stage)
            found = judged(stage, version, version)
            row = (body.statements, found.objects, found.parts, found.known, len(found.unknown), 0.0)
            report.rows.append(Row(f"{version} by its log", *row))
            assert not found.unknown, found.unknown
            assert stage.status()["targets"][0]["parked"] == 0
            followed = stage.status()["notification_log"]
            assert (followed["counts"]["gaps"], followed["counts"]["unread"]) == (0, 0), followed
            assert followed["left_out"] == {"OPEN_TXN": 1}, followed
            log = stage.sidecar_log.read_text(encoding="utf-8")
            assert log.count("notification_left_out") == 1
            assert stage.status()["bridge"] is None
            answer = metastore.call(lambda client: client.get_next_notification(_request()))
            assert {event.messageFormat for event in answer.events} == {FORMATS[version]}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_that_is_refused_is_one_clear_line(version: str, tmp_path: Path, report: Report) -> None:
    need(report, version)
    with Stage(tmp_path, source=without_listener(version, **{AUTH: "true"})) as stage:
        follow_the_log(stage)
        stage.target.start()
        stage.source.start()
        command = [sys.executable, "-m", "pysync", "check", "-c", str(stage.config_file), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 1, done
        assert f"{AUTH}=false" in done.stdout, done
        assert "Traceback" not in done.stdout + done.stderr
        stage.start_sidecar()
        wait_until(lambda: state(stage) == "waiting", seconds=SECONDS, what="telling of the refusal")
        reported = stage.status()["notification_log"]["last_error"]["reason"]
        assert f"{AUTH}=false" in reported
        assert "\n" not in reported
        assert stage.status()["targets"][0]["parked"] == 0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_gap_is_closed_by_what_the_log_names(version: str, tmp_path: Path, report: Report) -> None:
    need(report, version)
    made = metastore_of(version, notification_log=True)
    with Stage(tmp_path, database="disk", source=made) as stage:
        stage.target.start()
        stage.source.start()
        with Metastore(stage.source.uri) as metastore:
            one, two = new_database(metastore, "one"), new_database(metastore, "two")
            for database in (one, two):
                metastore.call(lambda client, of=database: client.create_table(table(of, "before")))
            wait_until(lambda: nothing_missing_so_far(stage) >= 4, seconds=SECONDS, what="noting what is certain")
            metastore.call(lambda client: client.create_table(table(one, "unheard")))
            metastore.call(lambda client: client.drop_table(two, "before", False))
            wait_until(lambda: bool(spooled(stage.directory / "spool")), seconds=30, what="spooling")
        stage.source.kill()
        for file in spooled(stage.directory / "spool"):
            file.unlink()
        stage.source.start()
        words = len(stage.sidecar_log.read_text(encoding="utf-8"))
        stage.start_sidecar()
        wait_until(lambda: closed(stage), seconds=SECONDS, what="closing the gap")
        assert_converges(stage, SECONDS)
        log = stage.sidecar_log.read_text(encoding="utf-8")[words:]
        asked = [int(number) for number in re.findall(r"queued +refreshes=(\d+)", log)]
        assert asked == [6], "the databases there are, two of them and three tables: `default` is not in the log"


@pytest.mark.timeout(600)
def test_the_log_of_hive_4_brings_statistics(tmp_path: Path, report: Report) -> None:
    need(report, "4.2.0")
    with Stage(tmp_path, options='statistics = "columns"\n', source=without_listener("4.2.0")) as stage:
        follow_the_log(stage)
        stage.target.start()
        stage.source.start()
        with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
            name = TableName(new_database(source), "t")
            new = table(name.database, "t", partition_keys=[("k", "string")])
            new.sd.cols = columns()
            source.call(lambda client: client.create_table(new))
            new = source.table(name.database, "t")
            source.call(lambda client: client.add_partitions([partition(new, ["a/b"]), partition(new, ["2"])]))
            stage.start_sidecar()
            wait_until_compared(stage)
            write(source, name, of_columns(1))
            write(source, name, of_columns(2), "k=a%2Fb")
            write_all(source, name, {"k=2": of_columns(3)})
            delete(source, name, "id")
            delete(source, name, "sum", "k=2")
            wanted = {"": plain(of_columns(1)), "k=a%2Fb": plain(of_columns(2)), "k=2": plain(of_columns(3))}
            del wanted[""]["id"], wanted["k=2"]["sum"]
            wait_until(lambda: read(target, name, "k=a%2Fb", "k=2") == wanted, seconds=SECONDS, what="the statistics")
            assert stage.status()["targets"][0]["parked"] == 0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_of_another_catalog_comes_by_the_log(version: str, tmp_path: Path, report: Report) -> None:
    need(report, version)
    with Stage(tmp_path, source=without_listener(version), target=metastore_of(version)) as stage:
        follow_the_log(stage)
        stage.target.start()
        stage.source.start()
        with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
            create_ours(source, f"file:{tmp_path}/data")
            stage.start_sidecar()
            wait_until_compared(stage)
            settle(stage)
            before = ours(target)
            assert (before["tables"], len(before["partitions"]), len(before["constraints"])) == (["t"], 2, 1)
            second = Other(source, version_of(version), f"file:{tmp_path}/data")
            done = list(second.statements(inserts=False))
            settle(stage)
            assert ours(target) == before
            followed = stage.status()["notification_log"]
            assert followed["counts"]["ignored"] >= len(done) > 8
            assert (followed["counts"]["gaps"], stage.status()["targets"][0]["parked"]) == (0, 0)


@pytest.mark.timeout(600)
def test_capture_can_be_switched_to_the_log_and_back(tmp_path: Path, report: Report) -> None:
    need(report, "3.1.3")
    with Stage(tmp_path, source=metastore_of("3.1.3", notification_log=True)) as stage:
        stage.target.start()
        stage.source.start()
        by_listener = stage.config_file.read_text(encoding="utf-8")
        with Metastore(stage.source.uri) as metastore:
            database = new_database(metastore)

            def change(number: int) -> None:
                metastore.call(lambda client: client.create_table(table(database, f"t{number}")))
                if number:
                    metastore.call(lambda client: client.drop_table(database, f"t{number - 1}", False))

            change(0)
            stage.start_sidecar()
            assert_converges(stage)
            for number in (1, 4):
                stage.kill_sidecar()
                change(number)
                follow_the_log(stage)
                stage.start_sidecar()
                assert_converges(stage, SECONDS)
                change(number + 1)
                assert_converges(stage, SECONDS)
                stage.kill_sidecar()
                change(number + 2)
                stage.config_file.write_text(by_listener, encoding="utf-8")
                stage.start_sidecar()
                assert_converges(stage, SECONDS)
        reasons = [gap["reason"] for gap in stage.status()["gaps"]]
        assert sum("switched from listener" in it for it in reasons) == 2
        assert sum("switched from notification-log" in it for it in reasons) == 2


def state(stage: Stage) -> str:
    return str(stage.status()["notification_log"]["state"])


def closed(stage: Stage) -> bool:
    gaps = [gap for gap in stage.status()["gaps"] if "metastore" in gap["reason"]]
    return bool(gaps) and all(gap["state"] == "closed" for gap in gaps)


def nothing_missing_so_far(stage: Stage) -> int:
    """Up to which id of the log the sidecar is certain: it notes that when it has looked, and is stopped then."""
    stage.start_sidecar()
    try:
        wait_until(lambda: is_at_rest(stage), seconds=SECONDS, what="the replay")
        time.sleep(3)  # some looks; it is done again until it was enough
    finally:
        stage.kill_sidecar()
    queue = EventQueue(stage.config.queue.directory)
    try:
        return int(queue.notes.get("notification-id") or 0)
    finally:
        queue.close()


def _request() -> Any:
    return hive.NotificationEventRequest(0, 1000)
