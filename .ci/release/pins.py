"""The pins: .ci/constraints.txt (for development, CI and releases) and .ci/requirements.txt (what users install).

uv finds versions that fit each Python from 3.10 on, and keeps pinned versions. To upgrade packages, delete their lines
from constraints.txt and run `make pins`. requirements.txt has the SHA-256 of every file that pip may download (wheels
for Linux on x86_64 and aarch64 and CPython 3.10 to 3.14, and sources), so pip installs only what was pinned. It has no
addresses.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from release.project import CONSTRAINTS, REQUIREMENTS, extras, read_toml, run

_BUILD = ("pip", "setuptools", "wheel")
_OF_CONSTRAINTS = "# The versions that development and CI use: pip install -c .ci/constraints.txt -e '.[dev]'"
_OF_REQUIREMENTS = """\
# What users install, with hashes: written by `make pins` from pyproject.toml and .ci/constraints.txt.
# As constraints it brings only what the extras need: docs/compatibility.md says how."""
_FILE = re.compile(
    r"""\.tar\.gz$ | \.zip$
    | -(py2\.)?py3-none-any\.whl$
    | -(cp31[0-4]-(cp31[0-4]|abi3) | cp3\d-abi3 | py3-none)-(manylinux|musllinux)\S*_(x86_64|aarch64)\.whl$""",
    re.VERBOSE,
)


def write_pins() -> None:
    """Write both files."""
    CONSTRAINTS.write_text(_versions(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as work:
        lock = Path(work) / "pylock.toml"
        # This adds hashes only: the versions are already in constraints.txt.
        wanted = [word for extra in extras() for word in ("--extra", extra)]
        _compile([*wanted, "--format", "pylock.toml", "--output-file", lock])
        packages = read_toml(lock)["packages"]
    REQUIREMENTS.write_text("\n".join([_OF_REQUIREMENTS, *_hashed(packages), ""]), encoding="utf-8")


def _versions() -> str:
    with tempfile.TemporaryDirectory() as work:
        build = Path(work) / "build.in"
        build.write_text("\n".join(_BUILD), encoding="utf-8")
        lines = _compile([build, "--all-extras", "--group", "release", "--no-annotate", "--no-header"])
    return "\n".join([_OF_CONSTRAINTS, *(_line(*line.partition(" ; ")[::2]) for line in lines.splitlines()), ""])


def _line(pin: str, marker: str) -> str:
    """Return the pin with the Python part of its marker. All packages share the other parts (`[tool.uv]`)."""
    parts = [part for part in marker.split(" and ") if part.startswith("python_full_version")]
    text = re.sub(r"python_full_version (\S+ '3\.\d+')", r"python_version \1", " and ".join(parts))
    return f"{pin}; {text}" if text else pin


def _compile(words: list[str | Path]) -> str:
    uv = Path(sys.executable).with_name("uv")
    common = ("--universal", "--python-version", "3.10", "--constraints", CONSTRAINTS, "--quiet")
    return run([uv, "pip", "compile", "pyproject.toml", *common, *words])


def _hashed(packages: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of each package: its pin, and the hash of each of its files."""
    for package in packages:
        pin = _line(f"{package['name']}=={package['version']}", package.get("marker", ""))
        files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else [])]
        hashes = sorted(file["hashes"]["sha256"] for file in files if _FILE.search(file["url"]))
        yield " \\\n".join([pin, *(f"    --hash=sha256:{it}" for it in hashes)])
