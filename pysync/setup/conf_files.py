"""The files of conf/, as they are shipped, and the systemd unit of the sidecar, composed from conf/pysync.service.

They are in a checkout beside the package, in an installation inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pysync.base.errors import PysyncError

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "conf", _PACKAGE.parent / "conf")


_STATE = Path("/var/lib/pysync")


def shipped(name: str) -> str:
    """Return the text of conf/NAME. Raises PysyncError if the file is missing."""
    for place in _PLACES:
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8")
    raise PysyncError(f"conf/{name} is not installed", "install pysync again")


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
