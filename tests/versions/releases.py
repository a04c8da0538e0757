"""The released metastores: which there are, and how they come onto this machine.

Each is brought from Maven Central once, by its pom, into `build/versions/VERSION`, together with an empty Derby
database that Hive's own schema tool has made. Nothing of it is kept in the repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from pysync import hive_site
from pysync.embedded.java import find_java

POMS = Path(__file__).resolve().parent
CACHE = POMS.parent.parent / "build" / "versions"

DB_NOTIFICATION_LISTENER = "org.apache.hive.hcatalog.listener.DbNotificationListener"

_MAVEN_SECONDS = 900
_TOOL_SECONDS = 180
_DONE = ".complete"


class NotBrought(Exception):
    """A release could not be brought: Maven, Maven Central or a Java is missing."""


@dataclass(frozen=True, slots=True)
class Release:
    """One version of Hive.

    `schema_of` is the version whose schema tool makes its database: not every release publishes its own. DataNucleus
    adds to that what the newer one has more (`grows`).
    """

    version: str
    schema_of: str
    schema_tool: str = ""
    java: int = 8
    notification_log: bool = False  # whether Hive publishes DbNotificationListener for it on its own
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def directory(self) -> Path:
        """Where it is kept."""
        return CACHE / self.version

    @property
    def grows(self) -> bool:
        """Whether its database begins as that of an older version."""
        return self.schema_of != self.version

    @property
    def derby(self) -> Path:
        """An empty database with its schema: to be copied, never to be opened."""
        return CACHE / self.schema_of / "derby"

    def jars(self) -> list[Path]:
        """Its class path: the release's own jars before those of Hadoop."""
        own = sorted(self.directory.glob("release/*/lib/*.jar"))
        names = {jar.name for jar in own}
        return own + [jar for jar in sorted((self.directory / "jars").glob("*.jar")) if jar.name not in names]

    def find_java(self) -> Path:
        """A Java that is new enough for it: the usual one, or else another that is installed; NotBrought if none is."""
        candidates = [find_java(), *sorted(Path("/usr/lib/jvm").glob("*/bin/java"))]
        for program in candidates:
            if _feature_version(program) >= self.java:
                return program
        raise NotBrought(f"Hive {self.version} needs Java {self.java} or newer, which is not on this machine")

    def bring(self) -> None:
        """Bring it, unless it is here already; NotBrought, with the end of what Maven said."""
        self.find_java()
        if not (self.directory / _DONE).exists():
            _maven(self)
            (self.directory / _DONE).touch()
        if not self.derby.exists():
            older = RELEASES[self.schema_of]
            older.bring() if older is not self else _make_schema(self)


def _maven(release: Release) -> None:
    pom = POMS / f"hive-{release.version}" / "pom.xml"
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(pom), "prepare-package", f"-Doutput={release.directory}"]
    if shutil.which("mvn") is None:
        raise NotBrought("Maven is not installed (Debian: apt-get install maven)")
    done = subprocess.run(command, capture_output=True, text=True, timeout=_MAVEN_SECONDS, check=False)
    if done.returncode:
        raise NotBrought(f"Maven cannot bring Hive {release.version}:\n{done.stdout[-2000:]}")


def _make_schema(release: Release) -> None:
    """Run Hive's own schema tool; the database appears under its name only when it is whole."""
    work = release.directory / "schema"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    url = f"jdbc:derby:;databaseName={work / 'derby'};create=true"
    hive_site.write(work / "hive-site.xml", {"javax.jdo.option.ConnectionURL": url})
    (home,) = release.directory.glob("release/*")
    class_path = os.pathsep.join([str(work), *map(str, release.jars())])
    command = [str(release.find_java()), "-cp", class_path, release.schema_tool, "-dbType", "derby", "-initSchema"]
    environment = {**os.environ, "METASTORE_HOME": str(home)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_TOOL_SECONDS, check=False, cwd=work, env=environment
    )
    if done.returncode:
        raise NotBrought(
            f"the schema tool of Hive {release.version} failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}"
        )
    for lock in (work / "derby").glob("*.lck"):
        lock.unlink()
    (work / "derby").rename(release.derby)


def _feature_version(java: Path) -> int:
    """The N of Java N; 0 if it does not say."""
    done = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=False)
    quoted = done.stderr.partition('"')[2].partition('"')[0].removeprefix("1.")
    number = quoted.partition(".")[0].partition("-")[0].partition("_")[0]
    return int(number) if number.isdigit() else 0


_STANDALONE = {
    # Without Hive's execution engine: the defaults name classes of hive-exec.
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
    "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
}

RELEASES = {
    release.version: release
    for release in (
        Release(
            "3.1.3",
            "3.1.3",
            "org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool",
            notification_log=True,
            settings=_STANDALONE,
        ),
        Release(
            "4.0.1",
            "4.0.1",
            "org.apache.hadoop.hive.metastore.tools.schematool.MetastoreSchemaTool",
            settings=_STANDALONE,
        ),
        Release("4.1.0", "4.0.1", java=17),
        Release("4.2.0", "4.0.1", java=21, notification_log=True),
    )
}
