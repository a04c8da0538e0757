"""The record of what `pysync init` created. `pysync uninstall` removes what is in it, and nothing else.

It is in the directory of pysync.toml, not in the queue's: root removes what the record names, so the user of the
sidecar must not be able to write it.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pysync.base.errors import UsageError
from pysync.base.files import Owner, content
from pysync.base.token import assert_unreachable

RECORD_NAME = "installed.json"


class InstallRecord(BaseModel):
    """What is installed. All paths are absolute; in those of hive-site.xml links are resolved."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = 1
    user: str
    config: Path
    token: Path
    queue: Path
    spool: Path
    files: dict[Path, str] = {}  # path to the SHA-256 of what was written
    hive_sites: tuple[Path, ...] = ()
    directories: tuple[Path, ...] = ()  # that pysync init created

    def owner(self) -> Owner | None:
        """The ids of the user of the service; None if the account is gone."""
        try:
            account = pwd.getpwnam(self.user)
        except KeyError:
            return None
        return account.pw_uid, account.pw_gid

    def content(self) -> bytes:
        """The bytes of the file."""
        return (self.model_dump_json(indent=2) + "\n").encode()

    def after(self, former: InstallRecord | None) -> InstallRecord:
        """Return this record with everything that only the former one has."""
        if former is None:
            return self
        return self.model_copy(
            update={
                "files": {**former.files, **self.files},
                "hive_sites": tuple(dict.fromkeys((*former.hive_sites, *self.hive_sites))),
                "directories": tuple(dict.fromkeys((*former.directories, *self.directories))),
            }
        )


def read_record(directory: Path) -> InstallRecord | None:
    """Read the record in a configuration directory. Returns None if there is none.

    Raises UsageError if the file cannot be read or is not valid, or if other users could have written it.
    """
    path = directory / RECORD_NAME
    try:
        if path.stat().st_uid not in {0, os.geteuid()}:
            raise UsageError(f"{path} belongs to another user", "run the command as that user")
        assert_unreachable(path, "the record")
        return InstallRecord.model_validate_json(content(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "run the command as root") from error
    except ValidationError as error:
        raise UsageError(f"{path} is not a record of pysync init", "remove it, and run pysync init again") from error
