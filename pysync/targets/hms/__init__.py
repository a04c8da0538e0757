"""The target kind `hms`: another Hive Metastore, reached over thrift."""

from __future__ import annotations

from functools import partial

from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.targets.hms.connections import Connections
from pysync.targets.hms.settings import HmsSettings
from pysync.targets.hms.store import HmsStore
from pysync.targets.kinds import TargetKind
from pysync.targets.target import StoreTarget

__all__ = ["KIND", "HmsSettings", "HmsStore", "hms_store", "hms_target"]


def hms_store(settings: HmsSettings) -> HmsStore:
    """The metastore of these settings. It connects at the first call, and again after a failure."""
    connections = Connections(settings, partial(_connection, settings, settings.access()))
    return HmsStore(settings, connections, f"target {settings.name!r} at {settings.metastore}")


def hms_target(settings: HmsSettings) -> StoreTarget:
    """The target of these settings, on `hms_store`."""
    return StoreTarget(hms_store(settings))


def _connection(settings: HmsSettings, access: MetastoreAccess, user: str | None) -> Metastore:
    return Metastore(access.as_user(user), timeout=settings.timeout_seconds)


KIND = TargetKind(settings=HmsSettings, open=hms_target)
