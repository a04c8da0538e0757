"""The pod of conf/kubernetes/metastore.yaml, as it stands there, with volumes as kubelet makes them.

The sidecar is the image that was built. The image of HMS is not at hand without a registry: a metastore of the demo's
image stands for it, which reads the same environment, class path, hivemetastore-site.xml and volumes.
"""

from __future__ import annotations

import base64
import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.container.conftest import TARGET, Cluster
from tests.container.hosts import Container
from tests.container.images import say
from tests.container.kubelet import Pod
from tests.support import wait_until

HERE = "127.0.0.1"

_CALL = """
import sys
from hmsclient.genthrift.hive_metastore import ttypes
from pysync.metastore.client import Metastore
with Metastore(f"thrift://{sys.argv[1]}:9083") as metastore:
    if sys.argv[2] == "create":
        made = ttypes.Database(name=sys.argv[3], parameters={})
        metastore.call(lambda client: client.create_database(made))
    print(*metastore.databases())
"""


_READ = "import sys; from pathlib import Path; from pysync.base.token import read_token; read_token(Path(sys.argv[1]))"


def databases(container: Container, host: str, *create: str) -> set[str]:
    """The databases of a metastore, after one more was created if that is asked for."""
    done = container.execute(["python", "-c", _CALL, host, *(create or ["list"])])
    return set(done.stdout.split()) if done.returncode == 0 else set()


def wait_for_database(container: Container, name: str) -> None:
    began = time.monotonic()
    wait_until(lambda: name in databases(container, TARGET), seconds=120, what=f"{name} at the target")
    say(f"database {name} is at the target, {time.monotonic() - began:.1f} s after we began to look")


def wait_for_start(container: Container, word: str) -> None:
    def started() -> bool:
        assert container.ended is None, container.log_text()
        return word in container.log_text()

    wait_until(started, seconds=120, what=f"{word}: {container.log_text()}")


@pytest.fixture
def pod(cluster: Cluster) -> Iterator[Pod]:
    with cluster.pod() as found:
        found.set_up()
        yield found


def test_a_database_reaches_the_target_and_restarts_lose_nothing(cluster: Cluster) -> None:
    with cluster.pod() as pod:
        pod.set_up()
        sidecar = pod.start("pysync")
        hms = pod.start("hms")
        wait_for_start(hms, "metastore started")
        wait_until(lambda: pod.probe("pysync", "startupProbe") == 0, what=f"the probe: {sidecar.log_text()}")
        assert "first" in databases(hms, HERE, "create", "first")
        wait_for_database(hms, "first")
        wait_until(lambda: sidecar.execute(["pysync", "status"]).returncode == 0, what="a status without problems")
        say(sidecar.execute(["pysync", "status"]).stdout)
        # kubelet restarts the sidecar; HMS goes on, and its listener spools.
        sidecar.signal(signal.SIGTERM)
        assert sidecar.wait() == 0, sidecar.log_text()
        assert "second" in databases(hms, HERE, "create", "second")
        pod.start("pysync")
        wait_for_database(hms, "second")
        # The pod goes, with an event in the spool that the sidecar never saw.
        pod.containers["pysync"].kill()
        assert "third" in databases(hms, HERE, "create", "third")
        hms.signal(signal.SIGTERM)
        hms.wait()
    with cluster.pod() as pod:  # another pod, on the same claims: new directories, a new token
        pod.set_up()
        sidecar, hms = pod.start("pysync"), pod.start("hms")
        wait_for_start(hms, "metastore started")
        wait_for_database(hms, "third")
        assert pod.probe("pysync", "livenessProbe") == 0


def test_the_token_is_a_new_one_which_nobody_else_can_read_or_replace(cluster: Cluster) -> None:
    tokens = set()
    for _ in range(2):
        with cluster.pod() as pod:
            pod.set_up()
            place = cluster.directory / "volumes" / "run"
            found = (place / "token").stat()
            assert stat.S_IMODE(found.st_mode) == 0o600
            assert (found.st_uid, found.st_gid) == (1000, 1000)
            assert place.stat().st_mode & stat.S_ISVTX
            tokens.add((place / "token").read_text())
            pod.set_up()  # the pod's sandbox was made again: its directories are there still
            assert (place / "token").read_text() in tokens
    assert len(tokens) == 2


def test_a_set_up_that_was_killed_is_made_good(cluster: Cluster) -> None:
    with cluster.pod() as pod:
        pod.set_up()
        token = cluster.directory / "volumes" / "run" / "token"
        token.write_text("")
        pod.set_up()
        assert len(token.read_text().strip()) == 64


def test_a_secret_is_refused_as_it_is_mounted_and_taken_as_it_was_copied(cluster: Cluster) -> None:
    secret = {"token": "a" * 32, "metastore.password": "swordfish"}
    data = {key: base64.b64encode(text.encode()).decode() for key, text in secret.items()}
    cluster.objects["Secret", "pysync"] = {"data": data}
    run = cluster.directory / "volumes" / "run"
    with cluster.pod() as pod:
        for _ in range(2):  # twice, as where the pod's sandbox is made again
            pod.set_up()
        assert {path.name: path.read_text() for path in run.iterdir()} == secret
        assert {stat.S_IMODE(path.stat().st_mode) for path in run.iterdir()} == {0o600}
        copied = pod.start("pysync-setup", ["python", "-c", _READ, "/run/pysync/token"])
        assert copied.wait() == 0, copied.log_text()
        mounted = pod.start("pysync-setup", ["python", "-c", _READ, "/run/secrets/pysync/token"])
        assert mounted.wait() != 0
        assert "can be read by other users" in mounted.log_text()


def test_the_token_in_a_directory_on_disk_is_refused(cluster: Cluster) -> None:
    """Why the volume of the token has to be in memory."""
    stateful = cluster.objects["StatefulSet", "hms"]["spec"]["template"]["spec"]
    (run,) = [it for it in stateful["volumes"] if it["name"] == "run"]
    run["emptyDir"] = {}
    with cluster.pod() as pod:
        container = pod.start("pysync-setup")
        assert container.wait() != 0
        assert "other users can replace the token file" in container.log_text()


def test_a_sidecar_that_hangs_is_not_alive(pod: Pod) -> None:
    sidecar = pod.start("pysync")
    wait_until(lambda: pod.probe("pysync", "livenessProbe") == 0, what=f"the probe: {sidecar.log_text()}")
    (python,) = Path(f"/proc/{sidecar.pid}/task/{sidecar.pid}/children").read_text().split()
    os.kill(int(python), signal.SIGSTOP)
    assert pod.probe("pysync", "livenessProbe") != 0


def test_the_files_of_the_queue_are_closed_to_the_group(pod: Pod, cluster: Cluster) -> None:
    sidecar = pod.start("pysync")
    wait_for_start(sidecar, "sidecar_started")
    queue = cluster.directory / "claims" / "pysync" / "queue"
    assert stat.S_IMODE(queue.stat().st_mode) & 0o077 == 0
    assert [path.name for path in queue.iterdir() if path.lstat().st_mode & 0o077] == []
