"""The real process, `python -m pysync …`, on a configuration of its own: no metastore is needed."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from pysync.cli import main
from pysync.control.client import ask
from pysync.metastore.addresses import MetastoreUri
from pysync.model.wire import encode_event
from tests.support import wait_until
from tests.support.callers import TOKEN, Caller
from tests.support.drains import Maker

STOP_SECONDS = 30


def unused_port() -> int:
    """A port that nobody listens on now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Place:
    """A directory with a configuration whose only target is not there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.file = directory / "pysync.toml"
        self.queue = directory / "queue"
        self.token = directory / "token"
        self.token.write_text(TOKEN)
        self.token.chmod(0o600)
        self.away = MetastoreUri("127.0.0.1", unused_port())
        self.write()

    def write(self, *, port: int = 0, more: str = "") -> None:
        self.file.write_text(
            f"""
[source]
name = "onprem"
[bridge]
port = {port}
token_file = "{self.token}"
[queue]
directory = "{self.queue}"
min_free_mb = 0
[[targets]]
{self.target()}
retry_max_seconds = 0.05
{more}"""
        )

    def target(self) -> str:
        """The lines that say which target it is."""
        return f'name = "dr"\nkind = "hms"\nmetastore = "{self.away}"'


class FaultyPlace(Place):
    """The target is `try`, a faulty one; `more` of `write` are lines of its table, such as `faults`."""

    def target(self) -> str:
        return 'name = "try"\nkind = "faulty"'

    def ask(self, *arguments: object, code: int = 0) -> dict[str, Any]:
        """What `pysync ARGUMENTS -c FILE --json` prints."""
        done = pysync_here(*arguments, "-c", self.file, "--json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)


def pysync(*arguments: object, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    # The library readline adds COLUMNS, for children, in whatever process of the tests imports it: tables are folded.
    env = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    return subprocess.run(command(arguments), capture_output=True, text=True, timeout=seconds, check=False, env=env)


def pysync_here(*arguments: object) -> subprocess.CompletedProcess[str]:
    """As `pysync`, in this process, which takes a fraction of the time. For what does not depend on the process."""
    line = [str(it) for it in ("pysync", *arguments)]
    out, err = StringIO(), StringIO()
    with patch("sys.argv", line), redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patched:
        patched.delenv("COLUMNS", raising=False)  # as above
        with pytest.raises(SystemExit) as ended:
            main()
    return subprocess.CompletedProcess(line, int(ended.value.code or 0), out.getvalue(), err.getvalue())


def command(arguments: Sequence[object]) -> list[str]:
    return [sys.executable, "-m", "pysync", *map(str, arguments)]


class Sidecar:
    """A running `pysync run`; its standard error goes to a file."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.errors = place.directory / f"stderr-{time.monotonic_ns()}"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command(["run", "-c", place.file]), stdout=subprocess.DEVNULL, stderr=errors
            )

    def wait_for(self, text: str) -> None:
        def is_logged() -> bool:
            assert self.process.poll() is None, f"the sidecar ended: {self.errors.read_text()}"
            return text in self.errors.read_text()

        wait_until(is_logged, seconds=90, what=f"the sidecar saying {text!r}")

    def status(self) -> dict[str, Any]:
        """What `pysync status --json` prints, without a process for it: many tests ask many times."""
        return ask(self.place.queue, "status")

    def wait_for_journal(self) -> None:
        """Wait until what the sidecar has done so far is in the journal: it is written half a second later."""
        wait_until(lambda: not self.status()["journal"]["waiting"], what="the journal")

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(STOP_SECONDS)

    def log(self) -> str:
        return self.errors.read_text()


@contextmanager
def sidecar(place: Place) -> Iterator[Sidecar]:
    """`pysync run` from when it says that it runs to the end of the block."""
    running = Sidecar(place)
    try:
        running.wait_for("sidecar_started")
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.process.wait()


def assert_one_line(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """A refusal: one line on standard error that holds these words, nothing on standard output."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("pysync: ")]
    shown = f"exit code {done.returncode}, stdout {done.stdout!r}, stderr:\n{done.stderr}"
    assert (done.returncode, len(lines), done.stdout) == (code, 1, ""), shown
    assert [word for word in words if word not in lines[0]] == [], shown
    assert "Traceback" not in done.stderr, shown


def send(running: Sidecar, *makers: Maker, first: int = 1) -> None:
    """Send events, as the listener does; `first` is the first one's sequence."""
    with closing(Caller(running.status()["bridge"]["port"], TOKEN)) as caller:
        for sequence, maker in enumerate(makers, first):
            assert caller.append(base64.b64encode(encode_event(maker(sequence))).decode()) == "queued"


def wait_for(running: Sidecar, **expected: Any) -> dict[str, Any]:
    """Wait until the target's status has these values."""

    def has_values() -> bool:
        target = running.status()["targets"][0]
        return all(target[key] == value for key, value in expected.items())

    wait_until(has_values, what=str(expected))
    return running.status()["targets"][0]
