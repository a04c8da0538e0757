"""A program on a terminal of its own, and a person who answers."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

_SECONDS = 60.0


@contextmanager
def interruptible() -> Iterator[None]:
    """What is started within hears Ctrl-C (SIGINT), also where the tests run in the background, and do not."""
    # A process inherits which signals are ignored, but not which are handled.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Terminal:
    """What a running program has shown, and its keyboard."""

    def __init__(self, command: Sequence[str], environment: dict[str, str] | None = None) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        env = {**os.environ, **(environment or {})}
        with interruptible():
            self.process = subprocess.Popen(
                command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
            )
        os.close(theirs)
        self.shown = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._read_up_to = 0

    def expect(self, text: str) -> None:
        """Wait until it shows this text, behind what was expected before."""
        until = time.monotonic() + _SECONDS
        while (at := self.shown.find(text, self._read_up_to)) < 0:
            assert self._read(until), f"{text!r} never came:\n{self.shown}"
        self._read_up_to = at + len(text)

    def answer(self, question: str, line: str) -> None:
        """Wait for a question, and type a line."""
        self.expect(question)
        self.expect(": ")
        os.write(self._ours, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C until the process ends: Python misses one that comes just as it begins to wait for a line."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(1)

    def end(self) -> int:
        """All that it still shows, and its exit code."""
        until = time.monotonic() + _SECONDS
        while self._read(until):
            pass
        return self.process.wait(_SECONDS)

    def close(self) -> None:
        """Hang up."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, until - time.monotonic()))
        try:
            data = os.read(self._ours, 4096) if ready else b""
        except OSError:  # Linux: the program has ended
            data = b""
        # One read may end within a character.
        self.shown += self._decoder.decode(data).replace("\r\n", "\n")
        return bool(data)


@contextmanager
def terminal(command: Sequence[str], environment: dict[str, str] | None = None) -> Iterator[Terminal]:
    """Start it; it is ended with the block."""
    made = Terminal(command, environment)
    try:
        yield made
    finally:
        made.close()
