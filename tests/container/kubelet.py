"""What kubelet makes of a pod's specification: volumes with kubelet's owners and modes, and containers.

The rules are those of kubelet's sources: pkg/volume/emptydir (mode 0777; in memory a tmpfs with the kernel's mode),
pkg/volume/util/atomic_writer.go (files behind two symbolic links), pkg/volume/volume_linux.go (what fsGroup changes).
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.container.hosts import Container, Host, Mount
from tests.container.images import Image

Object = Mapping[str, Any]

_GROUP_MAY = 0o2770


class Pod:
    """A pod of a StatefulSet: its volumes below `directory`, its containers by name. A context manager.

    `images` are by the container's name, `objects` the ConfigMaps and Secrets that there are, by kind and name. Volumes
    of claims are kept in `directory/claims`, so that a second pod finds them; the others go with the pod.
    """

    def __init__(self, host: Host, directory: Path, spec: Object, images: Mapping[str, Image], objects: Any) -> None:
        self._host, self._directory, self._spec = host, directory, spec
        self._images, self._objects = images, objects
        self._stack = ExitStack()
        self._volumes = {it["name"]: self._volume(it) for it in spec["volumes"]}
        self.containers: dict[str, Container] = {}

    def __enter__(self) -> Pod:
        return self

    def __exit__(self, *_: object) -> None:
        for container in self.containers.values():
            container.kill()
        self._stack.close()

    @property
    def user(self) -> tuple[int, int]:
        """The ids of user and group of all its processes."""
        context = self._spec["securityContext"]
        assert context["fsGroup"] == context["runAsGroup"]
        return context["runAsUser"], context["runAsGroup"]

    def claim(self, name: str) -> None:
        """Bind a claim, an empty file system if it is new. With OnRootMismatch fsGroup changes its top only, once."""
        place = self._directory / "claims" / name
        if not place.exists():
            place.mkdir(parents=True)
            _let_group(place, self.user[1], 0o755)
        self._volumes[name] = place

    def set_up(self) -> None:
        """Run the init containers, one after the other. AssertionError where one fails."""
        for it in self._spec["initContainers"]:
            container = self.start(it["name"])
            assert container.wait(60) == 0, container.log_text()

    def start(self, name: str, command: Sequence[str] = ()) -> Container:
        """Start a container, or start it again; with another `command` than its own, if one is given."""
        (spec,) = [it for it in [*self._spec["initContainers"], *self._spec["containers"]] if it["name"] == name]
        image = self._images[name]
        wanted = {it["name"]: it["value"] for it in spec.get("env", [])}
        self.containers[name] = Container(
            self._host,
            image,
            command or _command(spec, image),
            log=self._directory / f"{name}.log",
            user=self.user,
            mounts=[self._mount(it) for it in spec["volumeMounts"]] + self._hosts(),
            environment=wanted,
        )
        return self.containers[name]

    def probe(self, name: str, kind: str) -> int:
        """The exit code of an exec probe; 124 where it takes longer than its timeout."""
        (spec,) = [it for it in self._spec["containers"] if it["name"] == name]
        probe = spec[kind]
        try:
            return self.containers[name].execute(probe["exec"]["command"], probe["timeoutSeconds"]).returncode
        except subprocess.TimeoutExpired:
            return 124

    def _hosts(self) -> list[Mount]:
        file = self._directory / "hosts"
        return [Mount(file, "/etc/hosts", read_only=True)] if file.exists() else []

    def _mount(self, spec: Object) -> Mount:
        source = self._volumes[spec["name"]] / spec.get("subPath", "")
        assert source.exists(), f"{spec} is not there"
        return Mount(source, spec["mountPath"], read_only=spec.get("readOnly", False))

    def _volume(self, spec: Object) -> Path:
        place = self._directory / "volumes" / spec["name"]
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        place.chmod(0o777)
        if "emptyDir" in spec:
            if spec["emptyDir"].get("medium") == "Memory":
                subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
                self._stack.callback(subprocess.run, ["umount", "--lazy", place], check=True)
            _let_group(place, self.user[1], place.stat().st_mode & 0o7777)
        elif "configMap" in spec:
            found = self._objects["ConfigMap", spec["configMap"]["name"]]
            self._write(place, {key: text.encode() for key, text in found["data"].items()}, 0o644)
        else:
            secret = spec["secret"]
            found = self._objects.get(("Secret", secret["secretName"]))
            assert found or secret["optional"]
            files = {key: base64.b64decode(text) for key, text in found["data"].items()} if found else {}
            self._write(place, files, secret["defaultMode"])
        return place

    def _write(self, place: Path, files: Mapping[str, bytes], mode: int) -> None:
        """Files of root, which the group may read, behind `..data`."""
        behind = place / "..2026_11_23_08_00_00.1"
        behind.mkdir(mode=0o755)
        (place / "..data").symlink_to(behind.name)
        for name, data in files.items():
            (behind / name).write_bytes(data)
            (behind / name).chmod(mode | 0o440)
            os.chown(behind / name, 0, self.user[1])
            (place / name).symlink_to(f"..data/{name}")


def _command(spec: Object, image: Image) -> list[str]:
    """With a command of its own a container has nothing of the image's."""
    arguments = spec.get("args", [] if "command" in spec else image.config["Cmd"])
    return [*spec.get("command", image.config["Entrypoint"]), *arguments]


def _let_group(place: Path, group: int, mode: int) -> None:
    os.chown(place, 0, group)
    place.chmod(mode | _GROUP_MAY)
