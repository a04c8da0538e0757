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
from release import audit, graph, licences, project, sbom
from release.project import ReleaseError

from tests.support.pins import CONSTRAINTS, REQUIREMENTS, pinned

ROOT = Path(__file__).parents[2]
OSI = "License :: OSI Approved"


def a_package(**text: Any) -> Any:
    metadata = {"Name": "A_b", **{key.replace("_", "-"): value for key, value in text.items()}}

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
    ("text", "licence"),
    [
        ({"License_Expression": "MIT", "License": "GPL"}, "MIT"),
        ({"Classifier": [f"{OSI} :: MIT License", "Topic :: Database"]}, "MIT"),
        ({"Classifier": [f"{OSI} :: BSD License", f"{OSI} :: Apache Software License"]}, "BSD AND Apache-2.0"),
        ({"License": "Apache License 2.0"}, "Apache-2.0"),
        ({"License": "Custom\nof many lines"}, "Custom"),
        ({}, ""),
    ],
)
def test_a_licence_is_found_where_the_package_says_it(text: dict[str, Any], licence: str) -> None:
    (found,) = licences.licences([a_package(**text)])
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
    assert str(refused.value).splitlines()[1:] == ["a 1: GPL-3.0-only", "c 1: declares no licence"]


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
    reported = ["vulnerabilities are known:", "a 1: X-1, fixed in 2, 1.5", "a 1: X-2, fixed in no version"]
    assert str(refused.value).splitlines() == reported


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


REQUIRES = {
    "pydantic": ["typing-inspection>=0.4", "email-validator; extra == 'email'", "old; python_version < '3'"],
    "starlette": ["anyio"],
    "moto": ["cryptography", "unwanted; extra == 'server'"],
}


def an_environment(*more: str, without: str = "") -> list[Any]:
    """Packages that are installed: what pysync asks for, what that needs, and more."""
    asked = {it.name for extra in (None, *project.extras()) for it in project.needed(extra)}
    names = {*asked, "typing-inspection", "anyio", "cryptography", *more} - {without}
    return [SimpleNamespace(metadata={"Name": name}, requires=REQUIRES.get(name)) for name in sorted(names)]


def told_by_cyclonedx(packages: list[Any]) -> dict[str, Any]:
    """Its edges are too many: it takes those of all extras."""
    names = [it.metadata["Name"] for it in packages]
    parts = [{"bom-ref": f"{name}==1", "name": name, "version": "1"} for name in names]
    return {"components": parts, "dependencies": [{"ref": "pydantic==1", "dependsOn": [f"{it}==1" for it in names]}]}


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
    packages = an_environment()
    own = [a_jar(tmp_path / "pysync-listener.jar", "x"), a_jar(tmp_path / "pysync-copy.jar", "y")]
    return sbom.completed(told_by_cyclonedx(packages), packages, [plain, hive], own)


def part(bom: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [it for it in bom["components"] if it["name"] == name]
    return found


def test_the_sbom_has_the_jars_of_pysync_and_what_is_in_them(bom: dict[str, Any], tmp_path: Path) -> None:
    py4j = f"pkg:maven/net.sf.py4j/py4j@{pinned(CONSTRAINTS, '3.11')['py4j']}"
    for name, inside in (("pysync-listener", [py4j]), ("pysync-copy", [])):
        digest = hashlib.sha256((tmp_path / f"{name}.jar").read_bytes()).hexdigest()
        assert part(bom, name)["hashes"] == [{"alg": "SHA-256", "content": digest}]
        assert [it["purl"] for it in part(bom, name)["components"]] == inside


def test_the_sbom_has_the_jars_that_pyspark_brings(bom: dict[str, Any]) -> None:
    hive, plain = part(bom, "pyspark")["components"]
    assert hive["purl"] == "pkg:maven/org.apache.hive/hive-metastore@2.3.10"
    assert (plain["name"], plain["version"], "purl" in plain) == ("scala-xml_2.13", "2.4.0", False)


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("pydantic", "always"),
        ("typing-inspection", "always"),
        ("boto3", "aws, embedded-aws"),
        ("uvicorn", "web"),
        ("anyio", "web"),
        ("gssapi", "kerberos"),
        ("cryptography", "embedded-aws, web"),
    ],
)
def test_the_sbom_says_what_brings_a_package(bom: dict[str, Any], name: str, reported: str) -> None:
    assert part(bom, name)["properties"] == [{"name": "pysync:installed", "value": reported}]


def test_a_package_depends_on_what_it_needs_and_on_no_extra_that_nobody_asks_for(
    bom: dict[str, Any],
) -> None:
    edges = {it["ref"]: it["dependsOn"] for it in bom["dependencies"]}
    assert edges["pydantic==1"] == ["typing-inspection==1"]
    assert (edges["pysync-listener"], edges["pysync-copy"]) == (["pysync-listener/py4j"], [])
    assert {"thrift==1", "uvicorn==1", "pysync-listener", "pysync-copy"} <= set(edges["root-component"])
    assert "typing-inspection==1" not in edges["root-component"]
    assert edges.keys() == {it["bom-ref"] for it in bom["components"]} | {"root-component"}


@pytest.mark.parametrize(
    ("packages", "error"),
    [
        (an_environment(without="gssapi"), "not in the environment of the SBOM: gssapi"),
        (an_environment(without="anyio"), "not in the environment of the SBOM: anyio"),
        (an_environment("pytest", "ruff"), "but nothing of pysync needs it: pytest, ruff"),
    ],
)
def test_an_environment_that_is_another_has_no_sbom(packages: list[Any], error: str, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=error):
        sbom.completed(told_by_cyclonedx(packages), packages, [], [a_jar(tmp_path / "pysync-listener.jar")])


def test_a_circle_of_requirements_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REQUIRES, "anyio", ["starlette"])
    assert graph.graph(an_environment()).needs["anyio"] == {"starlette"}


def test_what_an_extra_of_a_requirement_needs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REQUIRES, "starlette", ["anyio", "moto[server]"])
    found = graph.graph(an_environment("unwanted"))
    assert found.comes_by["unwanted"] == ("web",)


def test_the_packages_of_an_interpreter_are_found_and_none_are_an_error(tmp_path: Path) -> None:
    assert "pytest" in {it.metadata["Name"] for it in project.packages_of(Path(sys.executable))}
    with pytest.raises(ReleaseError, match="has no packages"):
        project.packages_of(tmp_path / "bin" / "python")


def test_the_jar_and_the_packages_say_whose_code_is_in_them() -> None:
    notice = (ROOT / "listener-java" / "NOTICE").read_text()
    assert "META-INF/LICENSE-py4j.txt" in notice
    assert project.project()["license-files"] == ["LICENSE", "listener-java/NOTICE"]
    with zipfile.ZipFile(ROOT / "build" / "pysync-listener.jar") as jar:
        assert jar.read("META-INF/NOTICE").decode() == notice
        assert b"Redistribution and use" in jar.read("META-INF/LICENSE-py4j.txt")
