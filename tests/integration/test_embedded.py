"""The embedded metastore: a real process, real data, real signals."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from pysync import hive_site
from pysync.base.errors import PysyncError, UsageError
from pysync.hive_site.document import parse
from pysync.lab import EmbeddedMetastore, archive, java, metastore
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreUnavailable
from tests.conftest import Metastores
from tests.support import new_database, process_is_gone, table, wait_until
from tests.support.hanging import hang


def test_is_up_with_its_own_warehouse_and_begins_anew_in_memory(metastores: Metastores) -> None:
    server = metastores("a")
    with Metastore(server.uri) as metastore:
        database = metastore.database("default")
        assert database is not None
        assert database.locationUri == f"file:{server.warehouse}"
        name = new_database(metastore)
        metastore.call(lambda client: client.create_table(table(name, "t")))
        assert (server.warehouse / f"{name}.db" / "t").is_dir()
        server.restart()
        assert metastore.databases() == ["default"]


@pytest.mark.crash
def test_on_disk_it_keeps_its_data_over_a_kill_and_a_restart(metastores: Metastores) -> None:
    """In a directory of any ordinary name, also one with blanks and signs."""
    server = metastores("a b ü%20+#&x", database="disk")
    first_pid, uri = server.pid, server.uri
    with Metastore(uri) as metastore:
        name = new_database(metastore)
        metastore.call(lambda client: client.create_table(table(name, "t")))
        server.kill()
        assert process_is_gone(first_pid)
        with pytest.raises(MetastoreUnavailable):
            metastore.databases()
        server.start()
        assert server.uri == uri
        assert metastore.tables(name) == ["t"]
        server.restart()
        assert metastore.tables(name) == ["t"]
    assert (server.warehouse / f"{name}.db" / "t").is_dir()
    assert {path.name for path in server.directory.iterdir()} == {
        "derby",
        "derby.log",
        "hive-log4j2.properties",
        "hive-site.xml",
        "metastore.log",
        "warehouse",
    }


def test_a_second_start_is_refused_a_second_stop_is_not_and_a_hung_process_is_ended(
    metastores: Metastores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pysync.lab.metastore._PATIENCE", 0.2)
    server = metastores("a")
    pid = server.pid
    with pytest.raises(PysyncError, match="is already running"):
        server.start()
    hang(pid)
    server.stop()
    assert process_is_gone(pid)
    server.stop()
    server.kill()
    with pytest.raises(PysyncError, match="is not running"):
        _ = server.pid


def test_drop_database_keeps_the_connection(shared_metastore: EmbeddedMetastore) -> None:
    # Needs a connection pool that pyspark has: with Hive's default the server closes the connection.
    with Metastore(shared_metastore.uri) as metastore:
        name = new_database(metastore)
        metastore.call(lambda client: client.create_table(table(name, "t")))
        metastore.call(lambda client: client.drop_database(name, True, True))
        assert name not in metastore.databases()


def test_a_broken_setting_shows_the_end_of_the_log(metastores: Metastores) -> None:
    overrides = {"hive.metastore.event.listeners": "no.such.Listener"}
    with pytest.raises(PysyncError, match="'broken' ended during its start") as refused:
        metastores("broken", overrides=overrides)
    assert "no.such.Listener" in str(refused.value)


def test_a_start_has_a_time_limit(metastores: Metastores) -> None:
    server = metastores("slow", start=False, timeout=0.1)
    with pytest.raises(PysyncError, match=r"did not answer within 0\.1 s"):
        server.start()
    assert not server.running


def test_a_port_in_use_is_refused(metastores: Metastores) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PysyncError, match=f"port {port} is in use"):
            metastores("a", port=port)


PARENT = """
import sys, threading, time
from pathlib import Path
from pysync.lab import EmbeddedMetastore
server = EmbeddedMetastore(Path(sys.argv[1]))
starter = threading.Thread(target=server.start)
starter.start()
starter.join()
time.sleep(0.3)
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_dies_with_its_parent_but_not_with_the_thread_that_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not process_is_gone(pid)
        parent.kill()
    wait_until(lambda: process_is_gone(pid), what="the end of the metastore")


def test_the_launcher_does_not_start_an_orphan() -> None:
    launcher = Path(metastore.__file__).with_name("bound_exec.py")
    not_our_pid = os.getppid()
    command = [sys.executable, "-I", "-S", str(launcher), str(not_our_pid), "/bin/echo", "started"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "started" not in done.stdout


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A class archive: that of the environment, where `make test` has made one."""
    if not java.class_archive().exists():
        monkeypatch.setattr(java, "class_archive", lambda: tmp_path / "share" / "metastore.jsa")
        assert archive.make().exists()
        assert len(list((tmp_path / "share").iterdir())) == 1, "what it was made with is left behind"
    return java.class_archive()


def test_classes_come_from_the_archive(made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert made.stat().st_size > 1 << 20
    classes = tmp_path / "classes.log"
    monkeypatch.setenv("JDK_JAVA_OPTIONS", f"-Xlog:class+load:file={classes}:none:filecount=0")
    with EmbeddedMetastore(tmp_path / "a", database="disk"):
        pass
    loaded = [line for line in classes.read_text().splitlines() if line.startswith("org.apache.hadoop.hive.metastore")]
    kept = [line for line in loaded if "shared objects file (top)" in line]
    assert len(kept) > 0.9 * len(loaded) > 100, f"{len(kept)} of {len(loaded)} classes came from the archive"


def test_an_archive_that_is_none_keeps_nobody_from_starting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged = tmp_path / "metastore.jsa"
    damaged.write_bytes(b"no archive" * 1000)
    monkeypatch.setattr(java, "class_archive", lambda: damaged)
    with EmbeddedMetastore(tmp_path / "a") as server, Metastore(server.uri) as client:
        assert client.databases() == ["default"]


def test_says_that_java_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PysyncError, match="found no Java"):
        EmbeddedMetastore(tmp_path / "a").start()


def test_says_that_pyspark_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(PysyncError, match=r"pip install .*\[embedded\]"):
        EmbeddedMetastore(tmp_path / "a").start()


@pytest.mark.parametrize("name", ["a:b", "a;b"])
def test_refuses_a_directory_that_java_or_derby_cannot_use(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"path without '{name[1]}'"):
        EmbeddedMetastore(tmp_path / name, database="disk").start()


def test_functions_and_types_are_whole(shared_metastore: EmbeddedMetastore) -> None:
    # Tables of rarely used kinds are created when first used.
    with Metastore(shared_metastore.uri) as metastore:
        name = new_database(metastore)
        function = ttypes.Function("f", name, "some.Class", "tester", ttypes.PrincipalType.USER, 0, 1, [])
        metastore.call(lambda client: client.create_function(function))
        assert [found.className for found in metastore.functions(name)] == ["some.Class"]
        assert metastore.function(name, "g") is None


def test_the_command_takes_a_hive_site_and_single_properties_win(tmp_path: Path) -> None:
    site = tmp_path / "given.xml"
    hive_site.write(site, {"pysync.source.name": "onprem", "hive.metastore.client.socket.timeout": "11s"})
    command = [
        "embedded",
        tmp_path / "hms",
        "--memory",
        "--port=0",
        f"--hive-site={site}",
        "--set=pysync.source.name=b",
    ]
    started = subprocess.Popen(
        [sys.executable, "-m", "pysync", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert started.stdout is not None
    with started.stdout as output:
        assert output.readline().startswith("thrift://127.0.0.1:")
        started.terminate()
        assert started.wait(60) == 0, output.read()
    written = parse((tmp_path / "hms" / "hive-site.xml").read_bytes(), "hive-site.xml").values()
    assert written["hive.metastore.client.socket.timeout"] == "11s"
    assert written["pysync.source.name"] == "b"


def test_the_command_refuses_a_hive_site_that_cannot_be_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pysync", "embedded", tmp_path / "hms", "--hive-site", tmp_path / "none.xml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        f"pysync: cannot read {tmp_path}/none.xml: No such file or directory\n",
    )
