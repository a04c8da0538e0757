"""Who signs in on the page: passwords as argon2id hashes, sessions, and how many attempts there may be."""

from __future__ import annotations

import math
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pysync.base.errors import UsageError
from pysync.base.files import put
from pysync.base.text import error_text, quoted
from pysync.base.token import assert_unreachable, read_private

if TYPE_CHECKING:
    from argon2 import PasswordHasher


# --- Passwords: the file that says who may act on the page. A line for each user, `NAME:HASH`; the hash is
# argon2id's.
#
# Extra `web`.

SHORTEST = 12
"""Characters of a password."""
LONGEST = 1024
"""What is hashed of whatever somebody sends."""

_WHAT = "the password file"
_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
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
    if not _USER.fullmatch(user):
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
        if not _USER.fullmatch(user) or not _HASH.fullmatch(known):
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


# --- Sessions: who is signed in on the page, and how often a password may be tried. In memory; a restart ends them
# all

LIFE_SECONDS = 12 * 3600.0
"""How long somebody stays signed in: a night's shift."""
MOST_SESSIONS = 100
MOST_FAILURES = 10
"""Wrong passwords a minute, of everybody together: callers cannot be told apart behind a proxy or a tunnel."""
FAILURE_SECONDS = 60.0

_MOST_MESSAGES = 5

Clock = Callable[[], float]


@dataclass(slots=True)
class Notice:
    """What an act came to, for the next page: `tone` is good or bad."""

    tone: str
    text: str


@dataclass(slots=True)
class Session:
    """One login: the user, the hash that the password met, and the token which every form must send."""

    user: str
    proof: str
    ends: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    messages: deque[Notice] = field(default_factory=lambda: deque(maxlen=_MOST_MESSAGES))
    by_proxy: bool = False

    def taken(self) -> list[Notice]:
        """The messages, which are shown once."""
        messages = list(self.messages)
        self.messages.clear()
        return messages


class Sessions:
    """All sessions by the secret in their cookie; at most MOST_SESSIONS, of which the oldest gives way."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, Session] = {}

    def begin(self, user: str, proof: str) -> str:
        """Sign a user in; returns the cookie's secret."""
        secret = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._open) >= MOST_SESSIONS:
                del self._open[next(iter(self._open))]
            self._open[secret] = Session(user, proof, self._clock() + LIFE_SECONDS)
        return secret

    def get(self, secret: str | None) -> Session | None:
        """The session of this secret, unless it is over."""
        with self._lock:
            session = self._open.get(secret or "")
            if session is not None and session.ends <= self._clock():
                del self._open[secret or ""]
                return None
            return session

    def end(self, secret: str | None) -> None:
        """Sign out; nothing happens to a session that is not there."""
        with self._lock:
            self._open.pop(secret or "", None)


class ProxySessions:
    """Sessions of users whom a proxy names, one for each; at most MOST_SESSIONS, of which the oldest gives way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Session] = {}

    def of(self, users: Sequence[str]) -> Session | None:
        """The session of the user whom the proxy's headers name; None unless they name one, by a valid name."""
        if len(users) != 1 or not _USER.fullmatch(users[0]):
            return None
        with self._lock:
            if users[0] not in self._open and len(self._open) >= MOST_SESSIONS:
                del self._open[next(iter(self._open))]
            return self._open.setdefault(users[0], Session(users[0], "", math.inf, by_proxy=True))


class Attempts:
    """How many passwords may be tried. Each try takes a place for a while; a right password gives it back."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._taken: deque[float] = deque()

    def wait(self) -> float:
        """Take a place and return 0, or return the seconds until one is free."""
        with self._lock:
            now = self._clock()
            while self._taken and self._taken[0] <= now - FAILURE_SECONDS:
                self._taken.popleft()
            if len(self._taken) >= MOST_FAILURES:
                return self._taken[0] + FAILURE_SECONDS - now
            self._taken.append(now)
            return 0.0

    def succeeded(self) -> None:
        """Give the place back that the last try has taken."""
        with self._lock:
            if self._taken:
                self._taken.pop()
