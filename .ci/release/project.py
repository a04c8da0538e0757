"""What pyproject.toml says of the project, and how the other files of a release are named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
REQUIREMENTS = ROOT / ".ci" / "requirements.txt"
NOT_SHIPPED = "dev"
"""The extra that is for those who work on pysync."""


class ReleaseError(Exception):
    """Why there is no release; for the person at the terminal."""


def project() -> dict[str, Any]:
    """The table `[project]`."""
    table: dict[str, Any] = read_toml(ROOT / "pyproject.toml")["project"]
    return table


def read_toml(file: Path) -> dict[str, Any]:
    """What is written in it."""
    table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return table


def version() -> str:
    """Of pysync."""
    return str(project()["version"])


def artifact(ending: str) -> Path:
    """A file of the release: `dist/pysync-0.1.0ENDING`."""
    return DIST / f"pysync-{version()}{ending}"


def extras() -> list[str]:
    """Those that a user may install."""
    return sorted(set(project()["optional-dependencies"]) - {NOT_SHIPPED})


def needed(extra: str | None) -> list[Requirement]:
    """What pysync itself asks for on this Python: for an extra, or without any (None)."""
    table = project()
    lines = table["dependencies"] if extra is None else table["optional-dependencies"][extra]
    found = [it for it in map(Requirement, lines) if it.marker is None or it.marker.evaluate()]
    own = sorted(name for it in found if it.name == "pysync" for name in it.extras)
    return [*(it for it in found if it.name != "pysync"), *(it for name in own for it in needed(name))]


def packages_of(python: Path) -> list[Distribution]:
    """What is installed for that interpreter, which need not be the one that runs this. ReleaseError for nothing."""
    places = [str(path) for path in python.parents[1].glob("lib/python3*/site-packages")]
    found = list(distributions(path=places))
    if not found:
        raise ReleaseError(f"{python} has no packages")
    return found


def run(command: Sequence[str | Path], *, check: bool = True) -> str:
    """What a program printed, run in the root of the project. ReleaseError, with all that it said, if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise ReleaseError(f"{done.stdout}{done.stderr}{Path(command[0]).name} ended with {done.returncode}")
    return done.stdout
