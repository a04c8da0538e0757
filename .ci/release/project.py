"""The project in pyproject.toml, and the names of the files of a release."""

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
BUILD = ROOT / ".ci" / "build.txt"
DEVELOPMENT = ROOT / ".ci" / "development.txt"
RELEASE = ROOT / ".ci" / "release.txt"
KERBEROS = ROOT / ".ci" / "kerberos.txt"
CHECKERS = ROOT / ".ci" / "checkers.txt"
CHECKERS_WANTED = ROOT / "tests" / "container" / "requirements.txt"
"""What checks the files for containers."""
MUTATION = ROOT / ".ci" / "mutation.txt"
MUTATION_WANTED = ROOT / "tests" / "mutation" / "requirements.txt"
"""What makes mutants."""
SITE = ROOT / ".ci" / "site.txt"
SITE_WANTED = ROOT / ".ci" / "site" / "requirements.txt"
"""What makes the site of the docs."""
NOT_SHIPPED = "dev"
"""The extra for development."""
COMPILED = "kerberos"
"""The extra whose package is compiled, against a library that not every machine has. `make setup` goes without it."""


class ReleaseError(Exception):
    """Why the release stops, as text for the person at the terminal."""


def project() -> dict[str, Any]:
    """Return the table `[project]`."""
    table: dict[str, Any] = read_toml(ROOT / "pyproject.toml")["project"]
    return table


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return table


def version() -> str:
    """Return the version of pysync."""
    return str(project()["version"])


def artifact(ending: str) -> Path:
    """Return the path of a file of the release: `dist/pysync-0.1.0ENDING`."""
    return DIST / f"pysync-{version()}{ending}"


def extras() -> list[str]:
    """Return the extras for users."""
    return sorted(set(project()["optional-dependencies"]) - {NOT_SHIPPED})


def needed(extra: str | None) -> list[Requirement]:
    """Return the direct requirements of pysync on this Python, for one extra, or without extras (None)."""
    table = project()
    lines = table["dependencies"] if extra is None else table["optional-dependencies"][extra]
    found = [it for it in map(Requirement, lines) if it.marker is None or it.marker.evaluate()]
    own = sorted(name for it in found if it.name == "pysync" for name in it.extras)
    return [*(it for it in found if it.name != "pysync"), *(it for name in own for it in needed(name))]


def packages_of(python: Path) -> list[Distribution]:
    """Return the packages in the environment of an interpreter. Raises ReleaseError if it has none."""
    places = [str(path) for path in python.parents[1].glob("lib/python3*/site-packages")]
    found = list(distributions(path=places))
    if not found:
        raise ReleaseError(f"{python} has no packages")
    return found


def run(command: Sequence[str | Path], *, check: bool = True) -> str:
    """Run a program in the root of the project and return its output. Raises ReleaseError if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise ReleaseError(f"{done.stdout}{done.stderr}{Path(command[0]).name} ended with {done.returncode}")
    return done.stdout
