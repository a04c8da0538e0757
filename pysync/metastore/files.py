"""Files that hold a secret."""

from __future__ import annotations

import stat
from pathlib import Path

from pysync.metastore.errors import MetastoreUnavailable


def assert_secret(path: Path, what: str) -> None:
    """Raises MetastoreUnavailable, naming `what` it is, for a file that is not there or that others may read."""
    try:
        mode = path.stat().st_mode
        with path.open("rb"):
            pass
    except OSError as error:
        raise MetastoreUnavailable(f"cannot read the {what} {path}: {error.strerror}", "check its path") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise MetastoreUnavailable(f"the {what} {path} can be read by other users", f"chmod 600 {path}")
