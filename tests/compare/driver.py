"""Compiles the stand-in for Athena's JDBC driver into a jar, as java.sql.DriverManager finds drivers.

With it comes the one class that pyspark's jars lack for a Hive session, which v1 opens in the metastore.
"""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from pysync.lab import aws, java
from tests.support.listener_java import build

SOURCES = (Path(__file__).with_name("AthenaDriver.java"), Path(aws.__file__).parent / "java" / "LlapSigner.java")
_CLASS = "org.pysync.compare.AthenaDriver"


def driver_jar(directory: Path) -> Path:
    """The jar, made in `directory`; RuntimeError if the compiler refuses the source."""
    classes = directory / "driver-classes"
    command = [build.find_javac(), "--release", "17", "-proc:none", "-nowarn", "-d", str(classes)]
    command += ["-cp", java.class_path([], java.find_spark_jars()), *map(str, SOURCES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    jar = directory / "athena-driver.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in sorted(classes.rglob("*.class")):
            archive.write(path, path.relative_to(classes))
        archive.writestr("META-INF/services/java.sql.Driver", _CLASS)
    return jar
