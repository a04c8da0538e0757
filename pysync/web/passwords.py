"""Passwords: the file that says who may act on the page. Extra `web`.

It has a line for each user, `NAME:HASH`; the hash is argon2id's.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pysync.base.errors import UsageError
from pysync.base.files import put
from pysync.base.text import error_text, quoted
from pysync.base.token import assert_unreachable, read_private

if TYPE_CHECKING:
    from argon2 import PasswordHasher


SHORTEST = 12
"""Characters of a password."""
LONGEST = 1024
"""What is hashed of whatever somebody sends."""

_WHAT = "the password file"
USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_HASH = re.compile(r"\$argon2id\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+")


class Passwords:
    """The users of a file, which is read at each look: a new password counts at once, and so does a removed user."""

    def __init__(self, file: Path) -> None:
        self._file = file
        # A try takes 64 MiB and some 50 ms: one at a time, however many come.
        self._lock = threading.Lock()

    def hashes(self) -> Mapping[str, str]:
        """User → hash. Raises UsageError where the file is missing, in the reach of others, or holds something else."""
        return _parsed(self._file, read_private(self._file, _WHAT, _hint(self._file)))

    def proof(self, user: str, password: str) -> str | None:
        """The hash of the user, if that is the password; else None, after the same time whether the user is known."""
        from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415 - an extra

        expected = self.hashes().get(user)
        with self._lock:
            try:
                self._hasher.verify(expected or self._nobody, password[:LONGEST])
            except (VerificationError, InvalidHashError):
                return None
        return expected

    @cached_property
    def _hasher(self) -> PasswordHasher:
        return _hasher()

    @cached_property
    def _nobody(self) -> str:
        """A hash that is as costly to compare as a user's, so that time does not reveal who exists."""
        return self._hasher.hash("nobody")


def assert_settable(path: Path, user: str) -> Mapping[str, str]:
    """The users of the file, none where it is not there yet.

    Raises UsageError for a name that will not do, and for a file that others can read or replace, or that holds
    something else.
    """
    if not USER.fullmatch(user):
        hint = "use up to 64 letters, digits, underscores, dots, hyphens and @, beginning with a letter or digit"
        raise UsageError(f"{quoted(user)} is not a valid user name", hint)
    assert_unreachable(path, _WHAT)
    try:
        return Passwords(path).hashes() if path.exists() else {}
    except OSError as error:  # a path that cannot be, such as one that is too long
        raise UsageError(f"cannot read {path}: {error_text(error)}") from error


def set_password(path: Path, user: str, password: str) -> bool:
    """Write the user's password into the file, mode 0600; returns whether the user was there before.

    Raises UsageError as `assert_settable`, for a password that will not do, and where the file cannot be written.
    """
    users = dict(assert_settable(path, user))
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(f"the password has {len(password)} characters", f"use {SHORTEST} to {LONGEST:,}")
    was_there = user in users
    try:
        users[user] = _hasher().hash(password)
        put(path, "".join(f"{name}:{it}\n" for name, it in users.items()).encode(), mode=0o600, replaces=True)
    except UnicodeEncodeError:
        raise UsageError("the password has characters that are no text", "type it in UTF-8") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error_text(error)}") from error
    return was_there


def _parsed(path: Path, text: str) -> dict[str, str]:
    cookies: dict[str, str] = {}
    for at, line in enumerate(text.splitlines(), 1):
        user, _, known = line.strip().partition(":")
        if not line.strip():
            continue
        if not USER.fullmatch(user) or not _HASH.fullmatch(known):
            # The line itself is not shown: it may be a password.
            raise UsageError(f"{path}:{at} is not a user with an argon2id hash", _hint(path))
        cookies[user] = known
    if not cookies:
        raise UsageError(f"{_WHAT} {path} has no user", _hint(path))
    return cookies


def _hint(path: Path) -> str:
    return f"create it: pysync web-password {path} USER"


def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher  # noqa: PLC0415 - an extra

    return PasswordHasher()
