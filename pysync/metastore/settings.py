"""What a metastore asks of its clients, as pysync.toml says it; docs/security.md explains each."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pysync.base.errors import UsageError
from pysync.base.files import content
from pysync.base.validation import PlainPath, matching
from pysync.metastore.addresses import parse_addresses
from pysync.metastore.errors import MetastoreUnavailable

_SERVICE = re.compile(r"[^/@\s]+/[^/@\s]+@[^/@\s]+")

CatalogName = Annotated[str, matching("(?!hive$)[a-z0-9_]{1,256}", "the name of a catalog other than hive; use spark")]

UserName = Annotated[
    str, matching(r"[^\x00-\x1f\x7f]+", "a user name; use one or more characters, none of them a control character")
]


def _addresses(text: str) -> str:
    try:
        return ",".join(map(str, parse_addresses(text)))
    except UsageError as error:
        raise ValueError(str(error)) from error


AddressList = Annotated[str, AfterValidator(_addresses)]
"""`thrift://a:9083`, or several of them with commas; every port and path written out."""


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


def assert_secret(path: Path, name: str) -> None:
    """Raises MetastoreUnavailable, with `name` in its text, for a file that is not there or that others may read."""
    try:
        mode = path.stat().st_mode
        content(path)
    except OSError as error:
        raise MetastoreUnavailable(f"cannot read the {name} {path}: {error.strerror}", "check its path") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise MetastoreUnavailable(f"the {name} {path} can be read by other users", f"chmod 600 {path}")
