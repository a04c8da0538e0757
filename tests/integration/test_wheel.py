"""Wheel and sdist: both carry the jars of listener and copy, are always the same bytes, and install where no JDK is."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("pysync", "listener-java", "conf", "docs", "tests", ".ci")
FILES = ("pyproject.toml", "Makefile", "README.md", "CHANGELOG.md", "LICENSE", ".gitignore", ".dockerignore")
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*cache", "target", "jars", "*.jar")
JARS = {
    "pysync-listener.jar": "org/pysync/listener/SidecarListener.class",
    "pysync-copy.jar": "org/pysync/copy/FileCopy.class",
}
IN_WHEEL = Path("pysync/jars")
IN_SDIST = Path("listener-java")
NO_JDK = "pysync: there is no Java compiler (javac): install JDK 9 or newer"


@dataclass(frozen=True, slots=True)
class Packages:
    """What one build made."""

    wheel: Path
    sdist: Path

    def hashes(self) -> list[str]:
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.wheel, self.sdist)]


def environment(**changes: str) -> dict[str, str]:
    """Ours, without what would point to a JDK or shift times, and without what a `make` tells those that it starts."""
    ours = {"JAVA_HOME", "SOURCE_DATE_EPOCH", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, **changes}


@pytest.fixture(scope="module")
def no_jdk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a machine without one: nothing at all is on PATH."""
    return environment(PATH=str(tmp_path_factory.mktemp("bin")))


def run(*command: str | Path, fails: bool = False, **options: object) -> str:
    """What Python says, on both streams."""
    words = [str(word) for word in command]
    done = subprocess.run(words, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)  # type: ignore[call-overload]
    assert bool(done.returncode) == fails, done.stdout
    return str(done.stdout)


def checkout(at: Path) -> Path:
    """The files of this checkout, without what was built in it."""
    at.mkdir(parents=True)
    for part in PARTS:
        shutil.copytree(ROOT / part, at / part, ignore=LEFT_OUT, copy_function=shutil.copy)
    for file in FILES:
        shutil.copy(ROOT / file, at / file)
    return at


def hatchling(tree: Path, output: Path, *targets: str, **options: object) -> Packages:
    """As `make dist` and pip have them made, with the packages that this environment has."""
    words = [word for target in targets or ("wheel", "sdist") for word in ("-t", target)]
    run(sys.executable, "-m", "hatchling", "build", "-d", output, *words, cwd=tree, **options)
    return Packages(output / "pysync-0.1.0-py3-none-any.whl", output / "pysync-0.1.0.tar.gz")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, no_jdk: Mapping[str, str]) -> Packages:
    """The sdist of a fresh checkout, and the wheel of that sdist, made where no JDK is."""
    at = tmp_path_factory.mktemp("first")
    packages = hatchling(checkout(at / "pysync"), at / "dist", "sdist", env=environment())
    return hatchling(unpacked(packages, at / "unpacked"), at / "dist", "wheel", env=no_jdk)


def unpacked(packages: Packages, at: Path) -> Path:
    with tarfile.open(packages.sdist) as files:
        files.extractall(at, filter="data")
    return at / "pysync-0.1.0"


def jars_of_wheel(wheel: Path) -> list[bytes]:
    with zipfile.ZipFile(wheel) as files:
        return [files.read(str(IN_WHEEL / name)) for name in JARS]


def test_both_carry_the_same_jars(built: Packages, tmp_path: Path) -> None:
    jars = [unpacked(built, tmp_path) / IN_SDIST / name for name in JARS]
    assert [jar.read_bytes() for jar in jars] == jars_of_wheel(built.wheel)
    for jar, of_it in zip(jars, JARS.values(), strict=True):
        with zipfile.ZipFile(jar) as files:
            assert [name for name in JARS.values() if name in files.namelist()] == [of_it]


def test_the_sdist_has_no_more_than_the_project(built: Packages, tmp_path: Path) -> None:
    tree = unpacked(built, tmp_path)
    files = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    known = set(run("git", "ls-files", cwd=ROOT).splitlines())
    untracked = set(run("git", "ls-files", "--others", "--exclude-standard", cwd=ROOT).splitlines())
    assert files - known - untracked == {*(str(IN_SDIST / name) for name in JARS), "PKG-INFO"}
    assert known - files <= {path for path in known if not (ROOT / path).exists()}


@pytest.mark.crash  # a build more
def test_another_build_elsewhere_gives_the_same_bytes(built: Packages, tmp_path: Path) -> None:
    """Both of a checkout in another directory, at another time, under another umask, with other hashes in Python."""
    tree = checkout(tmp_path / "another: place" / "of pysync")
    for path in tree.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (10**9, 10**9))
    again = hatchling(tree, tmp_path / "dist", umask=0o077, env=environment(PYTHONHASHSEED="7", LC_ALL="C"))
    assert again.hashes() == built.hashes()


def test_where_no_jdk_is_an_sdist_makes_itself_again(
    built: Packages, tmp_path: Path, no_jdk: Mapping[str, str]
) -> None:
    again = hatchling(unpacked(built, tmp_path), tmp_path / "dist", "sdist", env=no_jdk)
    assert again.sdist.read_bytes() == built.sdist.read_bytes()


@pytest.mark.crash  # a build more
def test_where_a_jdk_is_the_sdist_s_jars_are_built_from_its_sources(built: Packages, tmp_path: Path) -> None:
    tree = unpacked(built, tmp_path)
    for name in JARS:
        (tree / IN_SDIST / name).write_bytes(b"an old one")
    again = hatchling(tree, tmp_path / "dist", "sdist", env=environment())
    assert again.sdist.read_bytes() == built.sdist.read_bytes()


def test_a_checkout_without_jdk_says_so_in_one_line(tmp_path: Path, no_jdk: Mapping[str, str]) -> None:
    tree = checkout(tmp_path / "pysync")
    (tree / "build").mkdir()
    for name in JARS:
        (tree / "build" / name).write_bytes(b"of who knows which sources")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-build-isolation"]
    printed = run(*pip, "-w", tmp_path, ".", cwd=tree, env=no_jdk, fails=True)
    assert printed.count(NO_JDK) == 1
    assert "Traceback" not in printed
    assert not list(tmp_path.glob("*.whl"))


def test_a_build_leaves_nothing_in_the_checkout(built: Packages) -> None:
    tree = built.wheel.parents[1] / "pysync"
    assert not (tree / "build").exists()
    assert [path for path in tree.rglob("*.jar") if "tests" not in path.parts] == []


def test_an_installed_wheel_finds_its_jars_and_its_texts(
    built: Packages, tmp_path: Path, no_jdk: Mapping[str, str]
) -> None:
    installed = tmp_path / "installed"
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", installed, built.wheel)
    code = f"import sys; sys.path.insert(0, {str(installed)!r}); from pysync.cli import main; main()"
    found = Path(run(sys.executable, "-c", code, "jar", cwd=tmp_path, env=no_jdk).strip())
    assert found == installed / IN_WHEEL / "pysync-listener.jar"
    ask = (
        f"import sys; sys.path.insert(0, {str(installed)!r}); from pysync.base.jars import copy_jar; print(copy_jar())"
    )
    copy = Path(run(sys.executable, "-c", ask, cwd=tmp_path, env=no_jdk).strip())
    assert copy == installed / IN_WHEEL / "pysync-copy.jar"
    assert [found.read_bytes(), copy.read_bytes()] == jars_of_wheel(built.wheel)
    page = installed / "share" / "man" / "man1" / "pysync.1"
    assert page.read_text() == run(sys.executable, "-c", code, "man", cwd=tmp_path)
    # The pages, too, which hints name.
    read = run(sys.executable, "-c", code, "docs", "docs/security.md", cwd=tmp_path)
    assert read == (ROOT / "docs" / "security.md").read_text()
    assert len(list((installed / "pysync" / "docs").iterdir())) == len(list((ROOT / "docs").glob("*.md")))
    # conf/ is in it, too: `pysync init` writes its files by it.
    assert {it.name for it in (installed / "pysync" / "conf").iterdir()} >= {
        "pysync.toml",
        "pysync.service",
        "monitoring",
    }
    for part in ("static", "templates"):  # what the page is made of
        there = {it.name for it in (ROOT / "pysync" / "web" / part).iterdir()}
        assert {it.name for it in (installed / "pysync" / "web" / part).iterdir()} == there
    me, etc = pwd.getpwuid(os.geteuid()).pw_name, tmp_path / "etc"
    given = [f"--user={me}", f"--config-dir={etc}", f"--state-dir={tmp_path}/var", "--no-systemd"]
    given += ["--source-name=east", "--target-kind=hms", "--target-metastore=thrift://b:9083"]
    run(sys.executable, "-c", code, "init", *given, cwd=tmp_path)
    assert 'metastore = "thrift://b:9083"' in (etc / "pysync.toml").read_text()


def test_make_sets_up_no_pyspark_for_jar_and_packages(tmp_path: Path) -> None:
    printed = run("make", "-n", "jar", "dist", cwd=checkout(tmp_path / "pysync"), env=environment())
    installed = [line for line in printed.splitlines() if "pip install" in line]
    assert installed
    assert [line for line in installed if "spark" in line] == []


@pytest.mark.crash  # fetches what it builds with
def test_make_dist_makes_both_and_prints_their_hashes(built: Packages, tmp_path: Path) -> None:
    tree = checkout(tmp_path / "pysync")
    (tree / "dist").mkdir()
    (tree / "dist" / "pysync-0.0.9-py3-none-any.whl").write_bytes(b"of an older release")
    printed = run("make", "dist", f"PYTHON={sys.executable}", cwd=tree, env=environment())
    expected = [
        f"{digest}  {path.name}" for digest, path in zip(built.hashes(), (built.wheel, built.sdist), strict=True)
    ]
    assert printed.splitlines()[-2:] == expected
    assert {path.name for path in (tree / "dist").iterdir()} == {built.wheel.name, built.sdist.name}


class Machine:
    """One with a fresh Python, and without JDK and pyspark."""

    def __init__(self, at: Path, env: Mapping[str, str]) -> None:
        self.at, self.env = at, env
        venv.create(at / "venv", with_pip=True)

    def run(self, command: str, *arguments: str | Path, fails: bool = False) -> str:
        return run(self.at / "venv" / "bin" / command, *arguments, cwd=self.at, env=self.env, fails=fails)

    def install(self, package: Path) -> None:
        constraints = ROOT / ".ci" / "constraints.txt"
        self.run("python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "-c", constraints, package)

    def packages(self) -> set[str]:
        printed = self.run("python", "-m", "pip", "--disable-pip-version-check", "list", "--format", "freeze")
        return {line.partition("=")[0] for line in printed.splitlines()}


@pytest.mark.crash  # asks the index for some twenty packages
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_installs_and_works_without_jdk_and_pyspark(
    built: Packages, tmp_path: Path, no_jdk: Mapping[str, str], kind: str
) -> None:
    machine = Machine(tmp_path, no_jdk)
    machine.install(built.wheel if kind == "wheel" else built.sdist)
    assert not {"pyspark", "boto3", "starlette", "hatchling"} & machine.packages()
    jar = Path(machine.run("pysync", "jar").strip())
    assert jar.read_bytes() == jars_of_wheel(built.wheel)[0]
    assert "Usage: pysync" in machine.run("pysync", "--help")
    machine.run("pysync", "token", tmp_path / "etc" / "token")
    assert (tmp_path / "etc" / "token").stat().st_mode & 0o777 == 0o600
    config = tmp_path / "pysync.toml"
    config.write_text(
        f'[source]\nname = "a"\nmetastore = "thrift://127.0.0.1:1"\n[bridge]\ntoken_file = "{tmp_path}/etc/token"\n'
        f'[queue]\ndirectory = "{tmp_path}/queue"\n'
        '[[targets]]\nname = "b"\nkind = "hms"\nmetastore = "thrift://127.0.0.1:2"\n'
    )
    printed = machine.run("pysync", "check", "-c", config, fails=True)
    assert "127.0.0.1:1" in printed
    assert "Traceback" not in printed


@pytest.mark.crash  # fetches the build's own packages anew
def test_pip_builds_a_checkout_in_an_environment_of_its_own(tmp_path: Path, built: Packages) -> None:
    """The packages that it builds with are not where Python is: py4j's jar is found all the same."""
    machine = Machine(tmp_path, environment())
    tree = checkout(tmp_path / "pysync")
    machine.run("python", "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, tree)
    (wheel,) = tmp_path.glob("*.whl")
    assert jars_of_wheel(wheel) == jars_of_wheel(built.wheel)
