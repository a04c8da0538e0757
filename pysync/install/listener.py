"""The listener: its jar, and the properties that go into HMS's hive-site.xml."""

from __future__ import annotations

from pathlib import Path

from pysync.capture.bridge import HOST
from pysync.config import Config
from pysync.errors import PysyncError

LISTENER = "org.pysync.listener.SidecarListener"

_PACKAGE = Path(__file__).resolve().parents[1]
_JARS = (_PACKAGE / "jars" / "pysync-listener.jar", _PACKAGE.parent / "build" / "pysync-listener.jar")


def listener_jar() -> Path:
    """Return the path of the jar: in an installed wheel, or in a checkout where it was built.

    Raises PysyncError if there is no jar.
    """
    for jar in _JARS:
        if jar.is_file():
            return jar
    raise PysyncError("the listener jar is not built", "in a checkout: make jar")


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
