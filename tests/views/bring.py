"""What views are tested with, brought once: Trino, the TPC queries, engines, and a DuckDB that makes data."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.versions.releases import NotBrought, run_maven

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build/views"
HERE = Path(__file__).parent
DUCKDB = ("duckdb==1.4.4", "duckdb-ext-tpcds==1.4.4.*", "duckdb-ext-tpch==1.4.4.*", "pyarrow")
_TRINO_JAVA = 24
_MINUTES = 10


def bring() -> Path:
    """The directory with Trino and the TPC queries. Raises NotBrought, with the end of what Maven or pip said."""
    _bring_by_pom(HERE / "pom.xml", CACHE, "Trino and the TPC queries")
    make_environment("venv", DUCKDB)  # it lives apart: its extensions need one exact version of it
    return CACHE


def bring_hive(version: str) -> Path:
    """The directory of jars with which a Hive runs queries, beside those of its metastore. Raises NotBrought."""
    directory = CACHE / f"hive-{version}"
    _bring_by_pom(HERE / f"hive-{version}" / "pom.xml", directory, f"Hive {version}")
    return directory / "jars"


def make_environment(name: str, packages: Sequence[str]) -> Path:
    """The Python of an environment with these packages, made once. Raises NotBrought."""
    directory = CACHE / name
    done = _mark_of(directory, " ".join(packages).encode())
    python = directory / "bin/python"
    if not done.exists():
        for command in (
            [sys.executable, "-m", "venv", str(directory)],
            [str(python), "-m", "pip", "install", "--quiet", *packages],
        ):
            ended = subprocess.run(command, capture_output=True, text=True, timeout=_MINUTES * 60, check=False)
            if ended.returncode:
                raise NotBrought(f"no environment with {packages[0]}:\n{ended.stderr[-2000:]}")
        done.touch()
    return python


def find_java() -> Path:
    """A Java that runs Trino. Raises NotBrought if none is installed."""
    homes = [Path(os.environ["JAVA_HOME"])] if "JAVA_HOME" in os.environ else []
    for program in [*(it / "bin/java" for it in homes), *sorted(Path("/usr/lib/jvm").glob("*/bin/java"))]:
        reported = subprocess.run([str(program), "-version"], capture_output=True, text=True, check=False).stderr
        version = re.search(r'version "(\d+)', reported)
        if version and int(version[1]) >= _TRINO_JAVA:
            return program
    raise NotBrought(f"Trino needs a JDK {_TRINO_JAVA} or newer: install one, or name it in JAVA_HOME")


def _bring_by_pom(pom: Path, directory: Path, what: str) -> None:
    done = _mark_of(directory, pom.read_bytes())
    if not done.exists():
        run_maven(pom, directory, what)
        done.touch()


def _mark_of(directory: Path, content: bytes) -> Path:
    """The file that tells that what is named so is there."""
    return directory / f".brought-{hashlib.sha256(content).hexdigest()[:12]}"
