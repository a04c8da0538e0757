"""What a container runtime does, by Linux's own tools: a network, and processes on an image's files.

A container here has a mount, pid, ipc and uts namespace of its own, the network of its host, its image's files
read-only, another user, no capabilities and no way to get any.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.container.images import Image

# --pdeathsig=keep: the kernel forgets, as the user changes, that the first process is to die with unshare.
_LOCKED = ["--pdeathsig=keep", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]

# $1: the files of the image; then `source target ro|rw` for each mount, a --, and the command.
_ENTER = """
root=$1; shift
mount --bind "$root" "$root"
cd "$root"
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$2"
  [ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
  shift 3
done
shift
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec chroot "$root" "$@"
"""


class Host:
    """A network namespace: the network of a pod. A context manager."""

    def __init__(self, name: str) -> None:
        self.name = name
        _run("ip", "netns", "add", name)
        _run("ip", "-n", name, "link", "set", "lo", "up")

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        _run("ip", "netns", "delete", self.name)

    @property
    def enter(self) -> list[str]:
        """What to put before a command so that it runs there."""
        return ["nsenter", f"--net=/run/netns/{self.name}"]

    def connect(self, other: Host, mine: str, theirs: str) -> None:
        """A cable to another host; `mine` and `theirs` are addresses of one /24."""
        _run("ip", "link", "add", "eth0", "netns", self.name, "type", "veth", "peer", "eth0", "netns", other.name)
        for name, address in ((self.name, mine), (other.name, theirs)):
            _run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _run("ip", "-n", name, "link", "set", "eth0", "up")


@dataclass(frozen=True, slots=True)
class Mount:
    """A directory or file of ours that a container sees at `target`."""

    source: Path
    target: str
    read_only: bool = False


class Container:
    """A process on an image's files, with `log` for what it says."""

    def __init__(
        self,
        host: Host,
        image: Image,
        command: Sequence[str],
        *,
        log: Path,
        user: tuple[int, int],
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.log = log
        self._user = user
        self._environment = {**image.environment, **(environment or {})}
        for mount in mounts:
            _make_place(image.rootfs, mount)
        where = [word for it in mounts for word in (str(it.source), it.target, "ro" if it.read_only else "rw")]
        # slave: a file system that is unmounted out here is so in there, too, and does not stay in use.
        spaces = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--propagation=slave"]
        enter = ["sh", "-ec", _ENTER, "enter", str(image.rootfs), *where, "--"]
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                [*host.enter, *spaces, *enter, *self._as_user(command)], stdout=said, stderr=said
            )

    @property
    def ended(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    @property
    def pid(self) -> int:
        """The id, out here, of the process that is 1 in there."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        while not (found := children.read_text().split()):
            assert self.ended is None, self.log_text()
            time.sleep(0.01)
        return int(found[0])

    def log_text(self) -> str:
        """What it and its predecessors on this log wrote."""
        return self.log.read_text(errors="replace")

    def signal(self, number: int) -> None:
        """Send a signal to its first process, as a runtime does."""
        os.kill(self.pid, number)

    def wait(self, seconds: float = 30) -> int:
        """Its exit code, once it has ended by itself."""
        return self._process.wait(seconds)

    def kill(self) -> None:
        """End it and all that runs in it. Harmless if it has ended."""
        if self.ended is None:
            os.kill(self.pid, signal.SIGKILL)  # the first process takes the whole namespace along
        self._process.kill()
        self._process.wait()

    def execute(self, command: Sequence[str], seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command in it, as probes and `kubectl exec` do."""
        inside = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--ipc", "--uts", "--net", "--root", "--wd=/"]
        return subprocess.run(
            [*inside, *self._as_user(command)], capture_output=True, text=True, timeout=seconds, check=False
        )

    def _as_user(self, command: Sequence[str]) -> list[str]:
        user, group = self._user
        who = ["setpriv", f"--reuid={user}", f"--regid={group}", *_LOCKED]
        return [*who, "env", "-i", *(f"{key}={value}" for key, value in self._environment.items()), *command]


def _make_place(rootfs: Path, mount: Mount) -> None:
    """Where the image has no such place a runtime makes it."""
    place = rootfs / mount.target.removeprefix("/")
    if mount.source.is_dir():
        place.mkdir(parents=True, exist_ok=True)
    elif not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
