"""The notification log over thrift: what real metastores wrote, served on a port; and a real metastore without one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.capture.notifications import (
    NotificationLog,
    NotificationLogEmpty,
    NotificationLogRefused,
    Poller,
    Touched,
    poller,
    reaches,
    touched,
)
from pysync.lab import EmbeddedMetastore
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreUnavailable
from pysync.model.change import Change, decode_change
from pysync.model.event import Kind
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from tests.support import new_database, wait_for_value, wait_until
from tests.support.notifications import VERSIONS, ServedLog, recorded, row, served

pytestmark = pytest.mark.smoke

POLL_SECONDS = 0.02


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poller, "_FIRST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(poller, "_LONGEST_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(poller, "_BUG_WAIT_SECONDS", 0.05)


@pytest.fixture
def source() -> Iterator[ServedLog]:
    with served() as log:
        log.databases = {
            name: hive.Database(name=name, locationUri=f"hdfs://a/{name}.db") for name in ("sales", "kept")
        }
        yield log


class Stand:
    """A queue, and a poller on it that can be stopped and started again."""

    def __init__(self, directory: Path, uri: str) -> None:
        self._directory = directory
        self.uri = uri
        self.gaps: list[str] = []
        self.on_gap: Callable[[str], None] = self.gaps.append
        self.start()

    def start(self) -> None:
        """As at the start of a sidecar."""
        self.queue = EventQueue(self._directory, min_free_bytes=0)
        self.queue.target("dr").register()
        self.poller = Poller(self.queue, "onprem", self.uri, self._gap, poll_seconds=POLL_SECONDS)
        self.poller.start()

    def stop(self) -> None:
        """As at its end."""
        self.poller.stop()
        assert self.poller.join(60), "the poller hangs"
        self.queue.close()

    def _gap(self, reason: str) -> None:
        self.on_gap(reason)

    def reaches(self, position: int) -> None:
        wait_until(lambda: self.poller.status()["position"] == position, seconds=60, what=f"position {position}")

    def changes(self) -> list[Change]:
        events = [(decode_event(found.data), found.position) for found in self.queue.target("dr").window(10_000, 10**9)]
        found = [decode_change(*event) for event in events]
        assert None not in found
        return [change for change in found if change is not None]

    def ids(self) -> list[int | None]:
        return [change.event.notification_id for change in self.changes()]


@pytest.fixture
def stands(tmp_path: Path) -> Iterator[Callable[[str], Stand]]:
    made: list[Stand] = []

    def make(uri: str) -> Stand:
        made.append(Stand(tmp_path / "queue", uri))
        return made[-1]

    yield make
    for stand in made:
        stand.stop()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_metastore_wrote_is_in_the_queue_in_order(source, stands, version):
    stand = stands(source.uri)
    stand.reaches(0)
    source.log.rows = recorded(version)
    last = source.log.rows[-1].id
    stand.reaches(last)
    assert stand.ids() == list(range(1, last + 1))
    changes = stand.changes()
    assert (changes[0].kind, changes[0].after[0].name) == (Kind.CREATE_DATABASE, "sales")
    assert [found.values for found in changes[3].after] == [["a/b=c:d", "0"], ["a/b=c:d", "1"], ["a/b=c:d", "2"]]
    assert str(changes[9].new_table_name) == "sales.renamed"
    assert changes[-1].database == "kept"
    assert stand.gaps == []
    assert stand.poller.status()["counts"] == {"events": last, "ignored": 0, "unread": 0, "gaps": 0}


def test_it_lives_through_restarts_of_either_side(source, stands):
    stand = stands(source.uri)
    stand.reaches(0)
    everything = recorded("3.1")
    for upto in (4, 9, 10, 22, 30):
        source.log.rows = everything[:upto]
        stand.reaches(upto)
        stand.stop()
        source.cut()
        stand.start()
    assert list(dict.fromkeys(stand.ids())) == [found.id for found in everything]
    (instance,) = stand.queue.intake.instances()
    assert instance.missing == ()


def test_a_source_that_is_away_is_waited_for_and_the_state_tells(source, stands):
    stand = stands(source.uri)
    stand.reaches(0)
    source.log.rows = recorded("3.1")[:3]
    stand.reaches(3)
    source.away.set()
    source.cut()
    wait_until(lambda: stand.poller.status()["state"] == "waiting", what="the state")
    assert "metastore" in stand.poller.status()["last_error"]["reason"]
    source.log.rows = recorded("3.1")
    source.away.clear()
    stand.reaches(30)
    wait_until(lambda: stand.poller.status()["state"] == "running", what="the state")
    assert stand.ids() == list(range(1, 31))


def test_nothing_listens_and_it_starts_all_the_same(stands):
    stand = stands("thrift://127.0.0.1:1")
    wait_until(lambda: stand.poller.status()["state"] == "waiting", what="the state")
    assert stand.poller.status()["position"] is None
    assert "thrift://127.0.0.1:1" in stand.poller.status()["last_error"]["reason"]


def test_a_metastore_that_refuses_its_log_is_waited_for_with_a_hint(source, stands):
    source.refuse = RuntimeError("User pysync is not allowed to perform this API call")
    stand = stands(source.uri)
    wait_until(lambda: stand.poller.status()["state"] == "waiting", what="the state")
    reason = stand.poller.status()["last_error"]["reason"]
    assert "notification.api.auth=false" in reason
    assert source.uri in reason
    source.refuse = None
    stand.reaches(0)


def test_the_gap_callback_may_fail_and_is_called_again(source, stands):
    source.log.rows = [row(1)]
    stand = stands(source.uri)
    stand.reaches(1)
    failed = threading.Event()

    def fail_once(reason: str) -> None:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("the healer stumbled")
        stand.gaps.append(reason)

    stand.on_gap = fail_once
    source.log.rows = [row(9), row(10)]
    stand.reaches(10)
    assert failed.is_set()
    assert len(stand.gaps) == 1
    assert "2 to 8" in stand.gaps[0]
    assert list(dict.fromkeys(stand.ids())) == [9, 10]
    assert stand.poller.status()["last_error"]["reason"] == "RuntimeError: the healer stumbled"


def test_a_late_twin_and_a_full_page_come_over_the_wire(source, stands):
    stand = stands(source.uri)
    stand.reaches(0)
    source.log.rows = [row(number) for number in range(1, 1203)]
    stand.reaches(1202)
    source.log.rows = [*source.log.rows, row(1150, "late")]
    wait_for_value(stand.ids, [*range(1, 1203), 1150], what="the late twin")


def test_a_late_twin_is_taken_though_reporting_a_gap_failed_and_the_log_is_quiet(source, stands):
    stand = stands(source.uri)
    stand.reaches(0)
    source.log.rows = [row(1), row(2)]
    stand.reaches(2)
    failed = threading.Event()

    def fail_once(reason: str) -> None:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("the healer stumbled")
        stand.gaps.append(reason)

    stand.on_gap = fail_once
    source.log.rows = [row(1), row(1, "late"), row(2, "spoiled", kind="ALTER_TABLE", message="?"), row(2)]
    wait_until(lambda: bool(stand.gaps), seconds=60, what="the gap")
    assert set(stand.ids()) == {1, 2}
    assert stand.ids().count(1) >= 2


def test_a_message_that_is_no_text_is_unread_alone(source, stands):
    """The rows beside it are replayed, and its object is read at the source."""
    stand = stands(source.uri)
    stand.reaches(0)
    source.log.rows = [row(1), replace(row(2), message=b"\xff"), row(3)]
    stand.reaches(3)
    assert (stand.ids(), stand.gaps) == ([1, 2, 3], [])
    assert stand.queue.intake.unreadable()[0].data == b"\xff"


def test_the_end_does_not_wait_for_the_source(source, stands):
    source.away.set()
    stand = stands(source.uri)
    wait_until(lambda: stand.poller.status()["state"] == "waiting", what="the state")
    stand.poller.stop()
    assert stand.poller.join(60)
    assert stand.poller.status()["state"] == "stopped"


def test_the_queue_is_closed_under_it_and_it_ends(source, stands):
    stand = stands(source.uri)
    stand.reaches(0)
    stand.queue.close()
    source.log.rows = [row(1)]
    assert stand.poller.join(60)
    assert stand.poller.status()["state"] == "stopped"


# --- the log itself


def test_a_row_comes_whole_with_its_catalog(source):
    source.log.rows = recorded("4.0")
    with Metastore(source.uri) as metastore:
        assert NotificationLog(metastore).after(0) == recorded("4.0")
        assert NotificationLog(metastore).after(27, 1) == recorded("4.0")[27:28]
        assert NotificationLog(metastore).after(500) == []
        assert NotificationLog(metastore).current() == 29


@pytest.mark.parametrize("call", [NotificationLog.current, lambda log: log.after(0)])
@pytest.mark.parametrize("error", [RuntimeError("not allowed"), hive.MetaException("not allowed")])
def test_a_refusal_is_one_line_with_a_hint(source, call, error):
    """Hive 3.1 and 4.0 answer an "Internal error", whatever the reason."""
    source.refuse = error
    with Metastore(source.uri, timeout=5) as metastore, pytest.raises(NotificationLogRefused) as caught:
        call(NotificationLog(metastore))
    assert str(caught.value).startswith(
        f"the metastore at {source.uri} refuses to read its notification log: Internal error; "
    )
    assert "notification.api.auth=false" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_metastore_that_is_not_there_is_unavailable():
    with pytest.raises(MetastoreUnavailable), Metastore("thrift://127.0.0.1:1") as metastore:
        NotificationLog(metastore).current()


def test_a_real_metastore_without_the_listener_has_an_empty_log(shared_metastore: EmbeddedMetastore, stands: Any):
    with Metastore(shared_metastore.uri) as metastore:
        new_database(metastore)
        log = NotificationLog(metastore)
        assert (log.current(), log.after(0), list(touched(metastore, 0))) == (0, [], [])
        with pytest.raises(NotificationLogEmpty, match="DbNotificationListener"):
            log.expected()
        assert reaches(metastore, 0)
    stand = stands(shared_metastore.uri)
    wait_until(lambda: stand.poller.status()["state"] == "waiting", what="the state")
    assert (stand.poller.status()["position"], stand.ids(), stand.gaps) == (0, [], [])
    assert "DbNotificationListener" in stand.poller.status()["last_error"]["reason"]


# --- what it touched


@pytest.mark.parametrize("version", VERSIONS)
def test_touched_names_every_object_of_the_stream(source, version):
    source.log.rows = recorded(version)
    with Metastore(source.uri) as metastore:
        found = list(touched(metastore, 0))
    names = {(item.database, item.table) for item in found}
    assert names == {
        ("sales", None),
        ("kept", None),
        *(("sales", name) for name in ("plain", "keyed", "renamed", "v")),
    }
    assert [item.id for item in found] == sorted(item.id for item in found)
    assert {item.id for item in found} == {item.id for item in recorded(version)}
    assert found[0] == Touched("sales", None, "CREATE_DATABASE", 1)


def test_touched_names_both_names_of_a_rename_and_both_tables_of_a_foreign_key(source):
    source.log.rows = recorded("3.1")
    with Metastore(source.uri) as metastore:
        found = list(touched(metastore, 9))
    assert [item.table for item in found if item.id == 10] == ["renamed", "plain"]
    assert sorted(item.table or "" for item in found if item.kind == "ADD_FOREIGNKEY") == ["keyed", "renamed"]


def test_touched_needs_no_message_and_knows_no_kinds(source):
    source.log.rows = [
        row(1, kind="ALTER_TABLE", message="?", format="of the future", database="DB", table="T"),
        row(2, kind="ADD_FOREIGNKEY", message='{"foreignKeyListJson": ["?"]}'),
        row(3, kind="OF_THE_FUTURE", table=None),
        row(4, kind="OPEN_TXN", database=None, table=None),
        row(5, catalog="spark"),
    ]
    with Metastore(source.uri) as metastore:
        found = list(touched(metastore, 0))
    assert found == [
        Touched("db", "t", "ALTER_TABLE", 1),
        Touched("db", "t2", "ADD_FOREIGNKEY", 2),
        Touched("db", None, "OF_THE_FUTURE", 3),
    ]
    with Metastore(MetastoreAccess.of(source.uri, catalogs=("spark",))) as metastore:
        assert list(touched(metastore, 0)) == [*found, Touched("@spark#db", "t5", "DROP_TABLE", 5)]


@pytest.mark.parametrize(
    ("ids", "newest", "since", "answer"),
    [
        ([1, 2, 3], None, 0, True),
        ([1, 2, 3], None, 3, True),
        ([3, 4], None, 2, True),
        ([3, 4], None, 1, False),
        ([], 9, 5, False),
        ([], 9, 9, True),
        ([1], None, 7, False),
        ([], None, 0, True),
    ],
)
def test_whether_the_log_reaches_back(source, ids, newest, since, answer):
    source.log.rows, source.log.newest = [row(number) for number in ids], newest
    with Metastore(source.uri) as metastore:
        assert reaches(metastore, since) is answer
