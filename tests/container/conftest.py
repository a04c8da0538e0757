"""The images, built once, and the pod of conf/kubernetes/metastore.yaml with a target beside it."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.container.hosts import Container, Host, Mount
from tests.container.images import ROOT, Buildah, Image, assert_able, say
from tests.container.kubelet import Pod

MANIFESTS = ROOT / "conf" / "kubernetes" / "metastore.yaml"
TARGET = "10.77.0.2"
_HOSTS = f"127.0.0.1 localhost {socket.gethostname()}\n"  # a runtime tells a container its own name

# Stands for the image apache/hive: a metastore on port 9083 that reads the same environment and the same files.
_HIVE = """
import glob, os, signal
from pathlib import Path
from pysync.lab import EmbeddedMetastore
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
jars = glob.glob(os.environ.get("HADOOP_CLASSPATH", "") + ".jar")
path = [*map(Path, jars), Path("/opt/hive/conf")]
with EmbeddedMetastore(Path("/opt/hive/data"), port=9083, database="disk", jars=path):
    print("metastore started", flush=True)
    signal.sigwait({signal.SIGTERM})
"""

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def buildah() -> Iterator[Buildah]:
    assert_able()
    with Buildah(ROOT / "build" / "container") as found:
        yield found


@pytest.fixture(scope="session")
def sidecar_image(buildah: Buildah) -> Image:
    return buildah.build("sidecar")


@pytest.fixture(scope="session")
def demo_image(buildah: Buildah) -> Image:
    return buildah.build("demo")


@pytest.fixture(scope="session")
def hive_image(demo_image: Image) -> Image:
    return replace(
        demo_image, config={**demo_image.config, "Entrypoint": ["tini", "--", "python", "-c", _HIVE], "Cmd": []}
    )


@pytest.fixture
def host() -> Iterator[Host]:
    """A network that nothing else is in."""
    with Host(f"pysync-{os.getpid()}-{next(_numbers)}") as found:
        yield found


@pytest.fixture
def contain(host: Host, tmp_path: Path) -> Iterator[Callable[..., Container]]:
    """Start a process of an image: `contain(image, command, mounts=[…])`; none is left behind."""
    started: list[Container] = []
    hosts = Mount(tmp_path / "hosts", "/etc/hosts", read_only=True)
    hosts.source.write_text(_HOSTS)

    def start(image: Image, command: list[str], *, mounts: Sequence[Mount] = ()) -> Container:
        log = tmp_path / f"container-{len(started)}.log"
        started.append(Container(host, image, command, log=log, user=image.user, mounts=[*mounts, hosts]))
        return started[-1]

    yield start
    for container in started:
        container.kill()


def manifests() -> dict[tuple[str, str], Any]:
    """What the file holds, by kind and name."""
    return {(it["kind"], it["metadata"]["name"]): it for it in yaml.safe_load_all(MANIFESTS.read_text())}


@dataclass(slots=True)
class Cluster:
    """A node: the pod's place on it survives the pod, and the target is another host."""

    host: Host
    directory: Path
    images: dict[str, Image]
    objects: dict[tuple[str, str], Any]

    def pod(self) -> Pod:
        """The pod, with its claims bound, and nothing started in it."""
        stateful = self.objects["StatefulSet", "hms"]["spec"]
        pod = Pod(self.host, self.directory, stateful["template"]["spec"], self.images, self.objects)
        for claim in stateful["volumeClaimTemplates"]:
            pod.claim(claim["metadata"]["name"])
        return pod


@pytest.fixture
def cluster(host: Host, tmp_path: Path, sidecar_image: Image, hive_image: Image) -> Iterator[Cluster]:
    tmp_path.chmod(0o755)
    data = tmp_path / "target"
    data.mkdir()
    os.chown(data, *hive_image.user)
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "hosts").write_text(f"{_HOSTS}{TARGET} dr-hms\n")
    with Host(f"pysync-{os.getpid()}-{next(_numbers)}") as other:
        host.connect(other, "10.77.0.1", TARGET)
        mounts = [Mount(data, "/opt/hive/data")]
        command = [*hive_image.command]
        target = Container(other, hive_image, command, log=tmp_path / "target.log", user=hive_image.user, mounts=mounts)
        images = {"pysync-setup": sidecar_image, "pysync": sidecar_image, "hms": hive_image}
        say("a target metastore starts on a host of its own")
        yield Cluster(host, tmp_path / "node", images, manifests())
        target.kill()
