"""What views are tested with, brought once into build/views: Trino, the TPC queries, a DuckDB that makes data."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.versions.releases import NotBrought, run_maven

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build/views"
POM = Path(__file__).with_name("pom.xml")
PACKAGES = ("duckdb==1.4.4", "duckdb-ext-tpcds==1.4.4.*", "duckdb-ext-tpch==1.4.4.*", "pyarrow")
_TRINO_JAVA = 24
_MINUTES = 10


def bring() -> Path:
    """The directory with all of it. Raises NotBrought, with the end of what Maven or pip said."""
    told = hashlib.sha256(POM.read_bytes() + " ".join(PACKAGES).encode()).hexdigest()[:12]
    done = CACHE / f".brought-{told}"
    if not done.exists():
        run_maven(POM, CACHE, "Trino and the TPC queries")
        _make_environment(CACHE / "venv")
        done.touch()
    return CACHE


def find_java() -> Path:
    """A Java that runs Trino. Raises NotBrought if none is installed."""
    homes = [Path(os.environ["JAVA_HOME"])] if "JAVA_HOME" in os.environ else []
    for program in [*(it / "bin/java" for it in homes), *sorted(Path("/usr/lib/jvm").glob("*/bin/java"))]:
        told = subprocess.run([str(program), "-version"], capture_output=True, text=True, check=False).stderr
        version = re.search(r'version "(\d+)', told)
        if version and int(version[1]) >= _TRINO_JAVA:
            return program
    raise NotBrought(f"Trino needs a JDK {_TRINO_JAVA} or newer: install one, or name it in JAVA_HOME")


def _make_environment(directory: Path) -> None:
    """DuckDB lives apart: its extensions need one exact version of it."""
    for command in (
        [sys.executable, "-m", "venv", str(directory)],
        [str(directory / "bin/python"), "-m", "pip", "install", "--quiet", *PACKAGES],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=_MINUTES * 60, check=False)
        if done.returncode:
            raise NotBrought(f"no environment for DuckDB:\n{done.stderr[-2000:]}")
