"""What a rogue process on the sidecar's host can do, and what it cannot: docs/security.md.

That a wrong token and garbage are turned away is in test_bridge.py.
"""

from __future__ import annotations

import base64
import os
import re
import resource
import socket
import stat
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.jars import listener_jar
from pysync.capture import connections
from pysync.capture.seal import SealedInput, Sealer
from pysync.lab import EmbeddedMetastore, free_port
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.wire import encode_event
from tests.integration.test_bridge import Stand
from tests.support import partition, table, wait_for_items, wait_until
from tests.support.callers import Caller
from tests.support.drains import create
from tests.support.listener_side import ListenerSide
from tests.support.ports import listening, with_children
from tests.support.sidecars import TOKEN, Place, send, sidecar, unused_port
from tests.support.spools import spooled
from tests.support.stages import assert_converges

CROWD = 500
CANARY = "canary-7d1f"
LOOPBACK = ip_address("127.0.0.1")
LISTENER = " SidecarListener ["


# --- crowds and slow callers


@contextmanager
def crowd(port: int, size: int = CROWD) -> Iterator[list[socket.socket]]:
    """Connections without a token, made all at once by fifty threads; half of them have sent half a greeting."""
    made: list[socket.socket] = []

    def connect(number: int) -> None:
        for _ in range(size // 50):
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
            if number % 2:
                connection.sendall(b"A\n")
            made.append(connection)

    threads = [threading.Thread(target=connect, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        yield made
    finally:
        for connection in made:
            connection.close()


def latency(caller: Caller, calls: int = 30) -> float:
    """The median of some calls, in seconds."""
    took = []
    for _ in range(calls):
        began = time.monotonic()
        assert caller.call("ping") == "!yspysync 1"
        took.append(time.monotonic() - began)
    return statistics.median(took)


def test_a_sidecar_listens_on_loopback_at_the_bridge_and_the_web_port_alone(tmp_path: Path) -> None:
    place, web = Place(tmp_path), unused_port()
    place.file.write_text(f"{place.file.read_text()}[web]\nport = {web}\n")
    with sidecar(place) as running:
        running.wait_for("web_started")
        bridge = running.status()["bridge"]["port"]
        found = set(listening(with_children(running.process.pid)))
        assert found == {(LOOPBACK, bridge), (LOOPBACK, web)}


def test_five_hundred_connections_at_once_leave_the_bridge_quick_for_the_listener(tmp_path: Path) -> None:
    """Against the listener's deadline of half a second."""
    place = Place(tmp_path)
    with sidecar(place) as running:
        port = running.status()["bridge"]["port"]
        with closing(Caller(port, TOKEN)) as known, crowd(port) as strangers:
            assert len(strangers) == CROWD
            assert latency(known) < 0.5, "a listener that was there before waits"
            with closing(Caller(port, TOKEN)) as new:
                assert latency(new) < 0.5, "a listener that came later waits"
            send(running, create("db.t"))
            assert running.status()["queue"]["events"] == 1
        wait_until(lambda: running.status()["bridge"]["connections"] <= 1, seconds=30, what="letting them all go")
        assert running.stop() == 0


def test_a_caller_whose_greeting_drips_in_is_let_go_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on each byte's time alone would let it stay for hours, with a thread and a descriptor of ours."""
    monkeypatch.setattr(connections, "_GREETING_SECONDS", 0.5)
    with closing(Stand(tmp_path)) as stand, closing(stand.caller(token=None)) as caller:
        until, sent = time.monotonic() + 20, 0
        with suppress(OSError):
            while time.monotonic() < until:
                caller.socket.sendall(b"A")
                sent += 1
                time.sleep(0.05)
        assert time.monotonic() < until, f"it was still there after {sent} bytes"
        stand.check_well()


def test_a_greeting_in_pieces_that_comes_in_time_is_heard(tmp_path: Path) -> None:
    with closing(Stand(tmp_path)) as stand, closing(stand.caller(token=None)) as caller:
        listener = ListenerSide(TOKEN.encode())
        slowly(caller.plain, f"{listener.hello()}\n")
        keys = listener.keys(caller.lines.readline().decode().rstrip("\n"))
        slowly(caller.plain, f"{keys.proof_of_listener()}\n")
        slowly(caller.plain, Sealer(keys.from_listener()).seal(b"c\nt\nping\ne\n"))
        answers = SealedInput(caller.lines, keys.from_sidecar())
        assert answers.read(12) == b"!yspysync 1\n"


def slowly(connection: socket.socket, data: str | bytes) -> None:
    """Byte by byte."""
    for byte in data.encode() if isinstance(data, str) else data:
        connection.sendall(bytes([byte]))
        time.sleep(0.002)


@pytest.mark.crash
def test_when_the_descriptors_run_out_the_sidecar_ends_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """py4j's accept loop does not survive that, and must not be dead in a process that lives."""
    place = Place(tmp_path)
    with sidecar(place) as running:
        send(running, create("db.t"))
        port, pid = running.status()["bridge"]["port"], running.process.pid
        open_now = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now + 20, open_now + 20))
        with ExitStack() as strangers:
            for _ in range(60):
                with suppress(OSError):
                    strangers.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=5)))
            assert running.process.wait(30) == 1
        refusals = [line for line in running.log().splitlines() if line.startswith("pysync: ")]
        assert len(refusals) == 1, running.log()
        assert "stopped accepting connections" in refusals[0]
    with sidecar(place) as running:
        assert running.status()["queue"]["events"] == 1
        send(running, create("db.t2"), first=2)


@pytest.mark.crash
def test_a_flood_of_refused_connections_is_a_line_of_the_log_and_a_count(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with sidecar(place) as running:
        port = running.status()["bridge"]["port"]
        for _ in range(500):
            with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
                with suppress(ConnectionError):
                    connection.recv(1)
        assert running.status()["bridge"]["refused_connections"] == 500
        assert running.log().count("caller_refused") <= 3
        wait_until(lambda: re.search(r"caller_refused.* more=\d+", running.log()) is not None, what="the count")


# --- a squatter


class Squatter:
    """Takes the bridge's port, and answers whatever it hears with a command for the JVM to carry out."""

    def __init__(self, port: int, command: str) -> None:
        self.heard: list[str] = []
        self._command = command.encode()
        self._callers: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                self._callers.append(self._server.accept()[0])
                threading.Thread(target=self._serve, args=(self._callers[-1],), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with caller, caller.makefile("rb") as stream, suppress(OSError):
            for line in stream:
                self.heard.append(line.decode().rstrip("\n"))
                caller.sendall(self._command)

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._server.close()
        for caller in self._callers:
            with suppress(OSError):
                caller.shutdown(socket.SHUT_RDWR)


def runs_java(file: Path) -> list[str]:
    """py4j's spellings of `new File(file).mkdirs()` in three steps: as calls, and as answers that hold references."""
    make = f"i\njava.io.File\ns{file}\ne\n"
    return [make, f"{make}c\no0\nmkdirs\ne\n", "!yro0\nc\no0\nmkdirs\ne\n", "!yfo0\n", "r\nu\njava.lang.System\ne\n"]


@pytest.mark.parametrize("number", range(5))
def test_a_squatter_runs_no_java_and_learns_nothing(squatted: Squatted, number: int) -> None:
    command = runs_java(squatted.evidence)[number]
    with closing(Squatter(squatted.port, command)) as squatter:
        squatted.create(f"squat{number}")
        wait_for_items(lambda: squatter.heard, 3, what="some attempts")
        squatted.create(f"squat{number}b")
        assert [it for it in squatter.heard if not re.fullmatch("PYSYNC-2 [0-9a-f]{64}", it)] == []
    assert not squatted.evidence.exists(), "it ran Java in the metastore"
    assert squatted.server.running


class Squatted:
    """A metastore with the listener, and nobody on the bridge's port."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.evidence = directory / "evidence"
        token = directory / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        overrides = {
            "hive.metastore.event.listeners": "org.pysync.listener.SidecarListener",
            "pysync.source.name": "onprem",
            "pysync.bridge.port": str(self.port),
            "pysync.bridge.token.file": str(token),
            "pysync.spool.dir": str(directory / "spool"),
        }
        self.server = EmbeddedMetastore(directory / "hms", name="squatted", jars=[listener_jar()], overrides=overrides)

    def create(self, database: str) -> None:
        with Metastore(self.server.uri) as metastore:
            metastore.call(lambda client: client.create_database(hive.Database(name=database)))


@pytest.fixture(scope="module")
def squatted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squatted]:
    built = Squatted(tmp_path_factory.mktemp("squatted"))
    with built.server:
        yield built


# --- files and logs, of a whole stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """At level debug, with something delivered, spooled, refused and parked; everything carries the canary."""
    with Stage(tmp_path_factory.mktemp("stage"), options=DEBUG) as built:
        before = os.umask(0)
        try:
            _live(built)
        finally:
            os.umask(before)
        yield built


DEBUG = '\n[log]\nlevel = "debug"\n'


def _live(stage: Stage) -> None:
    stage.target.start()
    stage.source.start()
    stage.start_sidecar()
    with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
        _change(source, "first")
        wait_until(lambda: target.table("first", "plain") is not None, seconds=60, what="the first table")
        target.call(lambda client: client.create_table(secretive("first", "taken")))
        source.call(lambda client: client.create_table(secretive("first", "taken")))
        wait_until(lambda: stage.status()["targets"][0]["parked"] > 0, seconds=60, what="parking")
        _speak_badly(stage)
        stage.kill_sidecar()
        _change(source, "spooled")
        assert spooled(stage.directory / "spool"), "nothing was spooled"


def _change(source: Metastore, database: str) -> None:
    made = hive.Database(name=database, description=f"{CANARY}-d", parameters={"secret": f"{CANARY}-dp"})
    source.call(lambda client: client.create_database(made))
    source.call(lambda client: client.create_table(secretive(database, "plain")))
    keyed = secretive(database, "keyed", partition_keys=[("day", "string")])
    source.call(lambda client: client.create_table(keyed))
    new = partition(keyed, ["2026-01-01"])
    new.parameters = {"password": f"{CANARY}-pp"}
    source.call(lambda client: client.add_partition(new))
    keyed = source.table(database, "keyed")
    keyed.parameters["token"] = f"{CANARY}-a"
    source.call(lambda client: client.alter_table(database, "keyed", keyed))


def secretive(database: str, name: str, **more: object) -> object:
    made = table(database, name, parameters={"fs.s3a.secret.key": f"{CANARY}-tp", "comment": f"{CANARY}-c"}, **more)
    made.sd.cols[0].comment = f"{CANARY}-cc"
    made.sd.serdeInfo.parameters = {"password": f"{CANARY}-sp"}
    return made


def _speak_badly(stage: Stage) -> None:
    """Callers whose calls are refused, each in another way."""
    token = stage.config.bridge.token_file.read_text().strip()
    text = base64.b64encode(CANARY.encode()).decode()
    event = base64.b64encode(encode_event(create(f"db.{CANARY}")(1)))[:-8].decode()
    with closing(Caller(stage.config.bridge.port, token)) as caller:
        for argument in (f"s{CANARY}", f"s{text}", f"s{event}", "i7"):
            caller.call("append", argument)
            caller.call("report", argument)
            caller.call(CANARY, argument)
        caller.socket.sendall(f"{CANARY}\n".encode())
    with (
        closing(Caller(stage.config.bridge.port, f"{token}{CANARY}")),
        closing(Caller(stage.config.bridge.port, token=None)) as naive,
    ):
        naive.send(f"A\n{token}\ne\n")  # py4j's own greeting, which has the token in it
        wait_until(lambda: stage.status()["bridge"]["refused_connections"] > 0, seconds=60, what="a refusal")


def test_no_canary_and_no_token_is_in_the_sidecars_log_at_level_debug(stage: Stage) -> None:
    written = stage.sidecar_log.read_text()
    assert "event_received" in written, "the level is not debug"
    assert "event_parked" in written, "nothing was parked"
    assert "caller_refused" in written, "nobody was refused"
    token = stage.config.bridge.token_file.read_text().strip()
    reported = [line for line in written.splitlines() if CANARY in line or token in line]
    assert reported == []


def test_no_canary_and_no_token_is_in_what_the_listener_writes_to_the_log_of_hms(stage: Stage) -> None:
    lines = stage.source.log_file.read_text().splitlines()
    ours = [line for line in lines if LISTENER in line or "pysync" in line.partition("[")[0]]
    assert len(ours) >= 2, "the listener should have said that the sidecar went away"
    token = stage.config.bridge.token_file.read_text().strip()
    assert [line for line in ours if CANARY in line or token in line] == []
    assert [line for line in lines if token in line or re.search(r"(^|[\s.])py4j\.\w", line)] == []


def test_the_embedded_metastore_listens_on_all_interfaces(stage: Stage) -> None:
    """So docs/security.md warns of it: Hive has no setting for that."""
    assert stage.source.pid is not None
    found = list(listening([stage.source.pid]))
    assert [(address.is_unspecified, port) for address, port in found] == [(True, stage.source.port)]


def test_no_secret_is_on_a_command_line_or_in_the_environment_of_a_process(stage: Stage) -> None:
    token = stage.config.bridge.token_file.read_text().strip().encode()
    for name in ("cmdline", "environ"):
        assert token not in Path(f"/proc/{stage.source.pid}/{name}").read_bytes()
    hive_site = (stage.source.directory / "hive-site.xml").read_bytes()
    assert token not in hive_site


def test_queue_spool_token_and_control_files_are_for_their_owner_alone(stage: Stage) -> None:
    """Although the umask of the sidecar was 0."""
    stage.start_sidecar()
    assert_converges_but_for_parked(stage)
    queue, spool = stage.config.queue.directory, stage.directory / "spool"
    files = [stage.config.bridge.token_file, *queue.iterdir(), *spool.iterdir()]
    names = {file.name for file in files}
    assert {"queue.db", "queue.db-wal", "control.sock", "token"} <= names
    assert mode(queue) == mode(spool) == 0o700
    assert {file.name: oct(mode(file)) for file in files if mode(file) & 0o177} == {}


def assert_converges_but_for_parked(stage: Stage) -> None:
    with Metastore(stage.target.uri) as target:
        target.call(lambda client: client.drop_table("first", "taken", False))
    assert_converges(stage, seconds=90)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
