"""The sidecar with `capture = "notification-log"`: no bridge and no token, the log of a metastore instead."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support import wait_until
from tests.support.notifications import ServedLog, recorded, row, served
from tests.support.sidecars import FaultyPlace, assert_one_line, pysync, sidecar, wait_for


class LogPlace(FaultyPlace):
    """Its source is polled at `uri`; there is no token file."""

    uri = ""

    def polled(self, uri: str) -> LogPlace:
        self.uri = uri
        self.token.unlink()
        self.write()
        text = self.file.read_text()
        source = f'name = "onprem"\nmetastore = "{uri}"\ncapture = "notification-log"\npoll_seconds = 0.05'
        self.file.write_text(text.replace('name = "onprem"', source, 1))
        return self


@pytest.fixture
def place(tmp_path):
    return LogPlace(tmp_path)


@pytest.fixture
def log():
    with served([row(1)]) as found:
        yield found


def followed(running) -> dict:
    return running.status()["notification_log"]


def put(log: ServedLog, count: int) -> int:
    """The first recorded rows, behind those that are there; returns the last id."""
    last = log.log.current()
    log.log.rows += [replace(found, id=last + at) for at, found in enumerate(recorded("2.3")[:count], 1)]
    return log.log.current()


def test_what_the_log_tells_reaches_the_target_also_after_a_restart(place, log):
    place.polled(log.uri)
    with sidecar(place) as running:
        wait_until(lambda: followed(running)["state"] == "running", what="the poller")
        assert running.status()["bridge"] is None
        last = put(log, 5)
        wait_until(lambda: followed(running)["position"] == last, what="the log's end")
        before = wait_for(running, queued=0)["position"]
        assert before >= 1
        assert "notification log: running" in pysync("status", "-c", place.file).stdout
        assert running.stop() == 0
    more = put(log, 5)
    with sidecar(place) as running:
        wait_until(lambda: followed(running)["position"] == more, what="the log's end after the restart")
        assert wait_for(running, queued=0)["position"] > before
    assert "Traceback" not in running.log()


def test_check_says_where_the_log_is_or_what_is_wrong_with_it(place, log):
    place.polled(log.uri)
    found = {it["what"]: it for it in json.loads(pysync("check", "-c", place.file, "--json").stdout)}
    assert found["notification log"]["ok"]
    assert "token file" not in found
    log.log.rows.clear()
    log.log.newest = 0
    found = {it["what"]: it for it in json.loads(pysync("check", "-c", place.file, "--json").stdout)}
    assert not found["notification log"]["ok"]
    assert "DbNotificationListener" in found["notification log"]["detail"]


def test_without_the_address_of_the_metastore_there_is_nothing_to_poll(place):
    text = place.file.read_text()
    place.file.write_text(text.replace('name = "onprem"', 'name = "onprem"\ncapture = "notification-log"', 1))
    assert_one_line(pysync("run", "-c", place.file), 2, "source", "set metastore")
