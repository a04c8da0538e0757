"""The two jars, of the listener and of the file copy: where they are, in a wheel or in a checkout."""

from __future__ import annotations

from pathlib import Path

from pysync.base.errors import PysyncError

_PACKAGE = Path(__file__).resolve().parents[1]
_DIRECTORIES = (_PACKAGE / "jars", _PACKAGE.parent / "build")


def listener_jar() -> Path:
    """Return the path of the jar for the Hive Metastore: in an installed wheel, or in a checkout where it was built.

    Raises PysyncError if there is no jar.
    """
    return _jar("listener")


def copy_jar() -> Path:
    """Return the path of the jar for Spark, likewise. Raises PysyncError if there is no jar."""
    return _jar("copy")


def _jar(name: str) -> Path:
    for directory in _DIRECTORIES:
        jar = directory / f"pysync-{name}.jar"
        if jar.is_file():
            return jar
    raise PysyncError(f"the {name} jar is not built", "in a checkout: make jar")
