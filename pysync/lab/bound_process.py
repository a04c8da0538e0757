"""A child process that ends with its parent, and its log."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("bound_exec.py")


class BoundProcess:
    """A running program whose output goes to the end of a file.

    On Linux the kernel kills it when its parent dies, however that happens. The kernel's rule is about the *thread*
    that forked, so a thread of its own forks and then waits for the child's end: the caller's may end when it likes.
    """

    def __init__(self, command: Sequence[str], *, log: Path, cwd: Path, env: Mapping[str, str]) -> None:
        """Start it; OSError if the program cannot be run."""
        # -I -S: the launcher starts at once, without site packages, whatever the environment says.
        self._command = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command]
        self._log, self._cwd, self._env = log, cwd, dict(env)
        self._child: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        self._forked = threading.Event()
        self._waiter = threading.Thread(target=self._fork_and_wait, name=f"waits for {log}", daemon=True)
        self._waiter.start()
        self._forked.wait()
        if self._error is not None:
            raise self._error

    def _fork_and_wait(self) -> None:
        try:
            self._child = self._fork()
        except OSError as error:
            self._error = error
            return
        finally:
            self._forked.set()
        self._child.wait()

    def _fork(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as output:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._cwd,
                env=self._env,
                start_new_session=True,  # Ctrl-C at the terminal is the parent's to handle
            )

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._waiter.is_alive()

    @property
    def pid(self) -> int:
        """Its process id, which may be another process's once it has ended."""
        return self._popen.pid

    def stop(self, patience: float) -> None:
        """End it with SIGTERM; with SIGKILL if it is still there after `patience` seconds."""
        self._popen.terminate()
        self._waiter.join(patience)
        self.kill()

    def kill(self) -> None:
        """End it with SIGKILL, and wait for the end. Harmless if it has ended."""
        self._popen.kill()
        self._waiter.join()

    @property
    def _popen(self) -> subprocess.Popen[bytes]:
        assert self._child is not None  # noqa: S101, the constructor raises otherwise
        return self._child


def tail(log: Path, lines: int) -> str:
    """The last lines of a log; empty if there is none. Lines are cut at 300 characters."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(line[:300] for line in text.splitlines()[-lines:])
