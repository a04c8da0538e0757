"""PostgreSQL for released metastores: a cluster of its own, with one database for each of them.

It listens on loopback alone and asks for a password; fsync is off. PostgreSQL refuses to run as root: then it runs as
the user that Debian's package made for it.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pysync import hive_site
from pysync.lab import free_port
from pysync.lab.metastore import HOST
from tests.support import wait_until
from tests.versions.releases import CACHE, Release, run_maven, run_schema_tool

PACKAGE = "postgresql"
_USER = "hive"
_SCHEMA = "schema"
_START_SECONDS = 60.0
_DRIVER = "org.postgresql.Driver"


def lacking() -> str:
    """What is not on this machine, and how it comes there; "" if all is there."""
    if _programs() is None:
        return f"no PostgreSQL here: apt-get install {PACKAGE}"
    if os.getuid() == 0 and _account() is None:
        return f"PostgreSQL does not run as root, and there is no user postgres: apt-get install {PACKAGE}"
    return ""


def _programs() -> Path | None:
    """Where initdb and postgres are: Debian keeps them off the PATH."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin"), *(Path(it) for it in os.get_exec_path())]
    return next((it for it in reversed(found) if (it / "initdb").exists() and (it / "postgres").exists()), None)


def _account() -> str | None:
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running PostgreSQL; `release` is the Hive whose schema its databases have."""

    release: Release
    port: int
    password: str
    driver: Path

    def database(self, name: str) -> dict[str, str]:
        """Make a database with the schema; returns what hive-site.xml says of it."""
        self.run(f'CREATE DATABASE "{name}" TEMPLATE "{_SCHEMA}"')
        return self.settings(name)

    def settings(self, name: str) -> dict[str, str]:
        """Those of hive-site.xml for a database."""
        return {
            "javax.jdo.option.ConnectionURL": f"jdbc:postgresql://{HOST}:{self.port}/{name}",
            "javax.jdo.option.ConnectionDriverName": _DRIVER,
            "javax.jdo.option.ConnectionUserName": _USER,
            "javax.jdo.option.ConnectionPassword": self.password,
        }

    def run(self, statement: str, database: str = "postgres") -> str:
        """What psql prints of one statement, without frills."""
        command = ["psql", "-XAtq", "-h", HOST, "-p", str(self.port), "-U", _USER, "-d", database, "-c", statement]
        environment = {**os.environ, "PGPASSWORD": self.password}
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=environment)
        return done.stdout.strip()

    def make_schema(self, work: Path) -> None:
        """Have Hive's own schema tool make the schema once; all databases are copies of it."""
        self.run(f'CREATE DATABASE "{_SCHEMA}"')
        work.mkdir()
        hive_site.write(work / "hive-site.xml", self.settings(_SCHEMA))
        run_schema_tool(self.release, work, "postgres", [self.driver])


@contextmanager
def postgres(release: Release, work: Path) -> Iterator[Cluster]:
    """A cluster with the schema of a release; it ends, and its files go, with the block. Raises NotBrought."""
    driver = _bring_driver()
    programs = _programs()
    assert programs is not None, lacking()
    directory = Path(tempfile.mkdtemp(prefix="pysync-postgres-"))
    try:
        account = _account() if os.getuid() == 0 else None
        password = _initialized(programs, directory, account)
        with _running(programs, directory, account) as port:
            cluster = Cluster(release, port, password, driver)
            wait_until(lambda: _answers(cluster), seconds=_START_SECONDS, what="PostgreSQL's answer")
            cluster.make_schema(work)
            yield cluster
    finally:
        shutil.rmtree(directory)


def _bring_driver() -> Path:
    directory = CACHE / "postgres"
    if not list(directory.glob("jars/postgresql-*.jar")):
        run_maven(Path(__file__).with_name("pom.xml"), directory, "PostgreSQL's driver")
    return next(directory.glob("jars/postgresql-*.jar"))


def _initialized(programs: Path, directory: Path, account: str | None) -> str:
    """The password of the cluster that was made in `directory`, which belongs to `account` from then on."""
    password, file = secrets.token_hex(16), directory / "password"
    file.touch(mode=0o600)
    file.write_text(password, encoding="utf-8")
    for path in (file, directory):
        if account is not None:
            shutil.chown(path, account, account)
    command = [str(programs / "initdb"), "-D", str(directory / "data"), "-U", _USER, "--auth=scram-sha-256"]
    command += [f"--pwfile={file}", "--encoding=UTF8", "--locale=C", "--no-sync"]
    subprocess.run(command, check=True, capture_output=True, timeout=120, user=account, cwd=directory)
    return password


@contextmanager
def _running(programs: Path, directory: Path, account: str | None) -> Iterator[int]:
    port = free_port()
    command = [str(programs / "postgres"), "-D", str(directory / "data"), "-p", str(port), "-h", HOST]
    command += ["-k", str(directory), "-c", "fsync=off", "-c", "max_connections=200"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, user=account, cwd=directory)
    try:
        yield port
    finally:
        process.terminate()  # "smart": but by now nobody is connected any more
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(cluster: Cluster) -> bool:
    try:
        return cluster.run("SELECT 1") == "1"
    except subprocess.CalledProcessError:
        return False
