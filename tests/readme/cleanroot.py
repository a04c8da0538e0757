"""A fresh Debian in a directory of its own: what a new machine has, and nothing of ours.

debootstrap fills it with Debian's packages. Programs in it see processes and mounts of their own, and this machine's
network, with the certificates and the package index that this machine is configured for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

PACKAGES = ("ca-certificates", "git", "make", "openjdk-17-jdk-headless", "python3", "python3-venv", "sudo")
SUITE = "bookworm"
# What tells a program of this machine how to reach the world.
NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
NETWORK_VARIABLES = (
    "PIP_",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_",
)
# The first process collects those whose parents have ended, as init does.
BOOT = (
    'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && '
    'exec chroot "$1" bash -c "sleep infinity & while :; do wait; done"'
)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> list[str]:
    """What this machine lacks to make one, as a person would mend it."""
    found = [] if os.geteuid() == 0 else ["run it as root: it makes users, mounts and a network namespace"]
    tools = {"debootstrap": "debootstrap", "ip": "iproute2", "unshare": "util-linux"}
    return found + [f"apt-get install {it}" for tool, it in tools.items() if shutil.which(tool) is None]


class CleanRoot:
    """The machine: `build` fills its directory; as a context manager it runs, and in the end all of it is killed."""

    def __init__(self, directory: Path) -> None:
        self.path = directory
        self._init: subprocess.Popen[bytes] | None = None

    def build(self) -> None:
        """Fill it: some 200 packages. CalledProcessError if debootstrap fails."""
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(self.path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for name in NETWORK:
            if Path(name).exists():
                shutil.copy(name, self.inside(name))

    def inside(self, name: str) -> Path:
        """Where the file that a program in it calls `name` is on this machine."""
        return self.path / name.lstrip("/")

    def __enter__(self) -> CleanRoot:
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "sh", "-c", BOOT, "sh", str(self.path)]
        self._init = subprocess.Popen(command, env=_environment(None), stdin=subprocess.DEVNULL)
        self.run(["true"])
        return self

    def __exit__(self, *_: object) -> None:
        assert self._init is not None
        self._init.kill()
        self._init.wait()

    def run(self, command: list[str], *, cwd: str = "/", env: Mapping[str, str] | None = None) -> str:
        """What it printed, on both outputs; AssertionError with that if it ends with another code than 0."""
        # The directory is entered inside: one of this machine's mounts would have no name there.
        inside = ["nsenter", f"--target={self._pid()}", "--mount", "--pid", "--root", "--", "env", f"--chdir={cwd}"]
        done = subprocess.run(
            [*inside, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=_environment(env),
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def _pid(self) -> int:
        """The first process in it, as this machine counts."""
        assert self._init is not None, "the clean root is not switched on"
        children = Path(f"/proc/{self._init.pid}/task/{self._init.pid}/children")
        for _ in range(100):
            found = children.read_text().split()
            # Until it has changed its root, a command would enter this machine's.
            if found and Path(f"/proc/{found[0]}/root").resolve() == self.path.resolve():
                return int(found[0])
            time.sleep(0.05)
        raise AssertionError("the clean root does not start")


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key.startswith(NETWORK_VARIABLES)}
    return {**kept, "PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", **(more or {})}
