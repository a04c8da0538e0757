"""Expiry: until when certificates in files and the tickets of Kerberos are good. Asks no server."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Any

from pysync.base.files import content
from pysync.metastore.settings import KerberosSettings


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
        certificates = x509.load_pem_x509_certificates(content(file))
    except (ImportError, OSError, ValueError):
        return []
    return [it.not_valid_after_utc.timestamp() for it in certificates]
