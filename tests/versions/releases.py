"""The released metastores: which there are, and how they come onto this machine.

Each is brought from Maven Central once, by its pom, into `build/versions/VERSION`, together with an empty Derby
database that Hive's own schema tool has made. Nothing of it is kept in the repository. What was brought by another
pom is brought again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pysync import hive_site
from pysync.lab.java import find_java

POMS = Path(__file__).resolve().parent
CACHE = POMS.parent.parent / "build" / "versions"

DB_NOTIFICATION_LISTENER = "org.apache.hive.hcatalog.listener.DbNotificationListener"

_MAVEN_SECONDS = 900
_TOOL_SECONDS = 180
_ADMIN = ("-d", "org.apache.derby.jdbc.EmbeddedDriver", "-n", "APP", "-p", "mine")


class NotBrought(Exception):
    """A release could not be brought: Maven, Maven Central or a Java is missing."""


@dataclass(frozen=True, slots=True)
class Release:
    """One version of Hive.

    `schema_of` is the version whose schema tool makes its database: not every release publishes its own. DataNucleus
    adds to that what the newer one has more (`grows`); `obsolete` are the columns that it does not fill any more.
    """

    version: str
    schema_of: str
    schema_tool: str = ""
    java: int = 8
    notification_log: bool = False  # whether Hive publishes DbNotificationListener for it on its own
    settings: dict[str, str] = field(default_factory=dict)
    obsolete: tuple[str, ...] = ()

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
        return CACHE / (self.version if self.obsolete else self.schema_of) / "derby"

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
        if not self._brought.exists():
            run_maven(POMS / f"hive-{self.version}" / "pom.xml", self.directory, f"Hive {self.version}")
            self._brought.touch()
        older = RELEASES[self.schema_of]
        if older is not self:
            older.bring()
        if not self.derby.exists():
            _change_schema(self, older) if self.obsolete else _make_schema(self)

    @property
    def _brought(self) -> Path:
        """What tells that all which the pom names is here."""
        poms = b"".join(pom.read_bytes() for pom in (POMS / "pom.xml", POMS / f"hive-{self.version}" / "pom.xml"))
        return self.directory / f".brought-{hashlib.sha256(poms).hexdigest()[:12]}"


def run_maven(pom: Path, directory: Path, what: str) -> None:
    """Bring what a pom names into `directory`. Raises NotBrought, with the end of what Maven said."""
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(pom), "prepare-package", f"-Doutput={directory}"]
    if shutil.which("mvn") is None:
        raise NotBrought("Maven is not installed (Debian: apt-get install maven)")
    done = subprocess.run(command, capture_output=True, text=True, timeout=_MAVEN_SECONDS, check=False)
    if done.returncode:
        raise NotBrought(f"Maven cannot bring {what}:\n{done.stdout[-2000:]}")


def _make_schema(release: Release) -> None:
    """Run Hive's own schema tool; the database appears under its name only when it is whole."""
    work = _fresh(release)
    url = f"jdbc:derby:;databaseName={work / 'derby'};create=true"
    hive_site.write(work / "hive-site.xml", {"javax.jdo.option.ConnectionURL": url})
    run_schema_tool(release, work, "derby")
    _keep(work, release)


def run_schema_tool(release: Release, work: Path, kind: str, jars: Sequence[Path] = ()) -> None:
    """Make the schema in the database, of that kind, which the hive-site.xml in `work` names. Raises NotBrought."""
    (home,) = release.directory.glob("release/*")
    arguments = [release.schema_tool, "-dbType", kind, "-initSchema"]
    _run_java(release, work, arguments, jars=jars, environment={"METASTORE_HOME": str(home)})


def _change_schema(release: Release, older: Release) -> None:
    """Of an older one's: columns that must not be empty there, and that the newer one does not fill, may be."""
    work = _fresh(release)
    shutil.copytree(older.derby, work / "derby")
    lines = [f"ALTER TABLE APP.{column.replace('.', ' ALTER COLUMN ')} NULL;" for column in release.obsolete]
    (work / "changes.sql").write_text("\n".join([*lines, ""]), encoding="utf-8")
    url = f"jdbc:derby:{work / 'derby'}"
    _run_java(older, work, ["sqlline.SqlLine", "-u", url, *_ADMIN, "--run=changes.sql"])
    _keep(work, release)


def _fresh(release: Release) -> Path:
    work = release.directory / "schema"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work


def _keep(work: Path, release: Release) -> None:
    for lock in (work / "derby").glob("*.lck"):
        lock.unlink()
    (work / "derby").rename(release.derby)


def _run_java(
    release: Release,
    work: Path,
    arguments: list[str],
    *,
    jars: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a program of a release; NotBrought, with the end of what it said, if that fails."""
    class_path = os.pathsep.join([str(work), *map(str, [*jars, *release.jars()])])
    done = subprocess.run(
        [str(release.find_java()), "-cp", class_path, *arguments],
        capture_output=True,
        text=True,
        timeout=_TOOL_SECONDS,
        check=False,
        cwd=work,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
    )
    if done.returncode or "Error:" in done.stderr:
        text = f"{done.stdout[-1000:]}{done.stderr[-1000:]}"
        raise NotBrought(f"{arguments[0]} of Hive {release.version} failed:\n{text}")


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

# Hive 4.1 looks up whose statistics are by id alone.
_OBSOLETE = (
    *(f"TAB_COL_STATS.{name}" for name in ("CAT_NAME", "DB_NAME", "TABLE_NAME")),
    *(f"PART_COL_STATS.{name}" for name in ("CAT_NAME", "DB_NAME", "TABLE_NAME", "PARTITION_NAME")),
)

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
        Release("4.1.0", "4.0.1", java=17, obsolete=_OBSOLETE),
        Release("4.2.0", "4.0.1", java=21, notification_log=True, obsolete=_OBSOLETE),
    )
}
