"""What a metastore needs of the machine: a Java, and the jars that pyspark brings."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from pysync.base.errors import PysyncError, UsageError
from pysync.base.installation import install_extra

HIVE_JAR = "hive-metastore-*.jar"


def find_java() -> Path:
    """The `java` of JAVA_HOME, or else the one on PATH; PysyncError if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    java = java or shutil.which("java")
    if java is None:
        raise PysyncError(
            "found no Java, neither in JAVA_HOME nor on PATH",
            "install Java (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME",
        )
    return Path(java)


def find_spark_jars() -> Path:
    """The directory of the jars in the installed pyspark, which holds a whole metastore; it is not imported."""
    spec = importlib.util.find_spec("pyspark")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        jars = Path(location) / "jars"
        if any(jars.glob(HIVE_JAR)):
            return jars
    raise PysyncError(
        "the embedded metastore needs the jars of pyspark, which is not installed",
        install_extra("embedded"),
    )


def class_archive() -> Path:
    """Where the class archive of this Python environment is, once it is made (pysync.lab.archive)."""
    return Path(sys.prefix) / "share" / "pysync" / "metastore.jsa"


def class_path(first: Sequence[Path], jars: Path, last: Sequence[Path] = ()) -> str:
    """Java's class path: the entries of `first` in their order, every jar in the directory `jars`, those of `last`."""
    entries = [*map(str, first), f"{jars}/*", *map(str, last)]
    for entry in entries:
        if os.pathsep in entry:
            raise UsageError(f"Java cannot use {entry!r} on its class path", f"use a path without {os.pathsep!r}")
    return os.pathsep.join(entries)
