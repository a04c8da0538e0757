"""The dependencies between packages, and the extras of pysync that install each package, from the packages' metadata.

The graph of cyclonedx-py cannot be used: it also has edges for extras of packages that nothing requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.project import ReleaseError, extras, needed

ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Graph:
    """By canonical name: what each package needs, and which extras install it (ALWAYS: also without an extra)."""

    own: frozenset[str]
    needs: Mapping[str, frozenset[str]]
    comes_by: Mapping[str, tuple[str, ...]]


def graph(packages: Iterable[Distribution]) -> Graph:
    """Return the graph of an environment. Raises ReleaseError if a package is missing, or if nothing needs one."""
    installed = {_canonical(it.metadata["Name"]): it for it in packages}
    needs: dict[str, frozenset[str]] = {}
    ways: dict[str, list[str]] = {name: [] for name in installed}
    own: set[str] = set()
    for extra in (None, *extras()):
        asked = needed(extra)
        own |= {_canonical(it.name) for it in asked}
        found = _reached(asked, installed)
        for name, members in found.items():
            needs[name] = needs.get(name, frozenset()) | members
            ways[name].append(extra or ALWAYS)
    strange = sorted(name for name, found in ways.items() if not found)
    if strange:
        raise ReleaseError(f"in the environment of the SBOM, but nothing of pysync needs it: {', '.join(strange)}")
    told = {name: (ALWAYS,) if ALWAYS in found else tuple(found) for name, found in ways.items()}
    return Graph(frozenset(own), needs, told)


def _reached(asked: Sequence[Requirement], installed: Mapping[str, Distribution]) -> dict[str, frozenset[str]]:
    """Return all packages that these requirements install, each with the packages that it needs."""
    found: dict[str, frozenset[str]] = {}
    left, seen = list(asked), set()
    while left:
        it = left.pop()
        name, key = _canonical(it.name), (_canonical(it.name), frozenset(it.extras))
        if key in seen:
            continue
        seen.add(key)
        if name not in installed:
            raise ReleaseError(f"not in the environment of the SBOM: {name}")
        more = list(_requirements(installed[name], it.extras))
        found[name] = found.get(name, frozenset()) | {_canonical(one.name) for one in more}
        left += more
    return found


def _requirements(package: Distribution, asked: Iterable[str]) -> Iterator[Requirement]:
    """Yield the requirements that apply on this Python, with these extras."""
    for it in map(Requirement, package.requires or ()):
        if it.marker is None or any(it.marker.evaluate({"extra": extra}) for extra in ("", *asked)):
            yield it


def _canonical(name: str) -> str:
    return str(canonicalize_name(name))
