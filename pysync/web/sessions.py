"""Sessions: who is signed in on the page, and how often a password may be tried. In memory; a restart ends them all."""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pysync.web.passwords import USER

LIFE_SECONDS = 12 * 3600.0
"""How long somebody stays signed in: a night's shift."""
MOST_SESSIONS = 100
MOST_FAILURES = 10
"""Wrong passwords a minute, of everybody together: callers cannot be told apart behind a proxy or a tunnel."""
FAILURE_SECONDS = 60.0

_MOST_MESSAGES = 5

Clock = Callable[[], float]


@dataclass(slots=True)
class PageMessage:
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
    messages: deque[PageMessage] = field(default_factory=lambda: deque(maxlen=_MOST_MESSAGES))
    by_proxy: bool = False

    def taken(self) -> list[PageMessage]:
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
        if len(users) != 1 or not USER.fullmatch(users[0]):
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
