"""Connections to Hive Metastores (HMS): the only place in pysync that opens one.

From below: `addresses` (which), `settings` (what pysync.toml says), `channel` (bytes), `tls`, `kerberos`, `plain`,
`sasl` and `http` (on top of those), `access` (all of it as one value), `wire` (a connection), `client` (the calls).
"""

from __future__ import annotations

from pysync.metastore.access import MetastoreAccess, Where
from pysync.metastore.addresses import DEFAULT_PORT, MetastoreUri
from pysync.metastore.client import CAPABILITIES, PARTITIONS_PER_CALL, Metastore
from pysync.metastore.errors import (
    MetastoreCallFailed,
    MetastoreError,
    MetastoreRequestInvalid,
    MetastoreUnavailable,
    MetastoreUnsupported,
)
from pysync.metastore.settings import AddressList, KerberosSettings, LoginSettings, TlsSettings, assert_one_login

__all__ = [
    "CAPABILITIES",
    "DEFAULT_PORT",
    "PARTITIONS_PER_CALL",
    "AddressList",
    "KerberosSettings",
    "LoginSettings",
    "Metastore",
    "MetastoreAccess",
    "MetastoreCallFailed",
    "MetastoreError",
    "MetastoreRequestInvalid",
    "MetastoreUnavailable",
    "MetastoreUnsupported",
    "MetastoreUri",
    "TlsSettings",
    "Where",
    "assert_one_login",
]
