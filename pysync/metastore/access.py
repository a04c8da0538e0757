"""How a metastore is reached, as one value; and when its certificates and tickets end."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from pysync.base.errors import UsageError
from pysync.metastore.login import Login
from pysync.metastore.settings import (
    Addresses,
    KerberosSettings,
    LoginSettings,
    MetastoreUri,
    TlsSettings,
    assert_one_login,
)

# --- MetastoreAccess: everything that is needed to reach a metastore, as one value to hand around


@dataclass(frozen=True, slots=True)
class MetastoreAccess:
    """A metastore's addresses, and what it asks of its clients.

    Connections of the same access share which address is in use and the Kerberos login; threads may, too.
    """

    addresses: Addresses
    tls: TlsSettings | None = None
    login: Login | None = None
    secret: LoginSettings | None = None
    user: str | None = None  # who the calls are made as, where nobody logs in
    catalogs: tuple[str, ...] = ()
    """The catalogs whose databases are listed beside those of `hive` (pysync.model.catalogs)."""

    @classmethod
    def of(
        cls,
        addresses: str | MetastoreUri,
        tls: TlsSettings | None = None,
        kerberos: KerberosSettings | None = None,
        login: LoginSettings | None = None,
        *,
        catalogs: tuple[str, ...] = (),
    ) -> MetastoreAccess:
        """Access to one address, or a list with commas. Raises UsageError for a bad address, or settings that clash.

        `kerberos` becomes `login`, `login` (a password or token) becomes `secret`.
        """
        try:
            assert_one_login(str(addresses), kerberos, login)
        except ValueError as error:
            raise UsageError(str(error)) from error
        session = None if kerberos is None else Login(kerberos)
        return cls(Addresses.parse(str(addresses)), tls, session, login, catalogs=catalogs)

    def as_user(self, user: str | None) -> MetastoreAccess:
        """The same access, for calls as that user at a server that asks for no login."""
        return replace(self, user=user)

    def __str__(self) -> str:
        return str(self.addresses)


MetastoreRef: TypeAlias = str | MetastoreUri | MetastoreAccess
"""What names a metastore: an address, a list of them with commas, or an access."""


# --- Expiry: until when certificates in files and the tickets of Kerberos are good. Asks no server


def certificate_end(file: Path) -> float | None:
    """When the first certificate of a PEM file ends, in seconds since 1970.

    None if it cannot be read, or the package cryptography (extra `web`) is not there.
    """
    return next(iter(_ends(file)), None)


def authorities_end(file: Path) -> float | None:
    """When the last authority of a PEM file ends: from then on nothing is trusted. None as for `certificate_end`."""
    return max(_ends(file), default=None)


def ticket_end(settings: KerberosSettings) -> float | None:
    """When the ticket in the cache of the process ends, in seconds since 1970; now if there is none.

    None with a keytab, by which pysync itself gets new tickets, and if gssapi is not installed.
    """
    if settings.keytab is not None:
        return None
    try:
        gssapi = import_module("gssapi")
    except ImportError:
        return None
    try:
        lifetime = _credentials(gssapi, settings).lifetime
    except gssapi.exceptions.GSSError:  # expired ones, too
        return time.time()
    return None if lifetime is None else time.time() + float(lifetime)


def _credentials(gssapi: Any, settings: KerberosSettings) -> Any:
    name = settings.client_principal
    principal = None if name is None else gssapi.Name(name, gssapi.NameType.kerberos_principal)
    return gssapi.Credentials(name=principal, usage="initiate")


def _ends(file: Path) -> list[float]:
    try:
        x509 = import_module("cryptography.x509")
        certificates = x509.load_pem_x509_certificates(file.read_bytes())
    except (ImportError, OSError, ValueError):
        return []
    return [it.not_valid_after_utc.timestamp() for it in certificates]
