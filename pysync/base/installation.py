"""The installation on this host: how an extra is added to it, and how its sidecar is started."""

from __future__ import annotations

from pathlib import Path

UNITS = Path("/etc/systemd/system")
UNIT_NAME = "pysync.service"


def install_extra(extra: str) -> str:
    """The command that adds an extra. pysync is in no package index, so it is taken from the wheel."""
    return f'pip install "$(ls dist/pysync-*.whl)[{extra}]"'


def start_sidecar() -> str:
    """The command that starts the sidecar: of its systemd unit, if there is one."""
    return "systemctl start pysync" if (UNITS / UNIT_NAME).exists() else "pysync run -c FILE"
