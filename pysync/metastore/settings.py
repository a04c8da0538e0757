"""What a metastore asks of its clients, as pysync.toml says it; docs/connections.md explains each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pysync.errors import UsageError
from pysync.metastore.addresses import parse_addresses

_SERVICE = re.compile(r"[^/@\s]+/[^/@\s]+@[^/@\s]+")


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

    ca_file: Path | None = Field(
        default=None,
        description="PEM file of who signed the server's certificate; the system's authorities unless given",
    )
    cert_file: Path | None = Field(default=None, description="PEM file of our own certificate, where it is asked for")
    key_file: Path | None = Field(default=None, description="PEM file of its key, mode 0600; in cert_file unless given")
    server_name: str | None = Field(
        default=None, min_length=1, description="the name in the server's certificate, where the address has another"
    )

    @model_validator(mode="after")
    def _has_a_certificate_for_the_key(self) -> TlsSettings:
        if self.key_file is not None and self.cert_file is None:
            raise ValueError("key_file is set and cert_file is not: name the certificate, too")
        return self


class KerberosSettings(_Section):
    """`[source.kerberos]`, `[targets.kerberos]`: log in by Kerberos (SASL/GSSAPI)."""

    service_principal: str = Field(
        description="who the metastore is, as in hive.metastore.kerberos.principal; _HOST becomes the address's host"
    )
    client_principal: str | None = Field(
        default=None, min_length=1, description="who we are; the one of the ticket cache unless given"
    )
    keytab: Path | None = Field(
        default=None, description="file of our key, mode 0600; the process's own ticket cache unless given"
    )

    @model_validator(mode="after")
    def _is_complete(self) -> KerberosSettings:
        if not _SERVICE.fullmatch(self.service_principal):
            raise ValueError(
                f"{self.service_principal!r} is not a service principal: write service_principal as hive/_HOST@REALM, "
                "as in hive.metastore.kerberos.principal"
            )
        if self.keytab is not None and self.client_principal is None:
            raise ValueError("keytab is set and client_principal is not: say whose key it is (klist -kt FILE)")
        return self


class LoginSettings(_Section):
    """`[source.login]`, `[targets.login]`: who we are to a Hive 4 that asks for a password, or speaks HTTP."""

    user: str | None = Field(default=None, min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$", description="our name there")
    password_file: Path | None = Field(
        default=None, description="file of our password, mode 0600: for thrift (hive.metastore.authentication)"
    )
    token_file: Path | None = Field(
        default=None, description="file of a JWT, mode 0600: for HTTP (hive.metastore.authentication = JWT)"
    )

    @model_validator(mode="after")
    def _is_one_way(self) -> LoginSettings:
        if (self.user is None) == (self.token_file is None):
            raise ValueError("set user, or for JWT over HTTP token_file")
        if self.password_file is not None and self.user is None:
            raise ValueError("password_file is set and user is not: say whose password it is")
        return self


def assert_one_login(addresses: str, kerberos: KerberosSettings | None, login: LoginSettings | None) -> None:
    """Raises ValueError where the ways to log in do not go together, or not with the addresses."""
    http = [uri.is_http for uri in parse_addresses(addresses)]
    if kerberos is not None and login is not None:
        raise ValueError("kerberos and login are both set: a metastore asks for one of them")
    if kerberos is not None and any(http):
        raise ValueError("kerberos does not go with an address of http: set login, or use thrift")
    if login is None:
        return
    if login.password_file is None and not all(http):
        raise ValueError("login needs password_file where an address is of thrift")
    if login.password_file is not None and any(http):
        raise ValueError("password_file does not go with an address of http: set user alone, or token_file")
