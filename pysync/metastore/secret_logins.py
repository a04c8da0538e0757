"""Logins by a secret that is kept in a file: SASL's mechanism PLAIN (RFC 4616), and the headers of an HTTP request."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from pysync.base.files import content
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.sasl import FRAME
from pysync.metastore.settings import LoginSettings, assert_secret

_ACTOR = "x-actor-username"
_LONGEST_SECRET = 64 * 1024


class PlainExchange:
    """Our side of PLAIN: one message says all. It does not protect the data after it; TLS does."""

    mechanism = b"PLAIN"
    agreed = True
    lifetime = math.inf

    def __init__(self, settings: LoginSettings) -> None:
        """Reads the password. Raises MetastoreUnavailable, before anything is sent."""
        self.user = settings.user or ""
        self.first = b"\0".join((b"", self.user.encode(), _secret(settings.password_file, "password file")))
        self.name = f"login of {self.user!r}"
        self.hint = f"check the user, and the password in {settings.password_file}"

    def answer(self, challenge: bytes) -> bytes:  # noqa: ARG002, every exchange has it
        """Raises MetastoreUnavailable: PLAIN has no second message."""
        raise MetastoreUnavailable(
            "the metastore needs more than a password for the login", "see the log of the metastore"
        )

    def frames(self, data: bytes) -> Iterator[bytes]:
        """The data as it is, in pieces that the server takes."""
        return (data[start : start + FRAME] for start in range(0, len(data), FRAME))

    def opened(self, frame: bytes) -> bytes:
        """The frame as it is."""
        return frame


def headers(settings: LoginSettings | None, user: str | None = None) -> Mapping[str, str]:
    """The HTTP headers that say who we are; without a login that is `user`.

    Raises MetastoreUnavailable for a token that cannot be read.
    """
    if settings is None:
        return {} if user is None else {_ACTOR: user}
    if settings.token_file is not None:
        return {"Authorization": "Bearer " + _secret(settings.token_file, "token file").decode("latin-1")}
    return {_ACTOR: settings.user or ""}


def _secret(path: Path | None, name: str) -> bytes:
    """The one line of a file of mode 0600, without its end."""
    if path is None:
        raise MetastoreUnavailable(f"no {name} is set", "set one (docs/security.md)")
    assert_secret(path, name)
    secret = content(path)[:_LONGEST_SECRET].rstrip(b"\r\n")
    if not secret or any(bad in secret for bad in (b"\0", b"\r", b"\n")):
        raise MetastoreUnavailable(
            f"the {name} {path} must hold one line of text", f"write only the {name[:-5]} into it"
        )
    return secret
