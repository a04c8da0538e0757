"""The pins: complete, with hashes, without addresses, and the same versions for users and for tests."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from release import pins, project

from tests.support.pins import (
    BUILD,
    CHECKERS,
    CONSTRAINTS,
    DEVELOPMENT,
    HASHED,
    KERBEROS,
    MUTATION,
    RELEASE,
    REQUIREMENTS,
    SITE,
    pinned,
)

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
FOR = {it: {"python_version": it, "python_full_version": f"{it}.9"} for it in PYTHONS}


def asked(extras: list[str]) -> list[Requirement]:
    table = project.project()
    lines = [*table["dependencies"], *(line for it in extras for line in table["optional-dependencies"][it])]
    return [it for it in map(Requirement, lines) if it.name != "pysync"]


@pytest.mark.parametrize("python", PYTHONS)
def test_what_users_install_is_pinned_within_what_pyproject_allows(python: str) -> None:
    found = pinned(REQUIREMENTS, python)
    for it in asked(project.extras()):
        if it.marker is None or it.marker.evaluate({"python_version": python}):
            name = str(canonicalize_name(it.name))
            assert name in found, f"{it} is not in requirements.txt: make pins"
            assert it.specifier.contains(found[name]), f"{found[name]} is not {it}: make pins"


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("text", HASHED.values(), ids=HASHED.keys())
def test_all_install_the_same_versions(python: str, text: str) -> None:
    tested, found = pinned(CONSTRAINTS, python), pinned(text, python)
    assert {name: tested.get(name) for name in found} == found


@pytest.mark.parametrize("python", PYTHONS)
def test_make_setup_installs_all_that_development_asks_for_and_what_builds_it(python: str) -> None:
    found, build = pinned(DEVELOPMENT, python), pinned(BUILD, python)
    wanted = asked([*({*project.extras()} - {project.COMPILED}), project.NOT_SHIPPED])
    names = {str(canonicalize_name(it.name)) for it in wanted if not it.marker or it.marker.evaluate(FOR[python])}
    assert names <= found.keys(), "make pins"
    tools = map(Requirement, project.read_toml(ROOT / "pyproject.toml")["build-system"]["requires"])
    assert {"pip", "setuptools", "wheel", "editables", *(it.name for it in tools)} <= build.keys()


def installs() -> list[str]:
    """Every command of the Makefile and the Containerfile that installs packages of Python."""
    texts = [(ROOT / it).read_text() for it in ("Makefile", "conf/container/Containerfile")]
    lines = "".join(texts).replace("\\\n", " ").splitlines()
    return [part for line in lines for part in re.split(r"&&|\|\|", line) if re.search(r"\bpip\b.* install\b", part)]


def test_nothing_is_installed_without_a_hash() -> None:
    """But pysync itself, from here; and what is built on the way has its tools there, or pinned by their hashes."""
    assert len(installs()) >= 10
    for it in installs():
        hashed = "--require-hashes" in it and re.search(r"-[rc] \.ci/\w+\.txt", it)
        assert hashed or ("--no-deps" in it and it.rstrip().endswith("-e .")), it
        built = ("--no-build-isolation", "--build-constraint .ci/", "--only-binary :all:", "-r .ci/build.txt")
        assert any(way in it for way in built), it


@pytest.mark.parametrize("python", PYTHONS)
def test_the_tools_of_a_release_the_checkers_and_what_compiles_are_all_pinned(python: str) -> None:
    groups = project.read_toml(ROOT / "pyproject.toml")["dependency-groups"]
    checkers = [it.partition("#")[0] for it in project.CHECKERS_WANTED.read_text().splitlines()]
    mutation = [it for it in project.MUTATION_WANTED.read_text().splitlines() if not it.startswith("#")]
    wanted = (
        (RELEASE, groups["release"]),
        (CHECKERS, filter(None, checkers)),
        (MUTATION, mutation),
        (SITE, project.SITE_WANTED.read_text().splitlines()),
        (KERBEROS, ["gssapi", "cython"]),
    )
    for text, lines in wanted:
        found = pinned(text, python)
        for it in map(Requirement, lines):
            assert it.specifier.contains(found[str(canonicalize_name(it.name))]), f"{it}: make pins"


@pytest.mark.parametrize("python", PYTHONS)
def test_all_that_development_asks_for_is_pinned(python: str) -> None:
    found = pinned(CONSTRAINTS, python)
    for it in asked([*project.extras(), project.NOT_SHIPPED]):
        if it.marker is None or it.marker.evaluate({"python_version": python}):
            assert it.specifier.contains(found[str(canonicalize_name(it.name))]), it


@pytest.mark.parametrize("file", HASHED.values(), ids=HASHED.keys())
def test_every_pin_has_hashes_and_nothing_else(file: str) -> None:
    text = "".join(f"{line}\n" for line in file.splitlines() if not line.startswith("#"))
    pin = r"[a-z0-9-]+==[\w.]+(; python(_full)?_version (<|>=|==|!=) '[\d.]+(\.\*)?')?"
    assert re.fullmatch(rf"({pin}( \\\n    --hash=sha256:[0-9a-f]{{64}})+\n)+", text)


def test_the_pins_name_no_address() -> None:
    assert not re.search(r"https?:|\.(org|com|net)\b|--index|--find|@", CONSTRAINTS + "".join(HASHED.values()))


def test_a_package_that_is_no_wheel_for_linux_is_left_out_of_the_hashes() -> None:
    names = [
        "a-1.tar.gz",
        "a-1-py3-none-any.whl",
        "a-1-py2.py3-none-any.whl",
        "a-1-cp310-cp310-manylinux_2_17_x86_64.whl",
        "a-1-cp311-abi3-musllinux_1_2_aarch64.whl",
        "a-1-cp39-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "a-1-cp310-cp310-win_amd64.whl",
        "a-1-cp314-cp314t-manylinux_2_17_x86_64.whl",
        "a-1-cp311-cp311-macosx_11_0_arm64.whl",
        "a-1-cp39-cp39-manylinux_2_17_x86_64.whl",
        "a-1-cp310-cp310-manylinux_2_17_s390x.whl",
    ]
    files = [{"url": f"https://there/{name}", "hashes": {"sha256": str(at)}} for at, name in enumerate(names)]
    (text,) = pins._hashed([{"name": "a", "version": "1", "wheels": files[1:], "sdist": files[0]}])
    assert re.findall(r"sha256:(\d+)", text) == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("marker", "line"),
    [
        ("", "a==1"),
        ("sys_platform == 'linux'", "a==1"),
        ("python_full_version < '3.11' and sys_platform == 'linux'", "a==1; python_version < '3.11'"),
        ("python_full_version < '3.10.2'", "a==1; python_full_version < '3.10.2'"),
    ],
)
def test_a_marker_tells_of_python_alone(marker: str, line: str) -> None:
    assert pins._line("a==1", marker) == line


def test_py4j_in_the_jar_is_the_version_that_is_pinned() -> None:
    version = pinned(CONSTRAINTS, "3.11")["py4j"]
    assert f"<py4j.version>{version}</py4j.version>" in (ROOT / "listener-java" / "pom.xml").read_text()
    assert set(re.findall(r"py4j==([\d.]+)", (ROOT / "pyproject.toml").read_text())) <= {version}
    assert metadata.version("py4j") == version
