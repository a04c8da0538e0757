"""What waits in a listener's spool."""

from __future__ import annotations

from pathlib import Path

_HEADER = b"PYSYNC-SPOOL 1\n"


def spooled(directory: Path) -> list[Path]:
    """The files of the spool that hold events: a living metastore keeps one with a header alone."""
    return [file for file in sorted(directory.glob("*.spool")) if file.stat().st_size > len(_HEADER)]
