"""AWS's sync agents as contenders: a jar on a metastore's class path, with the settings that their READMEs name."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from pysync.lab import EmbeddedMetastore
from pysync.lab.aws import EmbeddedAws
from pysync.metastore.client import Metastore
from tests.compare.driver import driver_jar
from tests.compare.source import s3_settings
from tests.compare.tls import HOST, tls_front

LISTENER = "com.amazonaws.services.glue.catalog.HiveGlueCatalogSyncAgent"
_JAR = "HiveGlueCatalogSyncAgent-*.jar"
_SERVICES = ("glue", "logs", "monitoring")
_REGIONS = """\
<XML><Regions><Region><Name>{region}</Name><Domain>amazonaws.com</Domain>{endpoints}</Region></Regions></XML>
"""
_ENDPOINT = (
    "<Endpoint><ServiceName>{service}</ServiceName><Http>false</Http><Https>true</Https>"
    "<Hostname>{host}</Hostname></Endpoint>"
)


# Hive 2.3 was written for Java 8, and v1 calls more of it than the metastore does.
_OPENED = ("java.lang", "java.net", "java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic")


class NoAgent(Exception):
    """Why a directory has no agent that can be run."""


@dataclass(frozen=True, slots=True)
class Build:
    """An agent that was built: its jar, those that it needs, and which sources it is made of."""

    jars: tuple[Path, ...]
    version: str

    @classmethod
    def of(cls, directory: Path, origin: Path | None = None) -> Build:
        """The agent whose jar is in the directory, beside those that it needs; NoAgent if there is not one.

        `origin` is the checkout that it was built of, if it is not in one.
        """
        agents = [it for it in sorted(directory.glob(_JAR)) if not it.stem.endswith("-complete")]
        if len(agents) != 1:
            raise NoAgent(f"{directory} has {len(agents)} jars {_JAR}; it must have one: docs/coming-from.md says more")
        return cls(tuple(sorted(directory.glob("*.jar"))), f"{_version(agents[0])}, {_origin(agents[0], origin)}")


def _version(jar: Path) -> str:
    """What Maven wrote into the jar."""
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith("/pom.properties") and "SyncAgent" in name]
        lines = archive.read(names[0]).decode().splitlines() if names else []
    return dict(line.split("=", 1) for line in lines if "=" in line).get("version", "unknown")


def _origin(jar: Path, checkout: Path | None) -> str:
    """The commit of the checkout, or of the one that the jar lies in, or else the beginning of the jar's own hash."""
    command = ["git", "-C", str(checkout or jar.parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return f"commit {done.stdout.strip()}"
    return f"SHA-256 {hashlib.sha256(jar.read_bytes()).hexdigest()[:12]}"


class Agent:
    """An agent in its metastore, as a contender."""

    def __init__(self, aws: EmbeddedAws, metastore: EmbeddedMetastore, java_options: str) -> None:
        self.aws, self.carries = aws, True
        self._metastore = metastore
        # The SDK takes credentials from the environment; there is no other way into its JVM for the options either.
        self._environment = {**aws.environment(), "AWS_REGION": aws.region, "JAVA_TOOL_OPTIONS": java_options}

    def source(self) -> AbstractContextManager[Metastore]:
        """A client of the metastore."""
        return Metastore(self._metastore.uri, timeout=60)

    def kill(self) -> None:
        """Metastore and agent are one process."""
        self._metastore.kill()

    def revive(self) -> None:
        """Start it, or start it again."""
        with mock.patch.dict(os.environ, self._environment):
            self._metastore.start()

    def notes(self) -> Iterator[str]:
        """The agents tell CloudWatch what failed; there the lines begin with ERROR."""
        failed = sum(message.startswith(("ERROR", "DISALLOWED")) for message in self._reported())
        yield f"{failed} operations reported as failed"

    def _reported(self) -> Iterator[str]:
        logs = self.aws.client("logs")
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName="HIVE_METADATA_SYNC"):
            yield from (event["message"] for event in page["events"])


@contextmanager
def v1(build: Build, directory: Path) -> Iterator[Agent]:
    """The first generation: DDL by Athena's JDBC driver."""
    driver = driver_jar(directory)
    with _agent(build, directory, athena=True, jars=(driver,)) as agent:
        yield agent


@contextmanager
def v2(build: Build, directory: Path) -> Iterator[Agent]:
    """The second generation: calls of the Glue API, in batches."""
    with _agent(build, directory, athena=False) as agent:
        yield agent


@contextmanager
def _agent(build: Build, directory: Path, *, athena: bool, jars: tuple[Path, ...] = ()) -> Iterator[Agent]:
    with EmbeddedAws(directory / "aws", athena=athena) as aws, tls_front(directory, _port(aws)) as port:
        settings = {"hive.metastore.event.listeners": LISTENER, **s3_settings(directory / "s3")}
        if athena:
            settings |= _of_athena(aws)
        metastore = EmbeddedMetastore(
            directory / "source", database="disk", jars=[*build.jars, *jars], overrides=settings
        )
        agent = Agent(aws, metastore, _java_options(directory, aws.region, port))
        try:
            agent.revive()
            yield agent
        finally:
            metastore.kill()  # the agent's threads do not end with the metastore's


def _of_athena(aws: EmbeddedAws) -> dict[str, str]:
    return {
        "glue.catalog.athena.jdbc.url": f"jdbc:awsathena://{HOST}:{_port(aws)}",
        "glue.catalog.athena.s3.staging.dir": "s3://lake/athena/",
        "glue.catalog.user.key": "embedded",
        "glue.catalog.user.secret": "embedded",
    }


def _java_options(directory: Path, region: str, port: int) -> str:
    """What sends the SDK to the TLS front, whose certificate nobody else knows, and lets Hive run on a newer Java."""
    regions = directory / "regions.xml"
    endpoints = "".join(_ENDPOINT.format(service=it, host=f"{HOST}:{port}") for it in _SERVICES)
    regions.write_text(_REGIONS.format(region=region, endpoints=endpoints))
    options = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    options.append(f"-Dcom.amazonaws.regions.RegionUtils.fileOverride={regions}")
    options.append("-Dcom.amazonaws.sdk.disableCertChecking=true")
    return " ".join(options)


def _port(aws: EmbeddedAws) -> int:
    return int(aws.url.rpartition(":")[2])
