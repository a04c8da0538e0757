"""What is told of the packages that users install: their licences, known vulnerabilities, and the SBOM."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.utils import canonicalize_name
from release import audit, licences, project, sbom
from release.project import ReleaseError

from tests.support.pins import CONSTRAINTS, REQUIREMENTS, pinned

OSI = "License :: OSI Approved"


def a_package(**said: Any) -> Any:
    metadata = {"Name": "A_b", **{key.replace("_", "-"): value for key, value in said.items()}}

    class Metadata(dict[str, Any]):
        def get_all(self, key: str) -> Any:
            return self.get(key)

    return SimpleNamespace(metadata=Metadata(metadata), version="1", files=[])


def test_the_licences_of_what_users_install_are_allowed() -> None:
    """Of the environment of the tests: kerberos is not in it, and `make licences` looks at all."""
    wanted = pinned(REQUIREMENTS, f"3.{sys.version_info.minor}")
    there = [it for it in distributions() if canonicalize_name(it.metadata["Name"]) in wanted]
    found = licences.licences({canonicalize_name(it.metadata["Name"]): it for it in there}.values())
    assert wanted.keys() - {it.name for it in found} <= {"gssapi", "decorator"}
    assert licences.refused(found) == []


@pytest.mark.parametrize(
    ("said", "licence"),
    [
        ({"License_Expression": "MIT", "License": "GPL"}, "MIT"),
        ({"Classifier": [f"{OSI} :: MIT License", "Topic :: Database"]}, "MIT"),
        ({"Classifier": [f"{OSI} :: BSD License", f"{OSI} :: Apache Software License"]}, "BSD AND Apache-2.0"),
        ({"License": "Apache License 2.0"}, "Apache-2.0"),
        ({"License": "Custom\nof many lines"}, "Custom"),
        ({}, ""),
    ],
)
def test_a_licence_is_found_where_the_package_says_it(said: dict[str, Any], licence: str) -> None:
    (found,) = licences.licences([a_package(**said)])
    assert (found.name, found.licence) == ("a-b", licence)


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("GPL-3.0-only OR Apache-2.0", True),
        ("Apache-2.0 AND GPL-3.0-only", False),
        ("MIT AND BSD-3-Clause", True),
        ("(MIT OR GPL-2.0-only) AND LGPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND BSD-3-Clause", True),
        ("Apache-2.0 WITH something", False),
        ("Proprietary", False),
        ("", False),
    ],
)
def test_a_licence_is_allowed_if_the_list_has_it(licence: str, allowed: bool) -> None:
    assert licences.Licence("a", "1", licence, ()).allowed is allowed


def test_each_package_whose_licence_is_not_allowed_is_named() -> None:
    found = [
        licences.Licence(name, "1", licence, ()) for name, licence in (("a", "GPL-3.0-only"), ("b", "MIT"), ("c", ""))
    ]
    with pytest.raises(ReleaseError) as refused:
        licences.assert_allowed(found)
    assert str(refused.value).splitlines()[1:] == ["a 1: GPL-3.0-only", "c 1: says no licence"]


def test_an_audit_asks_of_each_pin_once_a_file() -> None:
    found = list(audit.batches(REQUIREMENTS))
    assert sum(map(len, found)) == sum("==" in line for line in REQUIREMENTS.splitlines())
    for batch in found:
        assert len({line.partition("==")[0] for line in batch}) == len(batch)
    everything = {line for batch in found for line in batch}
    for python in ("3.10", "3.14"):
        assert {f"{name}=={it}" for name, it in pinned(REQUIREMENTS, python).items()} <= everything


def test_a_clean_audit_passes() -> None:
    audit.assert_clean([{"name": "a", "version": "1", "vulns": []}])


def test_what_the_service_does_not_know_is_not_clean() -> None:
    """pip-audit itself says `No known vulnerabilities found` then."""
    skipped = {"name": "b", "skip_reason": "Dependency not found on PyPI and could not be audited: b (2)"}
    with pytest.raises(ReleaseError, match=r"1 of 2 packages could not be audited:\n  Dependency not found on PyPI"):
        audit.assert_clean([{"name": "a", "version": "1", "vulns": []}, skipped])


def test_an_audit_of_nothing_is_not_clean() -> None:
    with pytest.raises(ReleaseError, match="0 of 0"):
        audit.assert_clean([])


def test_every_vulnerability_is_told_with_what_mends_it() -> None:
    known = [{"id": "X-1", "fix_versions": ["2", "1.5"]}, {"id": "X-2", "fix_versions": []}]
    with pytest.raises(ReleaseError) as refused:
        audit.assert_clean([{"name": "a", "version": "1", "vulns": known}, {"name": "b", "skip_reason": "away"}])
    told = ["vulnerabilities are known:", "a 1: X-1, fixed in 2, 1.5", "a 1: X-2, fixed in no version"]
    assert str(refused.value).splitlines() == told


def test_an_audit_that_fails_leaves_no_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "DIST", tmp_path)
    file = project.artifact("-audit.json")
    file.write_text("[]")
    monkeypatch.setattr(audit, "_asked", lambda *_: [{"name": "a", "skip_reason": "away"}])
    with pytest.raises(ReleaseError):
        audit.write_audit("a==1", [])
    assert not file.exists()
    monkeypatch.setattr(audit, "_asked", lambda *_: [{"name": "a", "version": "1", "vulns": []}])
    assert "1 packages audited" in audit.write_audit("a==1", [])
    assert file.exists()


def an_environment() -> dict[str, Any]:
    """As cyclonedx-py tells of it: what pysync asks for, and one that pydantic does."""
    names = {name for extra in (None, *project.extras()) for name in project.needed(extra)}
    parts = [{"bom-ref": f"{name}==1", "name": name, "version": "1"} for name in sorted({*names, "typing-inspection"})]
    root = {"ref": "root-component", "dependsOn": ["cryptography==1"]}
    edges = [{"ref": it["bom-ref"]} for it in parts if it["name"] != "pydantic"]
    return {
        "components": parts,
        "dependencies": [root, {"ref": "pydantic==1", "dependsOn": ["typing-inspection==1"]}, *edges],
    }


def a_jar(file: Path, *names: str) -> Path:
    with zipfile.ZipFile(file, "w") as jar:
        for name in names:
            jar.writestr(name, "")
    return file


@pytest.fixture
def bom(tmp_path: Path) -> dict[str, Any]:
    maven = "META-INF/maven/org.apache.hive/hive-metastore/pom.properties"
    hive = a_jar(tmp_path / "hive-metastore-2.3.10.jar", maven, "META-INF/maven/com.shaded/other/pom.properties")
    plain = a_jar(tmp_path / "scala-xml_2.13-2.4.0.jar")
    return sbom.completed(an_environment(), [plain, hive], a_jar(tmp_path / "pysync-listener.jar", "x"))


def part(bom: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [it for it in bom["components"] if it["name"] == name]
    return found


def test_the_sbom_has_the_listener_and_what_is_in_it(bom: dict[str, Any], tmp_path: Path) -> None:
    listener = part(bom, "pysync-listener")
    digest = hashlib.sha256((tmp_path / "pysync-listener.jar").read_bytes()).hexdigest()
    assert listener["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert [it["purl"] for it in listener["components"]] == [
        f"pkg:maven/net.sf.py4j/py4j@{pinned(CONSTRAINTS, '3.11')['py4j']}"
    ]


def test_the_sbom_has_the_jars_that_pyspark_brings(bom: dict[str, Any]) -> None:
    hive, plain = part(bom, "pyspark")["components"]
    assert hive["purl"] == "pkg:maven/org.apache.hive/hive-metastore@2.3.10"
    assert (plain["name"], plain["version"], "purl" in plain) == ("scala-xml_2.13", "2.4.0", False)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("pydantic", "always"),
        ("typing-inspection", "always"),
        ("pyathena", "aws, embedded-aws"),
        ("uvicorn", "web"),
        ("gssapi", "kerberos"),
    ],
)
def test_the_sbom_says_what_brings_a_package(bom: dict[str, Any], name: str, told: str) -> None:
    assert part(bom, name)["properties"] == [{"name": "pysync:installed", "value": told}]


def test_pysync_depends_on_what_it_asks_for_and_on_no_tool_of_development(bom: dict[str, Any]) -> None:
    (root,) = [it for it in bom["dependencies"] if it["ref"] == "root-component"]
    assert "cryptography==1" not in root["dependsOn"]
    assert {"thrift==1", "uvicorn==1", "pysync-listener"} <= set(root["dependsOn"])


def test_an_environment_that_lacks_something_has_no_sbom(tmp_path: Path) -> None:
    told = an_environment()
    told["components"] = [it for it in told["components"] if it["name"] != "gssapi"]
    with pytest.raises(ReleaseError, match="not in the environment of the SBOM: gssapi"):
        sbom.completed(told, [], a_jar(tmp_path / "listener.jar"))


def test_nor_has_one_with_something_else(tmp_path: Path) -> None:
    told = an_environment()
    told["components"].append({"bom-ref": "pytest==1", "name": "pytest"})
    with pytest.raises(ReleaseError, match="pytest is in the environment of the SBOM, but nothing of pysync needs it"):
        sbom.completed(told, [], a_jar(tmp_path / "listener.jar"))
