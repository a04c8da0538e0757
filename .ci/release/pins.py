"""The pins: .ci/constraints.txt (all versions), and files with hashes, one for each thing that is installed.

uv finds versions that fit each Python from 3.10 on, and keeps pinned versions. To upgrade packages, delete their lines
from constraints.txt and run `make pins`. The others have the SHA-256 of every file that pip may download (wheels for
Linux on x86_64 and aarch64 and CPython 3.10 to 3.14, and sources), so pip installs only what was pinned. They have no
addresses.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from release.project import (
    BUILD,
    CHECKERS,
    CHECKERS_WANTED,
    COMPILED,
    CONSTRAINTS,
    DEVELOPMENT,
    KERBEROS,
    MUTATION,
    MUTATION_WANTED,
    NOT_SHIPPED,
    RELEASE,
    REQUIREMENTS,
    SITE,
    SITE_WANTED,
    extras,
    read_toml,
    run,
)

_TOOLS = ("pip", "setuptools", "wheel", "build", "editables", "hatchling", "py4j")
"""What builds pysync and the packages that come as sources."""
_COMPILERS = ("gssapi", "cython==3.3.0", "setuptools")
"""The package that is compiled, and what its build installs: gssapi 1.12.0 asks for exactly this Cython."""
_OF_CONSTRAINTS = (
    "# The versions of all packages; those that pip checks by their hashes are in the files beside this one."
)
_OF_REQUIREMENTS = """\
# What users install, with hashes: written by `make pins` from pyproject.toml and .ci/constraints.txt.
# As constraints it brings only what the extras need: docs/contributing.md says how."""
_OF_DEVELOPMENT = """\
# What `make setup` installs, with hashes: written by `make pins` from pyproject.toml and .ci/constraints.txt."""
_OF_BUILD = """\
# What builds packages in `make setup` and `make dist`, with hashes: written by `make pins` from .ci/constraints.txt."""
_OF_RELEASE = """\
# The tools of `make release`, with hashes: written by `make pins` from pyproject.toml and .ci/constraints.txt."""
_OF_KERBEROS = """\
# gssapi, and what compiles it, with hashes: written by `make pins` from .ci/constraints.txt."""
_OF_CHECKERS = """\
# What checks the files for containers, with hashes: written by `make pins` from tests/container/requirements.txt."""
_OF_MUTATION = """\
# What makes and runs mutants, with hashes: written by `make pins` from tests/mutation/requirements.txt."""
_OF_SITE = """\
# What makes the site of the docs, with hashes: written by `make pins` from .ci/site/requirements.txt."""
_FILE = re.compile(
    r"""\.tar\.gz$ | \.zip$
    | -(py2\.)?py3-none-any\.whl$
    | -(cp31[0-4]-(cp31[0-4]|abi3) | cp3\d-abi3 | py3-none)-(manylinux|musllinux)\S*_(x86_64|aarch64)\.whl$""",
    re.VERBOSE,
)

Words = Sequence[str | Path]
_WANTED = (CHECKERS_WANTED, MUTATION_WANTED, SITE_WANTED)


def write_pins() -> None:
    """Write all files."""
    CONSTRAINTS.write_text(_versions(), encoding="utf-8")
    _write_hashes(REQUIREMENTS, _OF_REQUIREMENTS, _of_pysync(extras()))
    _write_hashes(DEVELOPMENT, _OF_DEVELOPMENT, _of_pysync([*({*extras()} - {COMPILED}), NOT_SHIPPED]))
    _write_hashes(RELEASE, _OF_RELEASE, ["--group", "release"])
    _write_hashes(CHECKERS, _OF_CHECKERS, [CHECKERS_WANTED])
    _write_hashes(MUTATION, _OF_MUTATION, [MUTATION_WANTED])
    _write_hashes(SITE, _OF_SITE, [SITE_WANTED])
    for file, head, names in ((BUILD, _OF_BUILD, _TOOLS), (KERBEROS, _OF_KERBEROS, _COMPILERS)):
        with _asking_for(names) as wanted:
            _write_hashes(file, head, [wanted])


def _write_hashes(file: Path, head: str, wanted: Words) -> None:
    """Write what uv finds for its arguments `wanted`. The versions are already in constraints.txt."""
    with tempfile.TemporaryDirectory() as work:
        lock = Path(work) / "pylock.toml"
        _compile([*wanted, "--format", "pylock.toml", "--output-file", lock])
        packages = read_toml(lock)["packages"]
    file.write_text("\n".join([head, *_hashed(packages), ""]), encoding="utf-8")


def _of_pysync(wanted: Iterable[str]) -> list[str]:
    return ["pyproject.toml", *(word for extra in wanted for word in ("--extra", extra))]


@contextmanager
def _asking_for(names: Iterable[str]) -> Iterator[Path]:
    """A file that asks for these packages."""
    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "packages.in"
        file.write_text("\n".join(names), encoding="utf-8")
        yield file


def _versions() -> str:
    with _asking_for([*_TOOLS, *_COMPILERS]) as tools:
        wanted = (
            "pyproject.toml",
            tools,
            CHECKERS_WANTED,
            MUTATION_WANTED,
            SITE_WANTED,
            "--all-extras",
            "--group",
            "release",
        )
        lines = _compile([*wanted, "--no-annotate", "--no-header"])
    return "\n".join([_OF_CONSTRAINTS, *(_line(*line.partition(" ; ")[::2]) for line in lines.splitlines()), ""])


def _line(pin: str, marker: str) -> str:
    """Return the pin with the Python part of its marker. All packages share the other parts (`[tool.uv]`)."""
    parts = [part for part in marker.split(" and ") if part.startswith("python_full_version")]
    text = re.sub(r"python_full_version (\S+ '3\.\d+')", r"python_version \1", " and ".join(parts))
    return f"{pin}; {text}" if text else pin


def _compile(words: Words) -> str:
    uv = Path(sys.executable).with_name("uv")
    common = ("--universal", "--python-version", "3.10", "--constraints", CONSTRAINTS, "--quiet")
    return run([uv, "pip", "compile", *common, *words])


def _hashed(packages: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of each package: its pin, and the hash of each of its files."""
    for package in packages:
        pin = _line(f"{package['name']}=={package['version']}", package.get("marker", ""))
        files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else [])]
        hashes = sorted(file["hashes"]["sha256"] for file in files if _FILE.search(file["url"]))
        yield " \\\n".join([pin, *(f"    --hash=sha256:{it}" for it in hashes)])
