"""A real Kerberos realm for tests: MIT's KDC on loopback, keytabs, and metastores that ask for a login."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from pysync import hive_site
from pysync.lab import EmbeddedMetastore
from pysync.lab.bound_process import BoundProcess
from pysync.metastore.settings import KerberosSettings
from tests.support import wait_until
from tests.support.sidecars import unused_port

REALM = "PYSYNC.TEST"
SERVICE = f"hive/localhost@{REALM}"
CLIENT = f"pysync@{REALM}"
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_PACKAGES = {
    "krb5kdc": "krb5-kdc",
    "kdb5_util": "krb5-kdc",
    "kadmin.local": "krb5-admin-server",
    "kinit": "krb5-user",
}

_KRB5 = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  kdc_timesync = {timesync}
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
"""
_KDC = """\
[kdcdefaults]
  kdc_listen = ""
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {directory}/principal
    key_stash_file = {directory}/stash
    acl_file = {directory}/acl
    max_life = {life}s
  }}
[logging]
  kdc = FILE:{directory}/kdc.log
"""


def missing() -> str | None:
    """What this machine lacks, in one line that says how to get it; None if it is all there."""
    packages = {package for program, package in _PACKAGES.items() if shutil.which(program, path=_PATH) is None}
    if packages:
        return f"no Kerberos KDC here: apt-get install {' '.join(sorted(packages))}"
    if find_spec("gssapi") is None:
        return "no package gssapi here: apt-get install libkrb5-dev gcc; pip install gssapi"
    return None


class Realm:
    """A KDC whose tickets live for `life` seconds; a context manager."""

    def __init__(self, directory: Path, *, life: int) -> None:
        self._directory = directory
        self._port = unused_port()
        self._process: BoundProcess | None = None
        self.config = directory / "krb5.conf"
        self.config.write_text(_KRB5.format(realm=REALM, port=self._port, timesync=1))
        (directory / "kdc.conf").write_text(_KDC.format(realm=REALM, port=self._port, directory=directory, life=life))
        self._environment = {**os.environ, "PATH": _PATH, "KRB5_CONFIG": str(self.config)}
        self._environment["KRB5_KDC_PROFILE"] = str(directory / "kdc.conf")
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")

    def __enter__(self) -> Realm:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the KDC, and return when it takes connections."""
        log = self._directory / "krb5kdc.out"
        command = [str(shutil.which("krb5kdc", path=_PATH)), "-n"]
        self._process = BoundProcess(command, log=log, cwd=self._directory, env=self._environment)
        wait_until(self._listens, seconds=30, what="the KDC")

    def stop(self) -> None:
        """End the KDC."""
        if self._process is not None:
            self._process.stop(5)

    def keytab(self, principal: str) -> Path:
        """Make the principal, unless it is there, and a file of its newest key."""
        file = self._directory / f"{principal.replace('/', '_')}-{len(list(self._directory.glob('*.keytab')))}.keytab"
        if principal not in self._admin("listprincs"):
            self._admin(f"addprinc -randkey {principal}")
        self._admin(f"ktadd -k {file} {principal}")
        file.chmod(0o600)
        return file

    def kinit(self, keytab: Path, principal: str, cache: Path, *options: str) -> None:
        """Get a ticket into a cache, as a person or cron would."""
        self._run("kinit", *options, "-k", "-t", str(keytab), "-c", str(cache), principal)

    def away(self) -> Path:
        """A krb5.conf that names a KDC which is not there."""
        return self._other("away", unused_port(), 1)

    def strict(self) -> Path:
        """A krb5.conf with which a wrong clock is not put right by the KDC's."""
        return self._other("strict", self._port, 0)

    def _other(self, name: str, port: int, timesync: int) -> Path:
        file = self._directory / f"{name}.conf"
        file.write_text(_KRB5.format(realm=REALM, port=port, timesync=timesync))
        return file

    def _listens(self) -> bool:
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _admin(self, query: str) -> str:
        return self._run("kadmin.local", "-r", REALM, "-q", query)

    def _run(self, *command: str) -> str:
        program = str(shutil.which(command[0], path=_PATH))
        done = subprocess.run(
            [program, *command[1:]], env=self._environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout


class KerberizedMetastore(EmbeddedMetastore):
    """A metastore of the realm that asks for a login; `protection` as in hadoop.rpc.protection."""

    def __init__(
        self, directory: Path, realm: Realm, *, keytab: Path, client: KerberosSettings, protection: str, **settings: Any
    ) -> None:
        overrides = {
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.principal": SERVICE,
            "hive.metastore.kerberos.keytab.file": str(keytab),
        }
        super().__init__(directory=directory, kerberos=client, overrides=overrides, **settings)
        self._realm = realm
        self._protection = protection

    def _prepare(self) -> None:
        super()._prepare()
        core = {"hadoop.security.authentication": "kerberos", "hadoop.rpc.protection": self._protection}
        hive_site.write(self.directory / "core-site.xml", core)

    def _java_options(self) -> list[str]:
        return [*super()._java_options(), f"-Djava.security.krb5.conf={self._realm.config}"]


@contextmanager
def environment(**values: object) -> Iterator[None]:
    """These variables of the process, until the end of the block: Kerberos reads them at each login."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update({name: str(value) for name, value in values.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
