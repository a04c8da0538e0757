"""The SBOM, in the JSON format of CycloneDX: what users install with any of the extras, and what is in jars.

cyclonedx-py reads an environment that has only these packages. This module adds pysync's jars (the listener's with its
classes of py4j), the jars in pyspark, and the extras that install each package. The same environment and jars give the
same bytes: the SBOM contains no time and no random number.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Sequence
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
_USES = {
    _LISTENER: "Runs in the Hive Metastore. `pysync jar` prints its path.",
    "pysync-copy": "Copies files in tasks of Spark.",
}


def write_sbom(python: Path, jars: Sequence[Path]) -> str:
    """Write the SBOM for the environment of `python` and pysync's jars. Returns a summary in one line."""
    cyclonedx = Path(sys.executable).with_name("cyclonedx-py")
    words = ("--pyproject", "pyproject.toml", "--spec-version", SPEC, "--output-reproducible")
    told = json.loads(run([cyclonedx, "environment", *words, python]))
    of_pyspark = python.parents[1].glob("lib/python3*/site-packages/pyspark/jars/*.jar")
    bom = completed(told, packages_of(python), of_pyspark, jars)
    file = artifact(".cdx.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(bom, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    inside = sum(len(it.get("components", ())) for it in bom["components"])
    size = f"{file.stat().st_size:,} bytes"
    return f"{file.name}: {size}, {len(bom['components'])} components, {inside} more inside of them"


def completed(
    bom: dict[str, Any], packages: Iterable[Distribution], pyspark_jars: Iterable[Path], own_jars: Sequence[Path]
) -> dict[str, Any]:
    """Add what cyclonedx-py cannot see. Raises ReleaseError if the environment does not fit pysync."""
    known = graph(packages)
    refs = {str(canonicalize_name(it["name"])): it["bom-ref"] for it in bom["components"]}
    of_pyspark, own = [_jar(file) for file in sorted(pyspark_jars)], [_own_jar(file) for file in own_jars]
    parts = [_with_extras(it, known) for it in bom["components"]]
    parts = [{**it, "components": of_pyspark} if it["name"] == "pyspark" else it for it in parts]
    edges = [{"ref": refs[name], "dependsOn": sorted(refs[it] for it in needs)} for name, needs in known.needs.items()]
    edges += [
        {"ref": _ROOT, "dependsOn": [*(it["name"] for it in own), *sorted(refs[name] for name in known.own)]},
        *({"ref": it["name"], "dependsOn": [part["bom-ref"] for part in it["components"]]} for it in own),
    ]
    edges.sort(key=lambda it: it["ref"])
    return {**bom, "components": [*parts, *own], "dependencies": edges}


def _with_extras(package: dict[str, Any], known: Graph) -> dict[str, Any]:
    """Add the extras that install the package to its properties."""
    ways = ", ".join(known.comes_by[str(canonicalize_name(package["name"]))])
    return {**package, "properties": [*package.get("properties", ()), {"name": "pysync:installed", "value": ways}]}


def _jar(file: Path) -> dict[str, Any]:
    """Describe a jar by the Maven coordinates inside it, else by its file name."""
    with zipfile.ZipFile(file) as packed:
        found = [match.groups() for name in packed.namelist() if (match := _PROPERTIES.fullmatch(name))]
    name, _, number = re.sub(r"-(?=\d)", "\n", file.stem, count=1).partition("\n")
    told = {"type": "library", "bom-ref": f"pyspark/{file.name}", "name": name, "version": number}
    groups = [group for group, artifact in found if artifact == name]
    if groups:
        told |= {"group": groups[0], "purl": f"pkg:maven/{groups[0]}/{name}@{number}"}
    return {**told, "hashes": [_sha256(file)]}


def _own_jar(jar: Path) -> dict[str, Any]:
    """Describe a jar of pysync and the code of others in it."""
    return {
        "type": "library",
        "bom-ref": jar.stem,
        "name": jar.stem,
        "version": version(),
        "description": _USES[jar.stem],
        "hashes": [_sha256(jar)],
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "components": [_py4j()] if jar.stem == _LISTENER else [],
    }


def _py4j() -> dict[str, Any]:
    """Describe the classes of py4j in the listener jar. They have the pinned version."""
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
        "description": "The classes that a client needs.",
        "licenses": [{"license": {"id": "BSD-3-Clause"}}],
    }


def _sha256(file: Path) -> dict[str, str]:
    return {"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}
