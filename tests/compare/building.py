"""Building: an agent's jar from a checkout of its source, by Maven, and the jars that it needs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.compare.agents import NoAgent

# What the agents' READMEs list as required, without what every metastore has; the last three are the SDK's own.
_NEEDED = (
    *("aws-java-sdk-core", "aws-java-sdk-logs", "aws-java-sdk-glue", "aws-java-sdk-cloudwatch"),
    *("stringtemplate", "antlr-runtime", "jmespath-java", "ion-java", "jackson-dataformat-cbor"),
)
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def built(checkout: Path, output: Path) -> Path:
    """Build the agent and return the directory with its jar and those that it needs; `output` is made anew.

    The checkout is not written to. Raises NoAgent if there is no Maven, or if it fails.
    """
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for name in ("pom.xml", "assembly.xml"):
        shutil.copy(checkout / name, output)
    shutil.copytree(checkout / "src" / "main", output / "src" / "main")
    jars = output / "jars"
    _maven(output, "package", "-Dmaven.test.skip=true")
    _maven(output, _COPY, f"-DoutputDirectory={jars}", f"-DincludeArtifactIds={','.join(_NEEDED)}")
    for jar in (output / "target").glob("*.jar"):
        shutil.copy(jar, jars)
    return jars


def _maven(directory: Path, *arguments: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoAgent("Maven is not installed (Debian: apt-get install maven); or name a directory with the jars")
    log = directory / "maven.log"
    with log.open("ab") as written:
        command = [maven, "--batch-mode", "--file", str(directory / "pom.xml"), *arguments]
        done = subprocess.run(command, stdout=written, stderr=written, check=False)
    if done.returncode != 0:
        raise NoAgent(f"Maven cannot build {directory}: see {log}")
