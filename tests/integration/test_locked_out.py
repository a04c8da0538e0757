"""A real metastore whose listener has another token than the sidecar: everybody is told, and no more once it may in."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.jars import listener_jar
from pysync.lab import EmbeddedMetastore, free_port
from pysync.metastore.client import Metastore
from tests.support import wait_for_value, wait_until
from tests.support.callers import TOKEN
from tests.support.sidecars import FaultyPlace, Sidecar, pysync, sidecar


class LockedOut:
    """A metastore with the listener, beside a sidecar."""

    def __init__(self, directory: Path) -> None:
        self.place = FaultyPlace(directory)
        self.port, self.web = free_port(), free_port()
        self.token = directory / "token-of-hms"
        self.write_token("another" * 8)
        self.place.write(port=self.port, more=f"faults = []\n[web]\nport = {self.web}\n")
        source = free_port()
        text = self.place.file.read_text()
        self.place.file.write_text(text.replace("[bridge]", f'metastore = "thrift://127.0.0.1:{source}"\n[bridge]', 1))
        overrides = {
            "hive.metastore.event.listeners": "org.pysync.listener.SidecarListener",
            "pysync.source.name": "onprem",
            "pysync.bridge.port": str(self.port),
            "pysync.bridge.token.file": str(self.token),
            "pysync.spool.dir": str(directory / "spool"),
        }
        self.metastore = EmbeddedMetastore(
            directory / "hms", port=source, name="locked-out", jars=[listener_jar()], overrides=overrides
        )

    def write_token(self, token: str) -> None:
        self.token.write_text(token)
        self.token.chmod(0o600)

    def create(self, database: str) -> None:
        with Metastore(self.metastore.uri) as metastore:
            metastore.call(lambda client: client.create_database(hive.Database(name=database)))

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, name: str) -> float:
        return self.metrics(name)[0]

    def metrics(self, name: str) -> list[float]:
        lines = self.get("/metrics")[1].splitlines()
        return [float(it.rpartition(" ")[2]) for it in lines if it.startswith((f"{name} ", f"{name}{{"))]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LockedOut]:
    built = LockedOut(tmp_path_factory.mktemp("locked"))
    with built.metastore:
        yield built


@pytest.fixture(scope="module")
def running(locked: LockedOut) -> Iterator[Sidecar]:
    with sidecar(locked.place) as started:
        yield started


@pytest.mark.crash
def test_a_listener_with_another_token_is_told_of_by_everybody(locked: LockedOut, running: Sidecar) -> None:
    locked.create("held_back")
    wait_until(lambda: running.status()["bridge"]["refused_connections"] > 1, seconds=60, what="refusals")
    done = pysync("status", "-c", locked.place.file)
    assert done.returncode == 1
    assert done.stdout.startswith("1 problem:"), done.stdout
    assert "the bridge refuses a caller" in done.stdout
    found = running.status()
    assert (found["well"], found["listeners"]) == (False, [])
    checked = pysync("check", "-c", locked.place.file, "--json")
    assert checked.returncode == 1
    (listeners,) = [it for it in json.loads(checked.stdout) if it["what"] == "listeners"]
    assert (listeners["ok"], "refuses a caller" in listeners["detail"]) == (False, True)
    code, text = locked.get("/health")
    assert (code, "refuses a caller" in text) == (503, True)
    assert locked.get("/live") == (200, "ok\n"), "a new start would not help"
    assert (locked.metric("pysync_well"), locked.metric("pysync_bridge_refused_connections_total") > 1) == (0, True)


def test_once_it_may_in_it_is_heard_and_what_it_held_back_comes(locked: LockedOut, running: Sidecar) -> None:
    locked.create("held_back_too")
    locked.write_token(TOKEN)

    def heard() -> bool:
        found = running.status()
        return found["targets"][0]["position"] > 0 and [it["state"] for it in found["listeners"]] == ["heard"]

    wait_until(heard, seconds=60, what="the listener")
    (listener,) = running.status()["listeners"]
    assert (listener["source"], listener["lost"]) == ("onprem", 0)
    wait_until(lambda: running.status()["listeners"][0]["waiting_bytes"] == 0, seconds=30, what="delivery of all")
    # An answer of /metrics is up to a second old: it may be from before the listener was heard.
    wait_for_value(lambda: locked.metrics("pysync_listener_silent"), [0.0], what="the metric")


@pytest.mark.crash
def test_one_that_is_killed_is_lost_until_the_next_comes_and_then_all_is_well(
    locked: LockedOut, running: Sidecar
) -> None:
    locked.write_token(TOKEN)
    wait_until(lambda: [it["state"] for it in running.status()["listeners"]] == ["heard"], seconds=60, what="it")
    (old,) = running.status()["listeners"]
    locked.metastore.kill()
    wait_until(lambda: running.status()["listeners"][0]["state"] == "silent", seconds=60, what="its silence")
    done = pysync("status", "-c", locked.place.file)
    assert (done.returncode, f"listener {old['instance']} of onprem is lost" in done.stdout) == (1, True)
    assert locked.metric("pysync_listener_silent") == 1
    locked.metastore.start()
    wait_until(lambda: [it["state"] for it in running.status()["listeners"]] == ["heard"], seconds=60, what="the next")
    assert running.status()["listeners"][0]["instance"] != old["instance"]
    wait_until(lambda: running.status()["well"], seconds=120, what="all to be well, a minute after the last refusal")
    done = pysync("status", "-c", locked.place.file)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "OK")
    assert locked.get("/health") == (200, "ok\n")
