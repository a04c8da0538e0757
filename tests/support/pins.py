"""The files of pins, read as pip would for some Python."""

from __future__ import annotations

from packaging.requirements import Requirement
from release import project

CONSTRAINTS = project.CONSTRAINTS.read_text()
REQUIREMENTS = project.REQUIREMENTS.read_text()
BUILD = project.BUILD.read_text()
DEVELOPMENT = project.DEVELOPMENT.read_text()
RELEASE = project.RELEASE.read_text()
KERBEROS = project.KERBEROS.read_text()
CHECKERS = project.CHECKERS.read_text()
MUTATION = project.MUTATION.read_text()
SITE = project.SITE.read_text()
HASHED = {
    "users": REQUIREMENTS,
    "development": DEVELOPMENT,
    "build": BUILD,
    "release": RELEASE,
    "kerberos": KERBEROS,
    "checkers": CHECKERS,
    "mutation": MUTATION,
    "site": SITE,
}
"""The files with hashes."""


def pinned(text: str, python: str) -> dict[str, str]:
    """Version by name, as that Python sees a file of pins."""
    lines = [line.removesuffix("\\").strip() for line in text.splitlines() if "==" in line]
    found: dict[str, str] = {}
    for it in map(Requirement, lines):
        if it.marker is None or it.marker.evaluate({"python_version": python, "python_full_version": f"{python}.9"}):
            assert it.name not in found, f"{it.name} is pinned twice for Python {python}"
            found[it.name] = str(it.specifier).removeprefix("==")
    return found
