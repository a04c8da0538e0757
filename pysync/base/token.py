"""Files with secrets, which nobody else can read, write, or put another in the place of: the bridge's token first."""

from __future__ import annotations

import os
import pwd
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from pysync.base.errors import UsageError
from pysync.base.files import content_and_status
from pysync.base.rights import is_open
from pysync.base.text import error_text

_BYTES = 32
_SHORTEST = 16
_ROOT = 0


def read_token(path: Path) -> str:
    """The secret. Raises UsageError when the file is missing, empty, or in the reach of others."""
    hint = f"create it: pysync token {path}"
    token = read_private(path, "the token file", hint)
    if len(token) < _SHORTEST or not token.isprintable() or " " in token:
        raise UsageError(f"the token file {path} holds no token of at least {_SHORTEST} characters", hint)
    return token


def read_private(path: Path, what: str, hint: str) -> str:
    """The text of a file that is ours alone, stripped; `what` names it in a refusal, `hint` says how to make it.

    Raises UsageError when it is missing, no ASCII text, or others can read or replace it.
    """
    try:
        data, status = content_and_status(path)
        text = data.decode("ascii").strip()
    except FileNotFoundError:
        raise UsageError(f"{what} {path} does not exist", hint) from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {what} {path}: it holds no text", hint) from None
    except OSError as error:
        raise UsageError(f"cannot read {what} {path}: {error_text(error)}", hint) from error
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"{what} {path} can be read by other users", f"chmod 600 {path}")
    if _is_others(status):
        raise UsageError(f"{what} {path} belongs to another user", "chown it to the user that pysync runs as")
    assert_unreachable(path, what)
    return text


def write_token(path: Path, owner: tuple[int, int] | None = None) -> None:
    """Write a new secret, mode 0600, and make the directories above it that are missing, mode 0755.

    `owner` are the ids of a user and a group that get it; else it is ours.
    Raises UsageError where it exists, cannot be written, or could be replaced.
    """
    assert_unreachable(path)
    try:
        _make(path.absolute().parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(
            f"{path} exists already", "keep the file, or remove it first and restart HMS and the sidecar afterwards"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        if owner is not None:
            os.fchown(descriptor, *owner)
        handle.write(secrets.token_hex(_BYTES) + "\n")


def _make(directory: Path) -> None:
    missing = [it for it in (directory, *directory.parents) if not it.exists()]
    for it in reversed(missing):
        it.mkdir(mode=0o755, exist_ok=True)  # one by one: `parents` would leave those above to the umask


def assert_unreachable(path: Path, what: str = "the token file") -> None:
    """Raises UsageError when somebody but our user and root could put another file in the place of this one."""
    for directory in _parents(path):
        try:
            status = directory.stat()
        except FileNotFoundError:
            continue  # whoever writes the file gets that error
        except OSError as error:
            raise UsageError(f"cannot read {directory}: {error.strerror}") from error
        if is_open(status) or _is_others(status):
            raise UsageError(
                f"other users can replace {what} {path}: they can write to {directory}", _remedy(directory, status)
            )


def _remedy(directory: Path, status: os.stat_result) -> str:
    """What to do about a directory that others can write to: if only its owner can, root may become that user."""
    if os.geteuid() == _ROOT and not is_open(status):
        return f"run the command as its owner: runuser -u {owner_name(status.st_uid)} -- pysync …"
    return f"chmod go-w {directory}, chown the directory, or keep the file in another directory"


def owner_name(uid: int) -> str:
    """The name of a user, or what stands for it where the system has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"'#{uid}'"


def _parents(path: Path) -> Iterator[Path]:
    """The directories above the file, and above the file that it is a link to."""
    yield from path.absolute().parents
    yield from path.resolve().parents


def _is_others(status: os.stat_result) -> bool:
    return status.st_uid not in {_ROOT, os.geteuid()}
