"""The Kerberos login of a client, by the package `gssapi` (extra `kerberos`), and each way to fail as one line."""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from pysync.base.installation import install_extra
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.sasl import FRAME
from pysync.metastore.settings import KerberosSettings, assert_secret

_NONE, _INTEGRITY, _CONFIDENTIALITY = 1, 2, 4
_LONGEST_ANSWER = 0xFFFFFF  # the longest frame that we take, as three bytes say it (RFC 4752)

# MIT's error codes as RFC 4120 numbers them, and its own after those (krb5_err.et).
_FIRST_CODE = 2529638912
_CLOCKS = "synchronize the clocks of this host, the metastore and the KDC (NTP)"
_NO_TICKET = "there is no ticket: run kinit, or set keytab and client_principal"
_HINTS = {
    6: "check client_principal: the realm must have it",
    7: "service_principal must be hive.metastore.kerberos.principal, with _HOST as the name of its host",
    24: "check that the keytab is the newest one of this principal",
    31: "check that the keytab is the newest one of this principal",
    32: "the ticket has expired: run kinit, or set keytab and client_principal so that pysync renews it",
    37: _CLOCKS,
    141: _NO_TICKET,
    148: _CLOCKS,
    154: "krb5.conf must name the realm and its KDC",
    156: "check that the KDC in krb5.conf is running and reachable from this host",
    181: "the keytab must have the key of client_principal: klist -kt FILE",
    195: _NO_TICKET,
}
_NOTHING_CAME = (141, 195)  # with a keytab: no key of the principal is in it
_HINT = "klist shows the tickets, KRB5_TRACE=/dev/stderr shows the login; krb5.conf names the KDC"


class KerberosLogin:
    """Who we are to a metastore. Threads may share it.

    With a keytab the tickets are in memory, and MIT's library acquires new ones at half of their life. Without one the
    tickets of the process's cache are used, which somebody else (kinit, k5start) must keep fresh.
    """

    def __init__(self, settings: KerberosSettings) -> None:
        self._settings = settings
        self._cache = f"MEMORY:pysync-{uuid.uuid4().hex}"
        self._lock = threading.Lock()

    def begin(self, host: str) -> KerberosExchange:
        """Begin to log in at the metastore on this host; asks the KDC for tickets where there are none.

        Raises MetastoreUnavailable, before anything is sent to the metastore.
        """
        gssapi = _gssapi()
        principal = self._settings.service_principal.replace("_HOST", host)
        if self._settings.keytab is not None:
            assert_secret(self._settings.keytab, "keytab")
        with _explained(gssapi, principal), self._lock:  # a login empties the cache for a moment
            credentials = self._credentials(gssapi)
            service = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
            context = gssapi.SecurityContext(name=service, creds=credentials, usage="initiate", flags=_flags(gssapi))
            return KerberosExchange(gssapi, context, principal)

    def _credentials(self, gssapi: Any) -> Any:
        name, keytab = self._settings.client_principal, self._settings.keytab
        client = None if name is None else gssapi.Name(name, gssapi.NameType.kerberos_principal)
        if keytab is None:
            return gssapi.Credentials(name=client, usage="initiate")
        store = {"client_keytab": f"FILE:{keytab}", "ccache": self._cache}
        try:
            credentials = gssapi.Credentials(name=client, usage="initiate", store=store)
            good = credentials.lifetime != 0
        except gssapi.exceptions.ExpiredCredentialsError:
            good = False
        except gssapi.exceptions.GSSError as error:
            if error.min_code - _FIRST_CODE in _NOTHING_CAME:
                raise MetastoreUnavailable(
                    f"the keytab {keytab} has no key of {name}", f"list its keys: klist -kt {keytab}"
                ) from error
            raise
        if not good:  # MIT's library keeps to itself why it got no new ones
            raise MetastoreUnavailable(
                f"the ticket of {name} has expired, and pysync cannot get a new one with {keytab}",
                "check that the KDC in krb5.conf is running and that the keytab is the newest one",
            )
        return credentials


class KerberosExchange:
    """Our side of SASL's mechanism GSSAPI (RFC 4752) with one server, and what protects the data after it.

    `first` is what to send first.
    """

    mechanism = b"GSSAPI"
    name = "Kerberos login"
    hint = "see the log of the metastore; check its clock, keytab and hive.metastore.kerberos.principal"

    def __init__(self, gssapi: Any, context: Any, principal: str) -> None:
        self._gssapi = gssapi
        self._context = context
        self._principal = principal
        self._layer = 0
        self._frame = FRAME
        self.first = context.step() or b""

    @property
    def agreed(self) -> bool:
        """Whether both sides are authenticated and have agreed how the data is protected."""
        return self._layer != 0

    def answer(self, challenge: bytes) -> bytes:
        """What to send in answer to the server. Raises MetastoreUnavailable."""
        with _explained(self._gssapi, self._principal):
            if not self._context.complete:
                return self._context.step(challenge) or b""
            return self._choose(self._context.unwrap(challenge).message)

    def _choose(self, offer: bytes) -> bytes:
        """Take the strongest protection that the server offers: one byte of them, then its longest frame."""
        flags, kind = self._context.actual_flags, self._gssapi.RequirementFlag
        # The strongest first.
        available = {_CONFIDENTIALITY: kind.confidentiality in flags, _INTEGRITY: kind.integrity in flags, _NONE: True}
        chosen = [layer for layer, able in available.items() if able and len(offer) == 4 and offer[0] & layer]
        if not chosen or kind.mutual_authentication not in flags:
            raise MetastoreUnavailable(
                f"{self._principal} offers no SASL protection that pysync supports: {offer[:1].hex()}"
            )
        self._layer = chosen[0]
        longest = min(int.from_bytes(offer[1:], "big") or FRAME, FRAME)
        if self._layer != _NONE:
            self._frame = self._context.get_wrap_size_limit(longest, self._layer == _CONFIDENTIALITY)
        answer = bytes([self._layer]) + (0 if self._layer == _NONE else _LONGEST_ANSWER).to_bytes(3, "big")
        return bytes(self._context.wrap(answer, False).message)

    @property
    def lifetime(self) -> float:
        """For how many seconds the tickets are good from now on."""
        with _explained(self._gssapi, self._principal):
            seconds = self._context.lifetime
        return math.inf if seconds is None else float(seconds)

    def frames(self, data: bytes) -> Iterator[bytes]:
        """The data as it is to be sent, in pieces that the server takes."""
        for start in range(0, len(data), self._frame):
            piece = data[start : start + self._frame]
            yield piece if self._layer == _NONE else self._wrapped(piece)

    def opened(self, frame: bytes) -> bytes:
        """The data of a frame that came. Raises ValueError if it is not protected as agreed."""
        if self._layer == _NONE:
            return frame
        try:
            unwrapped = self._context.unwrap(frame)
        except self._gssapi.exceptions.GSSError as error:
            raise ValueError(f"a frame is damaged: {_message_of(error)}") from error
        if self._layer == _CONFIDENTIALITY and not unwrapped.encrypted:
            raise ValueError("a frame is not encrypted")
        return bytes(unwrapped.message)

    def _wrapped(self, piece: bytes) -> bytes:
        try:
            return bytes(self._context.wrap(piece, self._layer == _CONFIDENTIALITY).message)
        except self._gssapi.exceptions.GSSError as error:
            raise ValueError(f"cannot encrypt a frame: {_message_of(error)}") from error


def _gssapi() -> Any:
    try:
        return import_module("gssapi")
    except ImportError as error:  # also of a library that it lacks
        raise MetastoreUnavailable(
            f"Kerberos needs the package gssapi: {error}",
            f"{install_extra('kerberos')} (it needs libkrb5-dev and gcc)",
        ) from error


def _flags(gssapi: Any) -> Any:
    kind = gssapi.RequirementFlag
    return kind.mutual_authentication | kind.integrity | kind.confidentiality | kind.out_of_sequence_detection


@contextmanager
def _explained(gssapi: Any, principal: str) -> Iterator[None]:
    try:
        yield
    except gssapi.exceptions.GSSError as error:
        hint = _HINTS.get(error.min_code - _FIRST_CODE, _HINT)
        raise MetastoreUnavailable(f"the Kerberos login at {principal} failed: {_message_of(error)}", hint) from error


def _message_of(error: Any) -> str:
    """The reason alone, without "Unspecified GSS failure"."""
    texts = error.get_all_statuses(error.min_code, False) if error.min_code else []
    return " ".join(". ".join(texts or error.get_all_statuses(error.maj_code, True)).split())
