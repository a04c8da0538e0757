"""Asking: how the command line asks the running sidecar. One JSON line in, one out, over a unix socket of mode 0600.

The socket is `control.sock` in the queue's directory, so whoever may read the queue may ask, and nobody else. Most
commands need nothing but this module, so it imports nothing that only the sidecar needs.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError, UsageError
from pysync.base.installation import start_sidecar
from pysync.base.text import error_text

SOCKET = "control.sock"
ASK_SECONDS = 10.0

_LONGEST_PATH = 100  # of a unix socket's address: 108 bytes on Linux


class NoSidecar(PysyncError):
    """Nobody answers: no sidecar runs on that queue."""


class Unanswered(PysyncError):
    """The sidecar runs and gave no answer: it may have done what it was asked for, or not."""


def ask(directory: Path, command: str, *, answer_seconds: float = ASK_SECONDS, **arguments: Any) -> dict[str, Any]:
    """The answer of the sidecar whose queue is in `directory`. Raises PysyncError when none runs, or it refuses.

    A refusal of the arguments, or of what they name, is a UsageError. The answer is waited for `answer_seconds`.
    """
    try:
        line = _exchange(directory, json.dumps({"command": command, **arguments}), answer_seconds)
    except (FileNotFoundError, ConnectionRefusedError):
        raise _no_sidecar(directory) from None
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


def ask_if_running(directory: Path, command: str, **arguments: Any) -> dict[str, Any] | None:
    """The answer of the sidecar whose queue is in `directory`; None where none runs. Raises as `ask` otherwise."""
    try:
        return ask(directory, command, **arguments)
    except NoSidecar:
        return None


def _no_sidecar(directory: Path) -> NoSidecar:
    start = f"start the sidecar: {start_sidecar()}"
    # A sidecar whose directory was moved takes no events, and goes on once it is back.
    gone = "" if directory.exists() else "the directory is not there: if it was moved, move it back; else "
    return NoSidecar(f"no sidecar runs on the queue in {directory}", gone + start)


def _reply(line: str) -> dict[str, Any]:
    """The JSON object in `line`; an empty one when there is none (the sidecar ended meanwhile)."""
    try:
        reply = json.loads(line)
    except ValueError:
        return {}
    return reply if isinstance(reply, dict) else {}


def _exchange(directory: Path, request: str, answer_seconds: float) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(answer_seconds)
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
