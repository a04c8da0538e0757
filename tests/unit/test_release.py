"""A release: versions that agree, a clean tree, and at its end checksums of all that belongs to it."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from release import finish, project, versions
from release.project import ReleaseError

from tests.support.pins import REQUIREMENTS

ROOT = Path(__file__).parents[2]


def test_all_files_say_the_same_version() -> None:
    assert versions.disagreements(versions.versions(), released=False) == []


def test_a_release_needs_its_section_of_the_changelog() -> None:
    found = dict.fromkeys(versions.versions(), "1.2.3") | {"CHANGELOG.md": "Unreleased"}
    assert versions.disagreements(found, released=False) == []
    assert versions.disagreements(found, released=True) == ["CHANGELOG.md says Unreleased, pyproject.toml 1.2.3"]
    assert versions.disagreements(found | {"CHANGELOG.md": "1.2.3"}, released=True) == []


@pytest.mark.parametrize("file", ["pysync/__init__.py", "listener-java/pom.xml", "CHANGELOG.md"])
def test_a_version_that_is_another_is_told(file: str) -> None:
    found = dict.fromkeys(versions.versions(), "1.2.3") | {file: "1.2.4"}
    assert versions.disagreements(found, released=False) == [f"{file} says 1.2.4, pyproject.toml 1.2.3"]


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3.dev1", "01.2.3", "1.2.3-beta", "1.2.3\n"])
def test_what_is_no_semantic_version_is_refused(version: str) -> None:
    assert versions.disagreements(dict.fromkeys(versions.versions(), version), released=True)


@pytest.mark.parametrize("heading", ["## 1.2.3", "## [1.2.3] - 2026-11-23", "## 1.2.3 - 2026-11-23"])
def test_the_changelog_may_write_its_heading_as_keep_a_changelog_does(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in versions.versions():
        (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\nText.\n\n{heading}\n\n## 1.0.0\n")
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    assert versions.versions()["CHANGELOG.md"] == "1.2.3"


def test_nothing_is_released_that_is_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "versions", lambda: {"pyproject.toml": "1.2.3", "CHANGELOG.md": "1.2.3"})
    monkeypatch.setattr(project, "ROOT", tmp_path)
    with pytest.raises(ReleaseError, match="git ended with 128"):
        versions.assert_releasable()
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    assert versions.assert_releasable() == "1.2.3"
    (tmp_path / "new.py").touch()
    with pytest.raises(ReleaseError, match=r"not committed:\n\?\? new.py"):
        versions.assert_releasable()


@pytest.fixture
def dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """dist/ before the checksums are written; the jars are beside it."""
    place = tmp_path / "dist"
    place.mkdir()
    for module in (project, finish):
        monkeypatch.setattr(module, "DIST", place)
    for jar in jars_beside(place):
        jar.write_bytes(b"jar")
    for ending in finish._ENDINGS:
        project.artifact(ending).write_text(ending)
    with zipfile.ZipFile(project.artifact("-py3-none-any.whl"), "w") as wheel:
        for jar in jars_beside(place):
            wheel.writestr(f"pysync/jars/{jar.name}", b"jar")
    return place


def jars_beside(dist: Path) -> list[Path]:
    return [dist.parent / "pysync-listener.jar", dist.parent / "pysync-copy.jar"]


def test_the_checksums_are_what_sha256sum_expects(dist: Path) -> None:
    finish.finish(jars_beside(dist), finish.SUITES)
    reported = subprocess.check_output(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist, text=True)
    assert len(reported.splitlines()) == len(list(dist.iterdir())) - 1


def test_twice_is_the_same(dist: Path) -> None:
    once = finish.finish(jars_beside(dist), ["test"])
    assert finish.finish(jars_beside(dist), ["test"]) == once


def test_the_pins_of_a_release_have_its_own_hashes(dist: Path) -> None:
    finish.finish(jars_beside(dist), [])
    text = project.artifact("-requirements.txt").read_text()
    assert text.startswith(REQUIREMENTS)
    own = text.removeprefix(REQUIREMENTS)
    assert own.startswith(f"pysync=={project.version()} \\\n")
    assert finish.sha256(project.artifact("-py3-none-any.whl")) in own


def test_a_release_tells_what_was_not_run_and_what_is_left_to_a_person(dist: Path) -> None:
    reported = finish.finish(jars_beside(dist), ["quick", "crash"])
    assert "NOT RUN: servers, athena, spark, browser, versions, kerberos" in reported
    assert f"git tag --sign v{project.version()}" in reported
    assert "NOT RUN" not in finish.finish(jars_beside(dist), finish.SUITES)


def test_a_file_that_is_missing_or_of_another_release_is_told(dist: Path) -> None:
    project.artifact("-audit.json").unlink()
    (dist / "pysync-0.0.1.tar.gz").touch()
    with pytest.raises(ReleaseError) as refused:
        finish.finish(jars_beside(dist), [])
    missing = f"dist/pysync-{project.version()}-audit.json is missing"
    assert str(refused.value).splitlines() == [missing, "dist/pysync-0.0.1.tar.gz does not belong to this release"]
    assert not (dist / "SHA256SUMS").exists()


@pytest.mark.parametrize("name", ["pysync-listener.jar", "pysync-copy.jar"])
def test_the_jars_of_the_wheel_are_those_of_the_sbom(dist: Path, name: str) -> None:
    (dist.parent / name).write_bytes(b"another")
    with pytest.raises(ReleaseError, match=f"^the jar in the wheel is not .*{name}, which the SBOM describes$"):
        finish.finish(jars_beside(dist), [])


def test_the_suites_that_a_release_runs_are_targets_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert f"RELEASE_SUITES ?= {' '.join(finish.SUITES)}\n" in makefile
    assert all(re.search(rf"^suite-{it}:", makefile, re.MULTILINE) for it in finish.SUITES)
