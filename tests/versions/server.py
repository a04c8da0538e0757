"""VersionedMetastore: a released Hive Metastore with the interface of EmbeddedMetastore."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pysync.lab import EmbeddedMetastore
from pysync.lab.metastore import HOST
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.addresses import DEFAULT_PORT, MetastoreUri
from pysync.metastore.settings import LoginSettings
from tests.versions.releases import DB_NOTIFICATION_LISTENER, RELEASES, Release


class VersionedMetastore(EmbeddedMetastore):
    """A metastore of a release; the other arguments are those of EmbeddedMetastore.

    With `notification_log` Hive's own DbNotificationListener writes its log beside whatever listens. With a `scheme` of
    http its `overrides` make it speak that; `login` is how its clients log in then, or where it asks for a password.
    """

    def __init__(
        self,
        release: Release,
        directory: Path,
        *,
        notification_log: bool = False,
        scheme: str = "thrift",
        login: LoginSettings | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(directory, **settings)
        self.release = release
        self._notification_log = notification_log
        self._scheme, self._login = scheme, login

    @property
    def uri(self) -> str:
        """Its address, with the path of HTTP."""
        return str(MetastoreUri.parse(f"{self._scheme}://{HOST}:{self.port or DEFAULT_PORT}"))

    @property
    def access(self) -> MetastoreAccess:
        """How clients on this machine reach it."""
        return MetastoreAccess.of(self.uri, self._tls, self._kerberos, self._login)

    def _prepare(self) -> None:
        super()._prepare()
        # What log4j reads of its own accord where the setting comes too late.
        shutil.copyfile(self.directory / "hive-log4j2.properties", self.directory / "metastore-log4j2.properties")
        mine = self.directory / "derby"
        if self._database == "disk" and not mine.exists():
            shutil.copytree(self.release.derby, mine)

    def _settings(self, database_url: str) -> dict[str, str]:
        if self._database == "memory":
            database_url = f"jdbc:derby:memory:metastore;createFrom={self.release.derby}"
        found = {
            "javax.jdo.option.ConnectionURL": database_url,
            "hive.metastore.warehouse.dir": f"file:{self.warehouse}",
            "metastore.warehouse.external.dir": "",
            "hive.metastore.schema.verification": "false",
            "metastore.async.log.enabled": "false",
            "hive.metastore.event.db.notification.api.auth": "false",
            "metastore.thrift.bind.host": "127.0.0.1",
            **self.release.settings,
        }
        if self.release.grows:
            found["datanucleus.schema.autoCreateAll"] = "true"
        if self._notification_log:
            found["hive.metastore.transactional.event.listeners"] = DB_NOTIFICATION_LISTENER
        return found

    def _java(self) -> Path:
        self.release.bring()
        return self.release.find_java()

    def _class_archive(self) -> list[str]:
        return []

    def _class_path(self) -> str:
        return os.pathsep.join(map(str, [self.directory, *self._jars, *self.release.jars()]))


def metastore_of(version: str, **settings: Any) -> Callable[..., EmbeddedMetastore]:
    """What makes metastores of a version; 2.3.10 is pyspark's."""
    if version in RELEASES:
        return partial(VersionedMetastore, RELEASES[version], **settings)
    return partial(EmbeddedMetastore, **settings)
