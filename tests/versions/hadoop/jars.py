"""What copying is tested with, beside pyspark's own jars: brought from Maven Central once, into `build/versions`.

All of it is of the version of pyspark's own Hadoop client, as a user's would be. Nothing is kept in the repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pysync.lab.java import find_spark_jars
from tests.versions.releases import CACHE, NotBrought

_POM = Path(__file__).with_name("pom.xml")
_CLIENT = "hadoop-client-api-"
_OF_S3A = ("hadoop-aws-", "bundle-", "analyticsaccelerator-s3-", "wildfly-openssl-")
_OF_HDFS = ("hadoop-client-minicluster-", "snappy-java-")
_OF_DISTCP = ("hadoop-distcp-",)
_MAVEN_SECONDS = 1200  # the AWS SDK alone is some 700 MB


@dataclass(frozen=True, slots=True)
class HadoopJars:
    """The jars of one version of Hadoop, in one directory."""

    version: str
    directory: Path

    def of_s3a(self) -> str:
        """What Spark needs for `s3a://`: hadoop-aws with its AWS SDK."""
        return self._path(_OF_S3A)

    def of_hdfs(self) -> str:
        """Name nodes and data nodes, on the class path of pyspark's jars."""
        return os.pathsep.join([self._path(_OF_HDFS), _pyspark()])

    def of_distcp(self) -> str:
        """Hadoop's distcp, on the class path of pyspark's jars."""
        return os.pathsep.join([self._path(_OF_DISTCP), _pyspark()])

    def _path(self, names: tuple[str, ...]) -> str:
        return os.pathsep.join(str(it) for it in sorted(self.directory.glob("*.jar")) if it.name.startswith(names))


def bring() -> HadoopJars:
    """Bring them, unless they are here already; NotBrought, with the end of what Maven said."""
    (client,) = find_spark_jars().glob(f"{_CLIENT}*.jar")
    version = client.stem.removeprefix(_CLIENT)
    directory = CACHE / f"hadoop-{version}"
    if not directory.exists():
        unfinished = directory.with_name(f"{directory.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        _maven(version, unfinished)
        unfinished.rename(directory)
    return HadoopJars(version, directory)


def _maven(version: str, directory: Path) -> None:
    options = ["--batch-mode", "--quiet", "--file", str(_POM), f"-Dhadoop={version}", f"-Doutput={directory}"]
    if shutil.which("mvn") is None:
        raise NotBrought("Maven is not installed (Debian: apt-get install maven)")
    done = subprocess.run(
        ["mvn", *options, "prepare-package"], capture_output=True, text=True, timeout=_MAVEN_SECONDS, check=False
    )
    if done.returncode:
        raise NotBrought(f"Maven cannot bring Hadoop {version}:\n{done.stdout[-2000:]}")


def _pyspark() -> str:
    return f"{find_spark_jars()}/*"
