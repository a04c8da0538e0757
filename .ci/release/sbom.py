"""The SBOM, in CycloneDX's JSON: what users install with any of the extras, and what is in jars.

cyclonedx-py reads an environment that has these packages and no other. Added are the listener jar with the classes of
py4j that are in it, the jars that pyspark brings, and by which extras each package comes. The same environment and jar
give the same bytes: there is no time and no random number in it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from release.graph import Graph, graph
from release.project import CONSTRAINTS, ReleaseError, artifact, packages_of, run, version

SPEC = "1.6"
_PROPERTIES = re.compile(r"META-INF/maven/([^/]+)/([^/]+)/pom\.properties")
_ROOT = "root-component"
_LISTENER = "pysync-listener"


def write_sbom(python: Path, jar: Path) -> str:
    """Write it for the environment of `python` and this listener jar; returns what is in it, in a line."""
    cyclonedx = Path(sys.executable).with_name("cyclonedx-py")
    words = ("--pyproject", "pyproject.toml", "--spec-version", SPEC, "--output-reproducible")
    told = json.loads(run([cyclonedx, "environment", *words, python]))
    jars = python.parents[1].glob("lib/python3*/site-packages/pyspark/jars/*.jar")
    bom = completed(told, packages_of(python), jars, jar)
    file = artifact(".cdx.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(bom, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    inside = sum(len(it.get("components", ())) for it in bom["components"])
    size = f"{file.stat().st_size:,} bytes"
    return f"{file.name}: {size}, {len(bom['components'])} components, {inside} more inside of them"


def completed(
    bom: dict[str, Any], packages: Iterable[Distribution], pyspark_jars: Iterable[Path], listener: Path
) -> dict[str, Any]:
    """The SBOM of an environment, with all that cyclonedx-py cannot see. ReleaseError if the environment is another."""
    known = graph(packages)
    refs = {str(canonicalize_name(it["name"])): it["bom-ref"] for it in bom["components"]}
    jars = [_jar(file) for file in sorted(pyspark_jars)]
    parts = [_with_extras(it, known) for it in bom["components"]]
    parts = [{**it, "components": jars} if it["name"] == "pyspark" else it for it in parts]
    edges = [{"ref": refs[name], "dependsOn": sorted(refs[it] for it in needs)} for name, needs in known.needs.items()]
    edges += [
        {"ref": _ROOT, "dependsOn": [_LISTENER, *sorted(refs[name] for name in known.own)]},
        {"ref": _LISTENER, "dependsOn": [f"{_LISTENER}/py4j"]},
    ]
    edges.sort(key=lambda it: it["ref"])
    return {**bom, "components": [*parts, _listener(listener)], "dependencies": edges}


def _with_extras(package: dict[str, Any], known: Graph) -> dict[str, Any]:
    """With a note of the extras by which it comes, or that it always does."""
    ways = ", ".join(known.comes_by[str(canonicalize_name(package["name"]))])
    return {**package, "properties": [*package.get("properties", ()), {"name": "pysync:installed", "value": ways}]}


def _jar(file: Path) -> dict[str, Any]:
    """A jar by its own Maven coordinates, if it carries them beside those of what is shaded, or else by its name."""
    with zipfile.ZipFile(file) as packed:
        found = [match.groups() for name in packed.namelist() if (match := _PROPERTIES.fullmatch(name))]
    name, _, number = re.sub(r"-(?=\d)", "\n", file.stem, count=1).partition("\n")
    told = {"type": "library", "bom-ref": f"pyspark/{file.name}", "name": name, "version": number}
    groups = [group for group, artifact in found if artifact == name]
    if groups:
        told |= {"group": groups[0], "purl": f"pkg:maven/{groups[0]}/{name}@{number}"}
    return {**told, "hashes": [_sha256(file)]}


def _listener(jar: Path) -> dict[str, Any]:
    """The jar that goes into the metastore, and what is in it of others."""
    return {
        "type": "library",
        "bom-ref": _LISTENER,
        "name": _LISTENER,
        "version": version(),
        "description": "Runs in the Hive Metastore; `pysync jar` tells where it is.",
        "hashes": [_sha256(jar)],
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "components": [_py4j()],
    }


def _py4j() -> dict[str, Any]:
    """Its classes in the listener jar, which are of the version that is pinned for all."""
    pin = re.search(r"^py4j==(\S+)$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
    if pin is None:
        raise ReleaseError("constraints.txt does not pin py4j, whose classes are in the listener jar")
    return {
        "type": "library",
        "bom-ref": f"{_LISTENER}/py4j",
        "group": "net.sf.py4j",
        "name": "py4j",
        "version": pin[1],
        "purl": f"pkg:maven/net.sf.py4j/py4j@{pin[1]}",
        "description": "The classes of it that a client needs.",
        "licenses": [{"license": {"id": "BSD-3-Clause"}}],
    }


def _sha256(file: Path) -> dict[str, str]:
    return {"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}
