"""The listener's jar: where it is, in a wheel or in a checkout."""

from __future__ import annotations

from pathlib import Path

from pysync.base.errors import PysyncError

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
