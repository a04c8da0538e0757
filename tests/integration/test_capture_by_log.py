"""The sidecar with `capture = "notification-log"`: no bridge and no token, the log of a metastore instead."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.events import create_table
from tests.support.logged import LoggedMetastore
from tests.support.notifications import ServedLog, recorded, row, served
from tests.support.sidecars import FaultyPlace, assert_one_line, pysync, pysync_here, send, sidecar, wait_for

pytestmark = pytest.mark.smoke


class LogPlace(FaultyPlace):
    """Its source is polled at `uri`; there is no token file. `include` is what the target takes."""

    uri = ""
    include = "*"

    def target(self) -> str:
        return f'{super().target()}\ninclude = ["{self.include}"]'

    def only(self, database: str) -> None:
        """Take this database alone: a shared metastore has what other tests left, and a comparison reads all of it."""
        self.include = database
        self.write()

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
        assert "notification log: running" in pysync_here("status", "-c", place.file).stdout
        assert running.stop() == 0
    more = put(log, 5)
    with sidecar(place) as running:
        wait_until(lambda: followed(running)["position"] == more, what="the log's end after the restart")
        assert wait_for(running, queued=0)["position"] > before
    assert "Traceback" not in running.log()


def test_check_says_where_the_log_is_or_what_is_wrong_with_it(place, log):
    place.polled(log.uri)
    found = {it["what"]: it for it in json.loads(pysync_here("check", "-c", place.file, "--json").stdout)}
    assert found["notification log"]["ok"]
    assert "token file" not in found
    log.log.rows.clear()
    log.log.newest = 0
    found = {it["what"]: it for it in json.loads(pysync_here("check", "-c", place.file, "--json").stdout)}
    assert not found["notification log"]["ok"]
    assert "DbNotificationListener" in found["notification log"]["detail"]


def test_without_the_address_of_the_metastore_there_is_nothing_to_poll(place):
    text = place.file.read_text()
    place.file.write_text(text.replace('name = "onprem"', 'name = "onprem"\ncapture = "notification-log"', 1))
    assert_one_line(pysync("run", "-c", place.file), 2, "source", "set metastore")


# --- what reads a real metastore


@pytest.fixture
def logged(shared_metastore):
    server = LoggedMetastore(shared_metastore.uri, 7)
    yield server
    server.close()


@pytest.fixture
def metastore(shared_metastore):
    with Metastore(shared_metastore.uri) as found:
        yield found


def gaps(running) -> list[tuple[str, str]]:
    """The reasons and states of the gaps, the oldest first."""
    return [(gap["reason"], gap["state"]) for gap in reversed(running.status()["gaps"])]


def is_whole(running) -> bool:
    found = gaps(running)
    return bool(found) and all(state == "closed" for _, state in found)


def done_to(running, name: str, what: str = "--table") -> set[tuple[str, str]]:
    """The operations on a table (or database) at the target, and their outcomes."""
    running.wait_for_journal()
    answer = json.loads(pysync_here("actions", what, name, "-c", running.place.file, "--json").stdout)
    return {(it["operation"], it["outcome"]) for it in answer["records"]}


def test_a_spoiled_message_costs_one_table_and_no_comparison(place, logged, metastore):
    database = new_database(metastore)
    place.only(database)
    place.polled(logged.uri)
    with sidecar(place) as running:
        wait_until(lambda: is_whole(running), what="the comparison with the new target")
        for name in ("spoiled", "of_the_future"):
            metastore.call(lambda client, name=name: client.create_table(table(database, name)))
        function = hive.Function("f", database, "org.F", "ann", 1, 0, 1, [])
        metastore.call(lambda client: client.create_function(function))
        kinds = {
            "spoiled": "CREATE_TABLE",
            "of_the_future": "REBUCKET_TABLE",
            "gone": "DROP_TABLE",
            None: "CREATE_FUNCTION",
        }
        for at, (name, kind) in enumerate(kinds.items(), 8):
            logged.log.rows.append(row(at, kind=kind, database=database, table=name, message="?"))
        wait_until(lambda: followed(running)["position"] == 11, what="the log's end")
        assert wait_for(running, queued=0)["parked"] == 0
        assert len(gaps(running)) == 1, "everything was compared again"
        assert followed(running)["counts"] == {"events": 4, "ignored": 0, "unread": 4, "gaps": 0}
        for name in ("spoiled", "of_the_future"):
            assert done_to(running, f"{database}.{name}") == {("Refresh", "applied")}
        assert {it for it, _ in done_to(running, database, "--database")} == {"Refresh"}, "more than reading was done"
    assert "Traceback" not in running.log()


@pytest.mark.crash
def test_a_switch_is_compared_once_changes_are_captured_again(place, logged, metastore):
    database = new_database(metastore)
    place.only(database)
    text = place.file.read_text().replace('name = "onprem"', f'name = "onprem"\nmetastore = "{logged.uri}"', 1)
    by_log = 'name = "onprem"\ncapture = "notification-log"\npoll_seconds = 0.05'
    place.file.write_text(text)
    with sidecar(place) as running:
        wait_until(lambda: is_whole(running), what="the comparison with the new target")
        send(running, lambda number: create_table(f"{database}.first", sequence=number))
    metastore.call(lambda client: client.create_table(table(database, "between")))
    place.file.write_text(text.replace('name = "onprem"', by_log, 1))
    refused = logged.refuse = RuntimeError("not allowed")
    with sidecar(place) as running:
        wait_until(lambda: followed(running)["last_error"] is not None, what="the refusal")
        assert gaps(running)[-1][1] != "closed", "changes are not captured yet"
        assert logged.refuse is refused
        metastore.call(lambda client: client.create_table(table(database, "while_refused")))
        logged.refuse = None
        wait_until(lambda: is_whole(running), what="the comparison after the switch to the log")
        assert [reason.partition(":")[0] for reason, _ in gaps(running)[1:]] == [
            "capture was switched from listener to notification-log"
        ]
        assert running.status()["listeners"] == [], "no listener is expected any more"
        for name in ("between", "while_refused"):
            assert ("Refresh", "applied") in done_to(running, f"{database}.{name}")
    place.file.write_text(text)
    with sidecar(place) as running:
        metastore.call(lambda client: client.create_table(table(database, "unheard")))
        assert gaps(running)[-1][1] == "open", "no listener has reported"
        send(running, lambda number: create_table(f"{database}.last", sequence=number), first=2)
        wait_until(lambda: is_whole(running), what="the comparison after the switch back")
        assert ("Refresh", "applied") in done_to(running, f"{database}.unheard")


def test_a_second_sidecar_on_the_same_log_and_queue_is_refused(place, log):
    place.polled(log.uri)
    with sidecar(place) as running:
        assert_one_line(pysync("run", "-c", place.file), 1, str(place.queue))
        log.log.rows += [row(2), row(3)]
        wait_until(lambda: followed(running)["position"] == 3, what="the log's end")
        assert wait_for(running, queued=0)["parked"] == 0
