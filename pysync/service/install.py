"""Install: the token, the listener jar, and the properties that go into HMS's hive-site.xml."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pysync.capture.connections import HOST
from pysync.config import Config
from pysync.errors import PysyncError, UsageError
from pysync.hive_site import to_xml

LISTENER = "org.pysync.listener.SidecarListener"

_TOKEN_BYTES = 32
_PACKAGE = Path(__file__).resolve().parent.parent
_JARS = (_PACKAGE / "jars" / "pysync-listener.jar", _PACKAGE.parent / "build" / "pysync-listener.jar")


def write_token(file: Path) -> None:
    """Write a new secret to `file`, mode 0600. Raises UsageError when it exists or cannot be written."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{file} exists already", "keep it, or remove it first and restart HMS and sidecar") from None
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(secrets.token_hex(_TOKEN_BYTES) + "\n")


def listener_jar() -> Path:
    """The jar in an installed wheel, or in a checkout once it is built. Raises PysyncError when there is none."""
    for jar in _JARS:
        if jar.is_file():
            return jar
    raise PysyncError("the listener jar is not built", "in a checkout: make jar")


def listener_settings(config: Config, spool: Path) -> dict[str, str]:
    """What hive-site.xml must say so that the listener finds the sidecar of this configuration."""
    return {
        "hive.metastore.event.listeners": LISTENER,
        "pysync.source.name": config.source.name,
        "pysync.bridge.host": HOST,
        "pysync.bridge.port": str(config.bridge.port),
        "pysync.bridge.token.file": str(config.bridge.token_file.absolute()),
        "pysync.spool.dir": str(spool.absolute()),
    }


def hive_site_for(config: Config, spool: Path) -> str:
    """The same as XML, to be pasted."""
    return to_xml(listener_settings(config, spool))
