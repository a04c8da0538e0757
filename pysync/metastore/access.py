"""MetastoreAccess: everything that is needed to reach a metastore, as one value to hand around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pysync.metastore.addresses import Addresses, MetastoreUri
from pysync.metastore.kerberos import Login
from pysync.metastore.settings import KerberosSettings, TlsSettings


@dataclass(frozen=True, slots=True)
class MetastoreAccess:
    """A metastore's addresses, and what it asks of its clients.

    Connections of the same access share which address is in use and the Kerberos login; threads may, too.
    """

    addresses: Addresses
    tls: TlsSettings | None = None
    login: Login | None = None

    @classmethod
    def of(
        cls, where: str | MetastoreUri, tls: TlsSettings | None = None, kerberos: KerberosSettings | None = None
    ) -> MetastoreAccess:
        """To one address, or to a list with commas. Raises UsageError for what is not an address."""
        addresses = Addresses(where) if isinstance(where, MetastoreUri) else Addresses.parse(where)
        return cls(addresses, tls, None if kerberos is None else Login(kerberos))

    def __str__(self) -> str:
        return str(self.addresses)


Where: TypeAlias = str | MetastoreUri | MetastoreAccess
"""What names a metastore: an address, a list of them with commas, or an access."""
