"""The listener: the properties that go into HMS's hive-site.xml."""

from __future__ import annotations

from pathlib import Path

from pysync.capture.connections import HOST
from pysync.config import Config

LISTENER = "org.pysync.listener.SidecarListener"


def listener_settings(config: Config, spool: Path) -> dict[str, str]:
    """Return the properties for hive-site.xml that let the listener find the sidecar of this configuration."""
    return {
        "hive.metastore.event.listeners": LISTENER,
        "pysync.source.name": config.source.name,
        "pysync.bridge.host": HOST,
        "pysync.bridge.port": str(config.bridge.port),
        "pysync.bridge.token.file": str(config.bridge.token_file.absolute()),
        "pysync.spool.dir": str(spool.absolute()),
    }
