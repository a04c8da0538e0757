"""A JVM with the listener and no metastore, for what would take one too long, or could not be arranged in one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from pysync.lab import free_port, java
from tests.listener.stand import DEADLINE, ROOT, SPOOL_HEADER, TOKEN, Bridge, Event, records
from tests.support import wait_until
from tests.support.hanging import hang
from tests.support.listener_java import build

SOURCE = Path(__file__).with_name("Driver.java")
MIB = 1 << 20
LEAST = 16 * MIB
"""The smallest limit of the spool; its segments are of 1 MiB."""
MARKER = ".alive"
"""The end of the name of the file by which a process is known."""

_LOG_SETTINGS = """\
status = error
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1} [%t] %m%n%throwable
"""


def compile_driver(classes: Path, jar: Path) -> None:
    """With the javac that builds the jar."""
    command = [
        build.find_javac(),
        "-d",
        str(classes),
        "-cp",
        java.class_path([jar], java.find_spark_jars()),
        str(SOURCE),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Driver:
    """A running JVM and what it said; several may follow each other on one spool."""

    def __init__(self, place: Place, settings: Mapping[str, str]) -> None:
        self._log = place.directory / "driver.log"
        log_settings = place.directory / "log4j2.properties"
        log_settings.write_text(_LOG_SETTINGS)
        command = [
            *place.prefix,
            str(java.find_java()),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Xmx{place.heap}",
        ]
        command += [f"-Dlog4j2.configurationFile={log_settings.as_uri()}"]
        command += [f"-D{key}={value}" for key, value in settings.items()]
        command += ["-cp", java.class_path([place.classes, place.jar], java.find_spark_jars()), "Driver"]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1
            )
        assert self.answer() == "ready", self._log.read_text()

    def tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, *words: object) -> str:
        self.tell(*words)
        return self.answer()

    def create(self, name: str, padding: int = 0) -> float:
        """One event; the seconds that its callback took."""
        return int(self.ask("create", name, padding)) / 1e6

    def storm(self, threads: int, count: int, prefix: str, padding: int = 0) -> list[float]:
        """All threads at once, `prefix` + thread + `_` + step; the longest seconds of each thread's callbacks."""
        self.tell("storm", threads, count, prefix, padding)
        return self.storm_over()

    def storm_over(self) -> list[float]:
        return [int(word) / 1e6 for word in self.answer().split()]

    def terminate(self, seconds: float = 60.0) -> None:
        """SIGTERM, and the end."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(seconds) == 128 + signal.SIGTERM

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


class Place:
    """Token, spool and bridge, and the JVMs that use them."""

    def __init__(self, directory: Path, classes: Path, jar: Path) -> None:
        self.directory, self.classes, self.jar = directory, classes, jar
        self.token = directory / "token"
        self.token.write_text(TOKEN)
        self.token.chmod(0o600)
        self.spool = directory / "var" / "spool"
        self.bridge = Bridge(free_port())
        self.heap = "256m"
        self.prefix: list[str] = []
        self._started: list[Driver] = []
        self._stubs: list[Stub] = []

    def driver(self, **settings: str) -> Driver:
        """Settings by their keys without `pysync.`, with `_` for `.`."""
        values = {
            "pysync.source.name": "onprem",
            "pysync.bridge.port": str(self.bridge.port),
            "pysync.bridge.token.file": str(self.token),
            "pysync.spool.dir": str(self.spool),
            "pysync.spool.max.bytes": str(LEAST),
            "pysync.deadline.ms": str(int(DEADLINE * 1000)),
            "pysync.idle.ms": "0",
            **{f"pysync.{key.replace('_', '.')}": value for key, value in settings.items()},
        }
        self._started.append(Driver(self, values))
        return self._started[-1]

    def stub(self, port: int = 0) -> Stub:
        """A sidecar in a process of its own, on the bridge's port unless another is given."""
        self._stubs.append(Stub(port or self.bridge.port, self.token, self.directory / "stub.events"))
        return self._stubs[-1]

    def close(self) -> None:
        self.bridge.answer = lambda _event: "queued"
        for driver in self._started:
            driver.kill()
        for stub in self._stubs:
            stub.kill()
        self.bridge.stop()

    def files(self) -> list[str]:
        """The spool's files that hold something; a living process keeps one with a header alone."""
        return [name for name in self._names() if not name.endswith(MARKER) and self._size(name) > len(SPOOL_HEADER)]

    def markers(self) -> list[str]:
        """The instances whose markers are there."""
        return [name.split("~")[1].removesuffix(MARKER) for name in self._names() if name.endswith(MARKER)]

    def _names(self) -> list[str]:
        return sorted(path.name for path in self.spool.iterdir()) if self.spool.is_dir() else []

    def spooled(self) -> list[Event]:
        """The events that wait, in the order of the files' names."""
        return [Event.parse(event) for name in self.files() for event in records((self.spool / name).read_bytes())]

    def spool_bytes(self) -> int:
        return sum(self._size(name) for name in self.files())

    def _size(self, name: str) -> int:
        """0 for a file that is gone by now: the listener renames each one that it has begun."""
        with suppress(FileNotFoundError):
            return (self.spool / name).stat().st_size
        return 0

    def log_lines(self, words: str = "") -> list[str]:
        """The listener's own lines."""
        text = (self.directory / "driver.log").read_text(errors="replace")
        return [line for line in text.splitlines() if " SidecarListener [" in line and words in line]

    def wait_for_direct(self, seconds: float = 30.0) -> None:
        wait_until(self._is_direct, seconds=seconds, what="the way back to direct")

    def _is_direct(self) -> bool:
        lines = self.log_lines()
        return bool(lines) and "takes events;" in lines[-1]

    def wait_for_count(self, count: int) -> None:
        """Until so many events came."""
        self.wait_for(lambda events: len(events) >= count, f"{count} events")

    def wait_for(self, condition: Callable[[list[Event]], bool], what: str, seconds: float = 30.0) -> None:
        """Until the events that came are as wanted."""
        wait_until(lambda: condition(list(self.bridge.events)), seconds=seconds, what=what)


class Stub:
    """A sidecar that can be stopped as a hung one is (SIGSTOP)."""

    def __init__(self, port: int, token: Path, events: Path) -> None:
        self._events = events
        events.touch()
        command = [sys.executable, "-m", "tests.listener.stub", str(port), str(token), str(events)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def names(self) -> list[str]:
        """Of the databases whose events it took, in order."""
        return self._events.read_text().split()

    def hang(self) -> None:
        hang(self.process.pid)

    def go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
