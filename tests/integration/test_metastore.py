"""The connection to a metastore, when all is well and when not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from pysync.lab import EmbeddedMetastore
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.errors import (
    MetastoreCallFailed,
    MetastoreRequestInvalid,
    MetastoreUnavailable,
    MetastoreUnsupported,
)
from tests.conftest import Metastores
from tests.support import new_database, partition, table
from tests.support.hanging import stopped

pytestmark = pytest.mark.smoke


@pytest.fixture
def metastore(shared_metastore: EmbeddedMetastore) -> Iterator[Metastore]:
    with Metastore(shared_metastore.uri) as connected:
        yield connected


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The address of a server that reads a request, sends `answer` and closes."""

    def serve() -> None:
        client, _ = server.accept()
        with client:
            client.recv(65536)
            client.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"thrift://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def test_hive_2_3_tells_a_version_that_is_not_its_own(metastore: Metastore) -> None:
    """Nor is it one whose rules would hold: pysync.capture.hive_version does not believe it."""
    assert metastore.version() == "3.0"


def test_what_is_not_there_is_none(metastore: Metastore) -> None:
    database = new_database(metastore)
    assert metastore.database("no_such_database") is None
    assert metastore.table(database, "no_such_table") is None
    assert metastore.table("no_such_database", "t") is None
    assert metastore.function(database, "no_such_function") is None
    assert metastore.tables(database) == metastore.tables("no_such_database") == []
    assert metastore.functions(database) == []


def test_reads_what_is_there(metastore: Metastore) -> None:
    database = new_database(metastore)
    metastore.call(lambda client: client.create_table(table(database, "t", parameters={"k": "ü"})))
    assert database in metastore.databases()
    assert metastore.tables(database) == ["t"]
    found = metastore.table(database, "t")
    assert found is not None
    assert found.tableType == "EXTERNAL_TABLE"
    assert found.parameters["k"] == "ü"


def test_streams_more_partitions_than_one_call_takes(metastore: Metastore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysync.metastore.client.PARTITIONS_PER_CALL", 3)
    database = new_database(metastore)
    metastore.call(lambda client: client.create_table(table(database, "t", partition_keys=[("day", "string")])))
    stored = metastore.table(database, "t")
    values = ["1", "2", "3", "4", "05", "a/b=c:d", "ü é"]
    added = [partition(stored, [value]) for value in values]
    metastore.call(lambda client: client.add_partitions(added))
    assert sorted(found.values[0] for found in metastore.partitions(database, "t")) == sorted(values)
    names = metastore.partition_names(database, "t")
    by_name = sorted(metastore.partitions_by_name(database, "t", names), key=str)
    assert sorted(metastore.first_partitions(database, "t", 100), key=str) == by_name, "they tell the same"
    assert len(metastore.first_partitions(database, "t", 3)) == 3


def test_a_declared_error_comes_as_it_is_and_keeps_the_connection(metastore: Metastore) -> None:
    metastore.databases()
    wire = metastore._wire
    with pytest.raises(ttypes.NoSuchObjectException):
        metastore.call(lambda client: client.get_database("no_such_database"))
    metastore.databases()
    assert metastore._wire is wire


def test_half_a_request_does_not_corrupt_the_next(metastore: Metastore) -> None:
    with pytest.raises(MetastoreRequestInvalid, match="cannot encode a request to"):
        metastore.call(lambda client: client.get_partition_names("default", "t", 40_000))
    assert "default" in metastore.databases()


def test_an_error_of_the_caller_comes_unchanged_and_corrupts_nothing(metastore: Metastore) -> None:
    with pytest.raises(AttributeError):
        metastore.call(lambda client: client.no_such_call())
    assert "default" in metastore.databases()


def test_an_internal_error_of_the_server_is_told(metastore: Metastore) -> None:
    # The tables of transactions are not there, because Hive creates them only by its SQL scripts.
    with pytest.raises(MetastoreCallFailed, match="failed in get_open_txns: Internal error"):
        metastore.call(lambda client: client.get_open_txns())
    assert "default" in metastore.databases()


def test_a_call_that_the_server_does_not_know(metastore: Metastore) -> None:
    def unknown(client: ttypes.TType) -> None:
        client._oprot.writeMessageBegin("get_the_future", 1, 0)
        client._oprot.writeFieldStop()
        client._oprot.trans.flush()
        client.recv_get_all_databases()

    with pytest.raises(MetastoreUnsupported, match="does not know the call get_the_future"):
        metastore.call(unknown)
    assert "default" in metastore.databases()


@pytest.mark.crash
def test_a_server_that_is_down_is_unavailable_and_back_after_its_restart(metastores: Metastores) -> None:
    server = metastores("a")
    with Metastore(server.uri) as metastore:
        metastore.databases()
        server.stop()
        with pytest.raises(MetastoreUnavailable, match=server.uri):
            metastore.databases()
        server.start()
        metastore.databases()
        server.restart()
        metastore.databases()


def test_a_server_that_hangs_leaves_the_outcome_unknown(shared_metastore: EmbeddedMetastore) -> None:
    with Metastore(shared_metastore.uri, timeout=0.5) as metastore:
        metastore.databases()
        with stopped(shared_metastore.pid):
            for _ in range(2):  # on the connection that there is, and on a new one
                with pytest.raises(MetastoreCallFailed, match="did not answer get_all_databases: timed out"):
                    metastore.databases()
    with Metastore(shared_metastore.uri) as metastore:
        assert "default" in metastore.databases()


@pytest.mark.parametrize("answer", [b"", b"\x80\x01\x00\x02\x00\x00\x00\x11get_all", b"SSH-2.0-server\r\n"])
def test_an_answer_that_breaks_off_or_is_none(answer: bytes) -> None:
    failed = pytest.raises(MetastoreCallFailed, match="did not answer get_all_databases")
    with answering(answer) as uri, Metastore(uri, timeout=5) as metastore, failed:
        metastore.databases()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70])
def test_a_host_that_does_not_exist_is_unavailable(host: str) -> None:
    unavailable = pytest.raises(MetastoreUnavailable, match="cannot reach the metastore")
    with Metastore(f"thrift://{host}:9083") as metastore, unavailable:
        metastore.databases()


def churned(uri: str, database: str, name: str, until: threading.Event) -> None:
    """Add and drop one partition, again and again."""
    with Metastore(uri) as metastore:
        part = partition(metastore.table(database, "t"), [name])
        while not until.is_set():
            with suppress(ttypes.MetaException, ttypes.AlreadyExistsException):  # Derby may find a deadlock
                metastore.call(lambda client: client.add_partition(part))
            with suppress(ttypes.MetaException, ttypes.NoSuchObjectException):
                metastore.call(lambda client: client.drop_partition(database, "t", [name], False))


@pytest.mark.crash
def test_partitions_that_are_dropped_while_they_are_read_are_not_there(
    shared_metastore: EmbeddedMetastore, metastore: Metastore
) -> None:
    """HMS reads their values after themselves, and then answers with a partition of no values at all."""
    database, days = new_database(metastore), ["1", "2", "3", "4"]
    made = table(database, "t", partition_keys=[("day", "string")])
    metastore.call(lambda client: client.create_table(made))
    ended, found = threading.Event(), []
    clients = [
        threading.Thread(target=churned, args=(shared_metastore.uri, database, day, ended), daemon=True) for day in days
    ]
    for client in clients:
        client.start()
    deadline = time.monotonic() + 12
    while time.monotonic() < deadline:
        with suppress(ttypes.MetaException):  # it may also fail on a row that is gone
            found += metastore.partitions_by_name(database, "t", [f"day={day}" for day in days])
    ended.set()
    for client in clients:
        client.join()
    assert found
    assert [part for part in found if len(part.values) != 1] == []


def test_a_connection_is_of_the_user_it_says_and_so_is_the_next_one(shared_metastore: EmbeddedMetastore) -> None:
    access = MetastoreAccess.of(shared_metastore.uri)
    with Metastore(access.as_user("pysync-east,west")) as metastore:
        for _ in range(2):
            assert metastore.databases()
            with pytest.raises(MetastoreCallFailed):  # a server lets nobody change the name, and hangs up
                metastore.call(lambda client: client.set_ugi("somebody", []))


def test_a_metastore_that_takes_no_names_is_told_of(metastores: Metastores) -> None:
    """Its listener would take our calls for anybody's."""
    deaf = metastores("deaf", overrides={"hive.metastore.execute.setugi": "false"})
    with Metastore(MetastoreAccess.of(deaf.uri).as_user("pysync-east")) as metastore:
        for _ in range(2):
            with pytest.raises(MetastoreUnavailable, match="user 'pysync-east': it ignores the user name") as refused:
                metastore.databases()
    assert "hive.metastore.execute.setugi" in (refused.value.hint or "")


def test_what_is_no_answer_to_a_name_is_no_connection() -> None:
    wrong = pytest.raises(MetastoreUnavailable, match="refuses calls as user 'ann'")
    with answering(b"") as address, Metastore(MetastoreAccess.of(address).as_user("ann")) as metastore, wrong:
        metastore.databases()
