"""Where a metastore listens: one address, or several of which each will do."""

from __future__ import annotations

import re
import socket
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit

from pysync.base.errors import UsageError
from pysync.base.text import quoted

DEFAULT_PORT = 9083

_SCHEMES = frozenset({"thrift", "http", "https"})
_HTTP_PATH = "metastore"  # hive.metastore.server.thrift.http.path
_PATH = re.compile(r"[\w.~/%-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class MetastoreUri:
    """One address: `thrift://host:port`, or of Hive 4 over HTTP `http://host:port/path` or `https://…`.

    An IPv6 address is in brackets. `path` is that of HTTP, with its slash; empty for thrift.
    """

    host: str
    port: int = DEFAULT_PORT
    scheme: str = "thrift"
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> MetastoreUri:
        """Read `thrift://host[:port]` or `http[s]://host[:port][/path]`; UsageError for anything else."""
        try:
            parts = urlsplit(text.strip())
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise _not_an_address(text) from error
        path = parts.path.strip("/")
        extra = parts.query or parts.fragment or parts.username is not None or (path and parts.scheme == "thrift")
        # A comma is left from a list whose second address has no scheme: "thrift://a,b:9083".
        if parts.scheme not in _SCHEMES or not host or "," in host or port == 0 or extra or not _PATH.fullmatch(path):
            raise _not_an_address(text)
        path = "" if parts.scheme == "thrift" else f"/{path or _HTTP_PATH}"
        return cls(host, DEFAULT_PORT if port is None else port, parts.scheme, path)

    @property
    def is_http(self) -> bool:
        """Whether thrift goes over HTTP there."""
        return self.scheme != "thrift"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def parse_addresses(text: str) -> tuple[MetastoreUri, ...]:
    """Read `thrift://a:9083,thrift://b:9083`, as in hive.metastore.uris: at least one, in this order, each once.

    Raises UsageError, naming the one that is not an address.
    """
    return tuple(dict.fromkeys(MetastoreUri.parse(part) for part in text.split(",")))


class Addresses:
    """The addresses of one metastore, and which of them is in use. Threads may share it.

    The first is used until it cannot be reached, then the next; one that works is kept until it fails.
    """

    def __init__(self, *uris: MetastoreUri) -> None:
        self._uris = uris
        self._at = 0

    @classmethod
    def parse(cls, text: str) -> Addresses:
        """The addresses of a list (see `parse_addresses`)."""
        return cls(*parse_addresses(text))

    @property
    def current(self) -> MetastoreUri:
        """The one in use."""
        return self._uris[self._at]

    def in_order(self) -> list[MetastoreUri]:
        """The order in which to try them: the one in use, then those after it."""
        at = self._at
        return [*self._uris[at:], *self._uris[:at]]

    def prefer(self, uri: MetastoreUri) -> None:
        """Use this one from now on."""
        self._at = self._uris.index(uri)

    def failed(self, uri: MetastoreUri) -> None:
        """Begin with the address after this one, which gave no answer, unless another thread has moved on already."""
        at = self._uris.index(uri)
        if at == self._at:
            self._at = (at + 1) % len(self._uris)

    def __str__(self) -> str:
        return ",".join(map(str, self._uris))


def shared(first: str, other: str) -> MetastoreUri | None:
    """An address of the second list that is also in the first, under whatever name; None if there is none."""
    places = {place for uri in parse_addresses(first) for place in _places(uri)}
    return next((uri for uri in parse_addresses(other) if places & _places(uri)), None)


def _places(uri: MetastoreUri) -> set[tuple[str, int]]:
    """The hosts and ports that it leads to; all addresses of this machine are one."""
    try:
        addresses = socket.getaddrinfo(uri.host, uri.port, type=socket.SOCK_STREAM)
    except OSError:
        # A name that does not resolve here may still be the same in both lists.
        return {(uri.host.lower(), uri.port)}
    return {
        ("this machine" if _is_of_this_machine(family, str(at[0])) else str(at[0]), uri.port)
        for family, *_, at in addresses
    }


def _is_of_this_machine(family: int, host: str) -> bool:
    """Whether it is an address of this machine: only on those can one listen."""
    with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


def _not_an_address(text: str) -> UsageError:
    return UsageError(
        f"{quoted(text)} is not a metastore address",
        "write thrift://host:port, as in hive.metastore.uris, or http://host:port/metastore for Hive 4 over HTTP",
    )
