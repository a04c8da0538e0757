"""The client of the control socket: one JSON line in, one out, over a unix socket of mode 0600."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import error_text

# --- Asking: how the command line asks the running sidecar. One JSON line in, one out, over a unix socket of mode
# 0600.
#
# The socket is `control.sock` in the queue's directory, so whoever may read the queue may ask, and nobody else. Most
# commands need nothing but this module, so it imports nothing that only the sidecar needs.


SOCKET = "control.sock"
ASK_SECONDS = 10.0

_LONGEST_PATH = 100  # of a unix socket's address: 108 bytes on Linux


class NoSidecar(PysyncError):
    """Nobody answers: no sidecar runs on that queue."""


class Unanswered(PysyncError):
    """The sidecar runs and gave no answer: it may have done what it was asked for, or not."""


def ask(directory: Path, command: str, **arguments: Any) -> dict[str, Any]:
    """The answer of the sidecar whose queue is in `directory`. Raises PysyncError when none runs, or it refuses.

    A refusal of the arguments, or of what they name, is a UsageError.
    """
    hint = "start the sidecar: pysync run -c FILE"
    try:
        line = _exchange(directory, json.dumps({"command": command, **arguments}))
    except (FileNotFoundError, ConnectionRefusedError):
        raise NoSidecar(f"no sidecar runs on the queue in {directory}", hint) from None
    except PermissionError as error:
        refused = f"the queue in {directory} belongs to another user"
        raise PysyncError(refused, "run the command as the user of the sidecar, or as root") from error
    except OSError as error:
        raise Unanswered(
            f"the sidecar on {directory} does not answer: {error_text(error)}", "see the log of the sidecar"
        ) from error
    reply = _reply(line)
    if "answer" not in reply and not reply.get("error"):
        raise Unanswered(f"the sidecar on {directory} gave no valid answer", reply.get("hint"))
    if "answer" not in reply:
        raise (UsageError if reply.get("exit_code") == UsageError.exit_code else PysyncError)(
            reply["error"], reply.get("hint")
        )
    return dict(reply["answer"])


def _reply(line: str) -> dict[str, Any]:
    """The JSON object in `line`; an empty one when there is none (the sidecar ended meanwhile)."""
    try:
        reply = json.loads(line)
    except ValueError:
        return {}
    return reply if isinstance(reply, dict) else {}


def _exchange(directory: Path, request: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ASK_SECONDS)
        with address_of(directory) as address:
            connection.connect(address)
        connection.sendall(request.encode() + b"\n")
        with connection.makefile("r", encoding="utf-8") as answer:
            return answer.readline()


@contextmanager
def address_of(directory: Path) -> Iterator[str]:
    """The socket's address; through the directory's own descriptor when the path is too long for one."""
    path = str(directory / SOCKET)
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield path
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


# --- Reloading: have the running sidecar take its file again, and wait until it runs with it

_PATIENCE_SECONDS = 120.0
_GONE_SECONDS = 15.0  # a service that has ended is started again, if anything does that
_POLL_SECONDS = 0.2


def begin(directory: Path, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Have the sidecar on that queue read its file; its status before, and its answer: it restarts.

    Raises PysyncError where it refuses: then nothing has changed.
    """
    return ask(directory, "status"), ask(directory, "reload", **arguments)


def wait(directory: Path, before: Mapping[str, Any], on_progress: Callable[[str], None]) -> None:
    """Wait until the sidecar, whose status was `before`, has begun again. Raises PysyncError if it does not."""
    here = _runs(before["pid"])  # not if it is in a container
    until = time.monotonic() + _PATIENCE_SECONDS
    gone_at: float | None = None
    while time.monotonic() < until:
        on_progress("it stops and starts")
        time.sleep(_POLL_SECONDS)
        if _has_begun(directory, after=before["started_at"]):
            return
        is_gone = here and not _runs(before["pid"])
        gone_at = (gone_at or time.monotonic()) if is_gone else None
        if gone_at is not None and time.monotonic() > gone_at + _GONE_SECONDS:
            raise PysyncError("the sidecar has ended, and nothing has started it again", "see the log of the sidecar")
    raise PysyncError("the sidecar has not come back", "see the log of the sidecar")


def _has_begun(directory: Path, after: float) -> bool:
    try:
        return bool(ask(directory, "status")["started_at"] > after)
    except PysyncError:
        return False


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"  # a child that nobody has asked for
