"""Checks that all files have the same version, and that the changelog has a section for it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from release.project import ROOT, ReleaseError, run

UNRELEASED = "Unreleased"
_PLACES = {
    "pyproject.toml": r'^version = "([^"]+)"',
    "pysync/__init__.py": r'^__version__ = "([^"]+)"',
    "listener-java/pom.xml": r"<artifactId>pysync-listener</artifactId>\s*<version>([^<]+)</version>",
    "CHANGELOG.md": r"^## \[?([^]\s]+)\]?(?: - \d{4}-\d\d-\d\d)?$",
}
_SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)((a|b|rc)\d+)?")


def versions() -> dict[str, str]:
    """Return the version in each file; for the changelog that of the topmost section."""
    found = {}
    for file, pattern in _PLACES.items():
        match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        if match is None:
            raise ReleaseError(f"{file} has no version")
        found[file] = match[1]
    return found


def disagreements(found: Mapping[str, str], *, released: bool) -> list[str]:
    """Return a line for each problem. Between releases (not `released`) the changelog may have Unreleased on top."""
    version = found["pyproject.toml"]
    wrong = [f"{file} says {said}, pyproject.toml {version}" for file, said in found.items() if said != version]
    if not released and found["CHANGELOG.md"] == UNRELEASED:
        wrong = [line for line in wrong if not line.startswith("CHANGELOG.md")]
    if not _SEMANTIC.fullmatch(version):
        wrong.append(f"{version} is no semantic version: MAJOR.MINOR.PATCH, optionally with a1, b1 or rc1")
    return wrong


def assert_releasable() -> str:
    """Return the version. Raises ReleaseError if files disagree, or if git has uncommitted changes."""
    found = versions()
    wrong = disagreements(found, released=True)
    if changed := run(["git", "status", "--porcelain"]):
        wrong.append(f"not committed:\n{changed.rstrip()}")
    if wrong:
        raise ReleaseError("\n".join(["this cannot be released:", *wrong]))
    return found["pyproject.toml"]
