"""MetastoreAccess: everything that is needed to reach a metastore, as one value to hand around."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from pysync.base.errors import UsageError
from pysync.metastore.addresses import Addresses, MetastoreUri
from pysync.metastore.kerberos import KerberosLogin
from pysync.metastore.settings import KerberosSettings, LoginSettings, TlsSettings, assert_one_login


@dataclass(frozen=True, slots=True)
class MetastoreAccess:
    """A metastore's addresses, and what it asks of its clients.

    Connections of the same access share which address is in use and the Kerberos login; threads may, too.
    """

    addresses: Addresses
    tls: TlsSettings | None = None
    login: KerberosLogin | None = None
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
        session = None if kerberos is None else KerberosLogin(kerberos)
        return cls(Addresses.parse(str(addresses)), tls, session, login, catalogs=catalogs)

    def as_user(self, user: str | None) -> MetastoreAccess:
        """The same access, for calls as that user at a server that asks for no login."""
        return replace(self, user=user)

    def __str__(self) -> str:
        return str(self.addresses)


MetastoreRef: TypeAlias = str | MetastoreUri | MetastoreAccess
"""What names a metastore: an address, a list of them with commas, or an access."""
