#!/usr/bin/env python3
"""What stands for systemd in a root without one: `systemctl start|stop|restart|enable [--now]|daemon-reload UNIT`.

It obeys the lines of a unit that decide whether the service works: its user, its state directory, its command, and with
Type=notify that it is there only once it says so. It does not confine the service.
"""

from __future__ import annotations

import configparser
import grp
import os
import pwd
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

UNITS = Path("/etc/systemd/system")
RUN = Path("/run")


def main() -> int:
    """Do what the command line says to each unit that it names."""
    words = sys.argv[1:]
    verb, units = words[0], [it.removesuffix(".service") for it in words[1:] if not it.startswith("-")]
    acts = {"start": [start], "stop": [stop], "restart": [stop, start], "enable": [start] if "--now" in words else []}
    for unit in units:
        for act in acts[verb]:
            act(unit)
    return 0


def start(unit: str) -> None:
    """Start the service, as its user, and wait until it is there."""
    service = read(unit)
    user = pwd.getpwnam(service.get("User", "root"))
    group = grp.getgrnam(service["Group"]).gr_gid if "Group" in service else user.pw_gid
    make_state_directory(service, user.pw_uid, group)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        address = RUN / f"{unit}.notify"
        address.unlink(missing_ok=True)
        notify.bind(str(address))
        os.chown(address, user.pw_uid, group)
        process = subprocess.Popen(
            shlex.split(service["ExecStart"]),
            user=user.pw_uid,
            group=group,
            extra_groups=[],
            umask=int(service.get("UMask", "0022"), 8),
            env={"PATH": os.environ["PATH"], "HOME": user.pw_dir, "LANG": "C.UTF-8", "NOTIFY_SOCKET": str(address)},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=(RUN / f"{unit}.log").open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        (RUN / f"{unit}.pid").write_text(str(process.pid))
        if service.get("Type") == "notify":
            wait_until_ready(unit, notify, process)


def read(unit: str) -> dict[str, str]:
    """The section [Service]; of a key that comes twice the last line."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters="=", comment_prefixes=("#", ";"))
    parser.optionxform = str
    with (UNITS / f"{unit}.service").open() as file:
        parser.read_file(file)
    return dict(parser["Service"])


def make_state_directory(service: dict[str, str], user: int, group: int) -> None:
    """As StateDirectory= says: below /var/lib, the service's own."""
    if "StateDirectory" in service:
        directory = Path("/var/lib") / service["StateDirectory"]
        directory.mkdir(exist_ok=True)
        directory.chmod(int(service.get("StateDirectoryMode", "0755"), 8))
        os.chown(directory, user, group)


def wait_until_ready(unit: str, notify: socket.socket, process: subprocess.Popen) -> None:
    """Until it says READY=1. SystemExit with its log if it ends before, or says nothing for a minute."""
    notify.settimeout(0.5)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if b"READY=1" in notify.recv(4096):
                return
        except TimeoutError:
            continue
    raise SystemExit(f"{unit} did not start:\n{(RUN / f'{unit}.log').read_text()}")


def stop(unit: str) -> None:
    """SIGTERM, and wait until it is gone; nothing if it does not run."""
    file = RUN / f"{unit}.pid"
    if not file.exists():
        return
    pid = int(file.read_text())
    file.unlink()
    for _ in range(300):
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise SystemExit(f"{unit} did not stop")


if __name__ == "__main__":
    sys.exit(main())
