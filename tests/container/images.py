"""The images of conf/container/Containerfile, built by buildah on a base made from Debian's packages.

No image registry is needed: what the Containerfile takes for `PYTHON_IMAGE` is stood for by Debian's own Python.
Everything is kept in a directory, and what is there already is not made again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "conf" / "container" / "Containerfile"

_BASE = "localhost/pysync-base"
_SUITE = "bookworm"  # as in the Containerfile: its packages are named by version
_PACKAGES = "ca-certificates,python3,python3-venv"
_TRUSTED = Path("/etc/ssl/certs/ca-certificates.crt")


def say(line: str) -> None:
    """Tell what is done, at once: it takes minutes."""
    sys.stderr.write(f"container: {line}\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class Image:
    """What a runtime reads of an image: its files, and how its process is started."""

    rootfs: Path
    megabytes: int
    config: dict[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its processes."""
        return dict(pair.split("=", 1) for pair in self.config["Env"])

    @property
    def command(self) -> list[str]:
        """The command line of its process."""
        return [*self.config["Entrypoint"], *self.config["Cmd"]]

    @property
    def user(self) -> tuple[int, int]:
        """The ids of its user and group."""
        user, group = self.config["User"].split(":")
        return int(user), int(group)


class Buildah:
    """Buildah as root, with storage of its own below `directory`; a context manager that lets its mounts go."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._mounted: list[str] = []
        directory.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Buildah:
        return self

    def __exit__(self, *_: object) -> None:
        for container in self._mounted:
            self("rm", container)

    def __call__(self, *arguments: str, log: Path | None = None) -> str:
        """Run a command of buildah; with `log` all that it says goes there. AssertionError where it fails."""
        storage = [f"--root={self.directory / 'storage'}", f"--runroot={self.directory / 'run'}"]
        command = ["buildah", f"--storage-driver={_driver(self.directory)}", *storage, *arguments]
        if log is None:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{command}: {done.stderr}"
            return done.stdout.strip()
        with log.open("w") as file:
            code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
        assert code == 0, f"{arguments[0]} failed, the end of {log}:\n" + "\n".join(_lines(log)[-30:])
        return ""

    def build(self, stage: str) -> Image:
        """Build one stage of the Containerfile, with its own steps and nothing else."""
        self._need_base()
        name, log, began = f"localhost/pysync-{stage}", self.directory / f"build-{stage}.log", time.monotonic()
        options = ["--isolation=chroot", "--layers", f"--build-arg=PYTHON_IMAGE={_BASE}", f"--target={stage}"]
        self("build", *options, f"--file={CONTAINERFILE}", f"--tag={name}", str(ROOT), log=log)
        image = self._mount(name)
        steps = sum("STEP" in line for line in _lines(log))
        say(f"built {stage}: {steps} steps, {image.megabytes} MB, {time.monotonic() - began:.0f} s ({log})")
        return image

    def _mount(self, name: str) -> Image:
        container = self("from", "--pull-never", name)
        self._mounted.append(container)
        found = json.loads(self("inspect", "--type=image", name))
        listed = json.loads(self("images", "--json", name))
        size = float(listed[0]["size"].split()[0]) * {"MB": 1, "GB": 1000}[listed[0]["size"].split()[1]]
        return Image(Path(self("mount", container)), round(size), found["OCIv1"]["config"])

    def _need_base(self) -> None:
        if not self("images", "--quiet", "--filter=reference=" + _BASE):
            base = self.directory / "base"
            shutil.rmtree(base, ignore_errors=True)
            _debian(base, self.directory / "debootstrap.log")
            container = self("from", "scratch")
            self("add", "--quiet", container, str(base), "/")
            self("commit", "--quiet", "--rm", container, _BASE)
            shutil.rmtree(base)


def _driver(directory: Path) -> str:
    """Overlay, or where that cannot be had (the directory may lie on one itself) vfs, which copies every layer."""
    known = "overlay" in Path("/proc/filesystems").read_text()
    lies_on = subprocess.run(["stat", "-f", "-c", "%T", directory], capture_output=True, text=True, check=True).stdout
    return "overlay" if known and "overlay" not in lies_on else "vfs"


def _debian(base: Path, log: Path) -> None:
    """What the Containerfile needs of `python:3.x-slim-bookworm`: Debian, and a `python` with venv."""
    say(f"making the base from Debian's packages: debootstrap --variant=minbase --include={_PACKAGES} {_SUITE}")
    command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _SUITE, str(base)]
    with log.open("w") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    assert code == 0, f"debootstrap failed, the end of {log}:\n" + "\n".join(_lines(log)[-10:])
    (base / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    # Debian's image keeps no lists of packages either.
    (base / "etc/apt/apt.conf.d/docker-clean").write_text('Dir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\n')
    # pip within the build shall trust whom this machine trusts.
    shutil.copy(_TRUSTED, base / "etc/trusted.crt")
    (base / "etc/pip.conf").write_text("[global]\ncert = /etc/trusted.crt\n")


def _lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()


def assert_able() -> None:
    """Fail, and say why, where this machine cannot build: it has to be Debian, and we root on it."""
    assert os.geteuid() == 0, "the images are built as root: sudo make test SUITE=container"
    for program in ("buildah", "debootstrap", "ip", "nsenter"):
        assert shutil.which(program), f"{program} is missing (Debian: make test SUITE=container installs it)"
