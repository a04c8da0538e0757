"""What a set-up consists of: the listener's settings, the systemd unit, and the record of what was done."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import Owner
from pysync.base.token import assert_unreachable
from pysync.capture.connections import HOST
from pysync.config import Config

# --- The listener: the properties that go into HMS's hive-site.xml

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


# --- The systemd unit of the sidecar, composed from conf/pysync.service

UNIT_NAME = "pysync.service"

_STATE = Path("/var/lib/pysync")
_HOMES = tuple(map(Path, ("/home", "/root", "/run/user")))


@dataclass(frozen=True, slots=True)
class Service:
    """The values for the unit. `state` is the only directory that the sidecar writes to."""

    executable: Path
    config: Path
    state: Path
    user: str
    group: str
    has_spark: bool = False


def unit_text(reference: str, service: Service) -> str:
    """Return the text of the unit. `reference` is the text of conf/pysync.service. The paths must not need quotes."""
    lines = {
        "User": f"User={service.user}",
        "Group": f"Group={service.group}",
        "ExecStart": f"ExecStart={service.executable} run -c {service.config}",
    }
    if service.state != _STATE:
        lines |= {"StateDirectory": f"ReadWritePaths={service.state}", "StateDirectoryMode": ""}
    if any(home in it.parents for it in (service.executable, service.config, service.state) for home in _HOMES):
        lines["ProtectHome"] = "ProtectHome=read-only"
    if service.has_spark:  # a JVM compiles code at run time
        lines |= {"MemoryDenyWriteExecute": "MemoryDenyWriteExecute=false", "ProcSubset": "ProcSubset=all"}
    explained = {"/opt/pysync": _environment(service), "/etc/pysync": service.config.parent, str(_STATE): service.state}
    unit_lines = (_line(line, lines, explained) for line in reference.splitlines())
    return "".join(f"{line}\n" for line in unit_lines if line is not None)


def _line(line: str, lines: Mapping[str, str], explained: Mapping[str, Path]) -> str | None:
    """Return the line for this service, or None to leave it out."""
    if line.startswith("#   "):
        path, _, what = line[4:].partition(" ")
        return f"#   {str(explained[path]).ljust(len(path))} {what}" if path in explained else line
    return lines.get(line.partition("=")[0], line) or (None if line else "")


def _environment(service: Service) -> Path:
    """Return the virtual environment of the executable, or the directory of the executable."""
    return service.executable.parents[1] if service.executable.parent.name == "bin" else service.executable.parent


# --- The files of conf/: in a checkout beside the package, in an installation inside it

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "conf", _PACKAGE.parent / "conf")


def shipped(name: str) -> str:
    """Return the text of conf/NAME. Raises PysyncError if the file is missing."""
    for place in _PLACES:
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8")
    raise PysyncError(f"conf/{name} is not installed", "install pysync again")


# --- The record of what `pysync init` created. `pysync uninstall` removes what is in it, and nothing else.
#
# It is in the directory of pysync.toml, not in the queue's: root removes what the record names, so the user of the
# sidecar must not be able to write it.

RECORD_NAME = "installed.json"


class Record(BaseModel):
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

    def after(self, former: Record | None) -> Record:
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


def read_record(directory: Path) -> Record | None:
    """Read the record in a configuration directory. Returns None if there is none.

    Raises UsageError if the file cannot be read or is not valid, or if other users could have written it.
    """
    path = directory / RECORD_NAME
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
