"""The Maven build of the listener: its JUnit tests, and a jar with the very classes of the one that build.py makes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.versions.conftest import Report

LISTENER = Path(__file__).resolve().parents[2] / "listener-java"
JAVA_8 = 52
SECONDS = 600


def classes(jar: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(jar) as packed:
        return {name: packed.read(name) for name in packed.namelist() if name.endswith(".class")}


def version(code: bytes) -> int:
    """Of the class file."""
    return int.from_bytes(code[6:8], "big")


@pytest.mark.timeout(SECONDS + 60)
def test_maven_runs_the_junit_tests_and_makes_the_same_jar(tmp_path: Path, report: Report) -> None:
    if shutil.which("mvn") is None:
        report.missing["listener by Maven"] = "Maven is not installed (Debian: apt-get install maven)"
        pytest.skip(report.missing["listener by Maven"])
    ours, root = tmp_path / "ours" / "pysync-listener.jar", tmp_path / "listener-java"
    built = [sys.executable, str(LISTENER / "build.py"), "--output", str(ours.parent)]
    subprocess.run(built, check=True, capture_output=True, timeout=SECONDS)
    shutil.copytree(LISTENER, root, ignore=shutil.ignore_patterns("target"))
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(root / "pom.xml"), "package"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    reports = "".join(path.read_text() for path in root.glob("target/surefire-reports/*.txt"))
    assert reports.count("Tests run:") == len(list(root.rglob("*Test.java"))) > 0, reports
    (theirs,) = root.glob("target/pysync-listener-*.jar")
    mine, its = classes(ours), classes(theirs)
    assert mine.keys() == its.keys()
    assert {name: version(code) for name, code in mine.items()} == {name: version(code) for name, code in its.items()}
    assert {version(code) for name, code in its.items() if "py4j" not in name} == {JAVA_8}
    assert [name for name, code in its.items() if b"py4j/" in code.replace(b"org/pysync/py4j/", b"")] == []
