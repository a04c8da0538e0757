"""How a metastore is reached: addresses, TLS, logins, and the files that hold secrets."""

from __future__ import annotations

import re
import socket
import stat
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pysync.base.errors import UsageError
from pysync.base.text import quoted
from pysync.base.validation import PlainPath, matching
from pysync.metastore.errors import MetastoreUnavailable

# --- Where a metastore listens: one address, or several of which each will do

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


# --- What a metastore asks of its clients, as pysync.toml says it; docs/security.md explains each

_SERVICE = re.compile(r"[^/@\s]+/[^/@\s]+@[^/@\s]+")


def _addresses(text: str) -> str:
    try:
        return ",".join(map(str, parse_addresses(text)))
    except UsageError as error:
        raise ValueError(str(error)) from error


AddressList = Annotated[str, AfterValidator(_addresses)]

CatalogName = Annotated[str, matching("(?!hive$)[a-z0-9_]{1,256}", "the name of a catalog other than hive; use spark")]
"""`thrift://a:9083`, or several of them with commas; every port and path written out."""


UserName = Annotated[
    str, matching(r"[^\x00-\x1f\x7f]+", "a user name; use one or more characters, none of them a control character")
]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TlsSettings(_Section):
    """`[source.tls]`, `[targets.tls]`: speak TLS. The server is always verified."""

    ca_file: PlainPath | None = Field(
        default=None,
        description="PEM file of the authority that signed the server's certificate. Default: the system's "
        "authorities.",
    )
    cert_file: PlainPath | None = Field(
        default=None, description="PEM file of the client certificate, if the server asks for one."
    )
    key_file: PlainPath | None = Field(
        default=None, description="PEM file of the client key, mode 0600. Default: in cert_file."
    )
    server_name: str | None = Field(
        default=None, min_length=1, description="Name in the server's certificate, if the address has another one."
    )

    @model_validator(mode="after")
    def _has_a_certificate_for_the_key(self) -> TlsSettings:
        if self.key_file is not None and self.cert_file is None:
            raise ValueError("key_file is set, but cert_file is not; set cert_file, too")
        return self


class KerberosSettings(_Section):
    """`[source.kerberos]`, `[targets.kerberos]`: log in by Kerberos (SASL/GSSAPI)."""

    service_principal: str = Field(
        description="Principal of the metastore (hive.metastore.kerberos.principal); _HOST is the host of the address."
    )
    client_principal: str | None = Field(
        default=None, min_length=1, description="Principal of pysync. Default: the one in the ticket cache."
    )
    keytab: PlainPath | None = Field(
        default=None, description="Keytab of client_principal, mode 0600. Default: the ticket cache of the process."
    )

    @model_validator(mode="after")
    def _is_complete(self) -> KerberosSettings:
        if not _SERVICE.fullmatch(self.service_principal):
            raise ValueError(
                f"{self.service_principal!r} is not a service principal; write service_principal as hive/_HOST@REALM, "
                "as in hive.metastore.kerberos.principal"
            )
        if self.keytab is not None and self.client_principal is None:
            raise ValueError(
                "keytab is set, but client_principal is not; set client_principal (klist -kt FILE shows it)"
            )
        return self


class LoginSettings(_Section):
    """`[source.login]`, `[targets.login]`: who we are to a Hive 4 that asks for a password, or speaks HTTP."""

    user: UserName | None = Field(default=None, description="User name of pysync at the metastore.")
    password_file: PlainPath | None = Field(
        default=None, description="File with the password, mode 0600, for thrift (hive.metastore.authentication)."
    )
    token_file: PlainPath | None = Field(
        default=None, description="File with a JWT, mode 0600, for HTTP (hive.metastore.authentication = JWT)."
    )

    @model_validator(mode="after")
    def _check_one_way(self) -> LoginSettings:
        if (self.user is None) == (self.token_file is None):
            raise ValueError("set either user, or token_file (JWT over HTTP)")
        if self.password_file is not None and self.user is None:
            raise ValueError("password_file is set, but user is not; set user, too")
        return self


def assert_one_login(addresses: str, kerberos: KerberosSettings | None, login: LoginSettings | None) -> None:
    """Raises ValueError where the ways to log in do not go together, or not with the addresses."""
    http = [uri.is_http for uri in parse_addresses(addresses)]
    if kerberos is not None and login is not None:
        raise ValueError("kerberos and login are both set; set only one of them")
    if kerberos is not None and any(http):
        raise ValueError("kerberos does not work with an http address; set login instead, or use a thrift address")
    if login is None:
        return
    if login.password_file is None and not all(http):
        raise ValueError("login needs password_file for a thrift address")
    if login.password_file is not None and any(http):
        raise ValueError("password_file does not work with an http address; set only user, or token_file")


# --- Files that hold a secret


def assert_secret(path: Path, name: str) -> None:
    """Raises MetastoreUnavailable, with `name` in its text, for a file that is not there or that others may read."""
    try:
        mode = path.stat().st_mode
        with path.open("rb"):
            pass
    except OSError as error:
        raise MetastoreUnavailable(f"cannot read the {name} {path}: {error.strerror}", "check its path") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise MetastoreUnavailable(f"the {name} {path} can be read by other users", f"chmod 600 {path}")
