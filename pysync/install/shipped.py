"""The files of conf/: in a checkout beside the package, in an installation inside it."""

from __future__ import annotations

from pathlib import Path

from pysync.errors import PysyncError

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "conf", _PACKAGE.parent / "conf")


def shipped(name: str) -> str:
    """Return the text of conf/NAME. Raises PysyncError if the file is missing."""
    for place in _PLACES:
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8")
    raise PysyncError(f"conf/{name} is not installed", "install pysync again")
