"""The record of what `pysync init` made, beside pysync.toml: what `pysync uninstall` takes back, and nothing else.

It is not among the sidecar's own files: whoever may write there must not tell root what to remove.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pysync.errors import UsageError
from pysync.token import assert_unreachable

NAME = "installed.json"


class Record(BaseModel):
    """All paths are absolute, those of hive-site.xml with links followed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = 1
    user: str
    config: Path
    token: Path
    queue: Path
    spool: Path
    files: dict[Path, str] = {}  # the SHA-256 of what was written
    hive_sites: tuple[Path, ...] = ()
    directories: tuple[Path, ...] = ()  # that were made, not those that were there

    def content(self) -> bytes:
        """The bytes of the file."""
        return (self.model_dump_json(indent=2) + "\n").encode()

    def after(self, former: Record | None) -> Record:
        """Both records in one: with what a former one has besides."""
        if former is None:
            return self
        return self.model_copy(
            update={
                "files": {**former.files, **self.files},
                "hive_sites": tuple(dict.fromkeys((*former.hive_sites, *self.hive_sites))),
                "directories": tuple(dict.fromkeys((*former.directories, *self.directories))),
            }
        )


def read_record(directory: Path) -> Record | None:
    """The record in a configuration directory; None where there is none.

    UsageError where it cannot be read, or others could have written it: it tells root what to remove.
    """
    path = directory / NAME
    try:
        if path.stat().st_uid not in {0, os.geteuid()}:
            raise UsageError(f"{path} belongs to another user", "run the command as that user")
        assert_unreachable(path, "the record")
        return Record.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "run the command as root") from error
    except ValidationError as error:
        raise UsageError(f"{path} is not a record of pysync init", "remove it, and run pysync init again") from error
