"""The build of the jars: javac and py4j's jar are enough, and the bytes are those that real Hive and Hadoop give."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pysync.lab import java
from tests.listener.stand import BUILD, COPY_JAR, ROOT
from tests.support.listener_java import build

COMMON, NEWER = build.STUBS


def py4j_jar() -> str:
    return str(build.py4j_file(build.py4j_package(), "share/py4j/py4j*.jar"))


def compiled(class_path: str, stubs: Sequence[Path] = build.STUBS) -> dict[str, bytes]:
    """The classes of both jars."""
    javac = build.find_javac()
    return {
        **build.compiled(javac, build.LISTENER, class_path, stubs),
        **build.compiled(javac, build.COPY, class_path, stubs),
    }


@pytest.fixture(scope="module")
def by_stubs() -> dict[str, bytes]:
    """What the jars' own build makes of the sources."""
    return compiled(py4j_jar())


def differing(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> set[str]:
    return {name for name in {*one, *other} if one.get(name) != other.get(name)}


def test_the_stubs_give_the_bytes_that_real_hive_and_hadoop_give(by_stubs: dict[str, bytes]) -> None:
    """Pyspark's jars, of Hive 2.3 and the newest Hadoop; `make test SUITE=versions` runs the jar in the other Hives."""
    assert len(by_stubs) > 50
    assert differing(by_stubs, compiled(f"{java.find_spark_jars()}/*", [NEWER])) == set()


def test_a_stub_that_is_not_true_gives_other_bytes(by_stubs: dict[str, bytes], tmp_path: Path) -> None:
    """The comparison can fail: a getter of another type, and a constant of another value."""
    stubs = shutil.copytree(COMMON, tmp_path / "stubs")
    wrong = {
        "events/ListenerEvent.java": ("boolean getStatus", "Boolean getStatus"),
        "MetaStoreEventListenerConstants.java": ('= "DB_NOTIFICATION_EVENT_ID', '= "EVENT_ID'),
    }
    for file, (right, other) in wrong.items():
        path = stubs / "org/apache/hadoop/hive/metastore" / file
        text = path.read_text()
        assert right in text
        path.write_text(text.replace(right, other))
    changed = differing(by_stubs, compiled(py4j_jar(), [stubs, NEWER]))
    assert changed == {f"org/pysync/listener/{name}.class" for name in ("SidecarListener", "EventEncoder")}


def test_the_stubs_are_java_without_warnings(tmp_path: Path) -> None:
    """The build reads of them only what the sources need."""
    files = sorted(str(path) for folder in build.STUBS for path in folder.rglob("*.java"))
    options = ["--release", "8", build.LINT, "-Werror", "-proc:none", "-d", str(tmp_path)]
    done = subprocess.run([build.find_javac(), *options, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_common_stub_is_used(by_stubs: dict[str, bytes]) -> None:
    """By the sources, or by a stub that they use."""
    texts = [
        path.read_text() for folder in (build.LISTENER, build.COPY, *build.STUBS) for path in folder.rglob("*.java")
    ]
    for path in COMMON.rglob("*.java"):
        users = [text for text in texts if re.search(rf"\b{path.stem}\b", text)]
        assert len(users) > 1, path
    assert not [name for name in by_stubs if not name.startswith("org/pysync/")]


def run_build(*arguments: str, options: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"JAVA_HOME", *environment}}
    return subprocess.run(
        [sys.executable, *options, str(BUILD), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**kept, **environment},
    )


def fake_jdk(folder: Path, version: str) -> str:
    """A folder for PATH with a javac that says that it is of this version."""
    folder.mkdir()
    (folder / "javac").write_text(f"#!/bin/sh\necho 'javac {version}' >&2\n")
    (folder / "javac").chmod(0o755)
    return str(folder)


def test_where_no_jdk_is_one_line_says_so(tmp_path: Path) -> None:
    output = tmp_path / "build"
    done = run_build("--output", str(output), PATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "pysync: there is no Java compiler (javac): install JDK 9 or newer (Debian: apt-get install "
        "default-jdk-headless), or set JAVA_HOME to one"
    ]
    assert not output.exists()


@pytest.mark.parametrize(
    ("version", "arguments", "problem"),
    [
        ("1.8.0_392", ["--check-jdk"], "is of JDK 8: install JDK 9 or newer"),
        ("11.0.2", ["--check-jdk", "17"], "is of JDK 11: install JDK 17 or newer"),
        ("of gold", ["--check-jdk"], "-version says 'javac of gold': install JDK 9 or newer"),
        ("9", ["--check-jdk"], ""),
        ("17.0.15", ["--check-jdk", "17"], ""),
    ],
)
def test_a_jdk_is_asked_for_its_version(tmp_path: Path, version: str, arguments: list[str], problem: str) -> None:
    done = run_build(*arguments, PATH=f"{fake_jdk(tmp_path / 'bin', version)}:/bin")
    assert (done.returncode, len(done.stderr.splitlines())) == ((2, 1) if problem else (0, 0)), done.stderr
    assert problem in done.stderr


def test_where_py4j_is_not_installed_one_line_says_so() -> None:
    done = run_build("--output", "unwritten", options=("-S",), PATH=os.environ["PATH"])  # -S: no packages at all
    assert done.returncode == 2
    assert done.stderr == "pysync: the package py4j, which holds its jar, is not installed: pip install py4j\n"


def test_a_py4j_that_lacks_a_class_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "py4j.jar", "w") as jar:
        jar.writestr("py4j/Protocol.class", b"")
    with pytest.raises(build.BuildError, match=r"has no py4j/Base64\.class, .*: it is not a py4j that pysync knows"):
        build.py4j_classes(tmp_path / "py4j.jar")


def test_a_jar_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    done = run_build("--output", str(tmp_path / "file" / "build"), PATH=os.environ["PATH"])
    assert done.returncode == 2
    assert re.fullmatch(r"pysync: .*(Not a directory|File exists): .*\n", done.stderr)


def test_every_build_takes_the_same_py4j() -> None:
    """The one that is tested: of the packages, of Maven, and of `make`."""
    package = build.py4j_package().version
    assert f'"py4j=={package}"' in (ROOT / "pyproject.toml").read_text()
    assert f"<py4j.version>{package}</py4j.version>" in (ROOT / "listener-java" / "pom.xml").read_text()
    assert f"py4j=={package}" in (ROOT / ".ci" / "constraints.txt").read_text().splitlines()


def test_a_copy_elsewhere_with_other_times_and_modes_gives_the_same_bytes(jar: Path, tmp_path: Path) -> None:
    copy = tmp_path / "another: place" / "of the sources"
    shutil.copytree(BUILD.parent, copy / "listener-java", copy_function=shutil.copyfile)
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copyfile(ROOT / name, copy / name)
    command = [sys.executable, str(copy / "listener-java" / "build.py"), "--output", str(tmp_path / "new")]
    subprocess.run(command, check=True, umask=0o077, cwd=tmp_path, capture_output=True)
    assert jar.read_bytes() == (tmp_path / "new" / jar.name).read_bytes()
    assert COPY_JAR.read_bytes() == (tmp_path / "new" / COPY_JAR.name).read_bytes()
