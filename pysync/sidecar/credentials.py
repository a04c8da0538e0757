"""Credentials: what pysync shows to others and trusts in them, and when that ends, for status and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pysync.base.moment import Moment
from pysync.config import Config
from pysync.metastore.expiry import authorities_end, certificate_end, ticket_end
from pysync.metastore.settings import KerberosSettings, TlsSettings
from pysync.targets.settings import TargetSettings

_FRESH_SECONDS = 60.0

End = Callable[[], float | None]


class Credentials:
    """The files and the ticket cache that a configuration names. They are read again a minute later, as others do."""

    def __init__(self, config: Config) -> None:
        page = config.web.tls_certificate
        self._expiries: list[tuple[str, str, End]] = [
            *_of("source", config.source.tls, config.source.kerberos),
            *(secret for it in config.targets for secret in _of_target(it)),
            *([("page", "certificate", partial(certificate_end, page))] if page else []),
        ]
        self.status = Moment(self._read, _FRESH_SECONDS)
        """As in `pysync status --json`: `used_for`, `kind`, `expires_at` (seconds since 1970, or null) of each."""

    def _read(self) -> list[dict[str, Any]]:
        return [{"used_for": used_for, "kind": kind, "expires_at": end()} for used_for, kind, end in self._expiries]


def _of_target(settings: TargetSettings) -> Iterator[tuple[str, str, End]]:
    return _of(f"target {settings.name}", *settings.credentials())


def _of(used_for: str, tls: TlsSettings | None, kerberos: KerberosSettings | None) -> Iterator[tuple[str, str, End]]:
    if tls is not None and tls.cert_file is not None:
        yield used_for, "certificate", partial(certificate_end, tls.cert_file)
    if tls is not None and tls.ca_file is not None:
        yield used_for, "authority", partial(authorities_end, tls.ca_file)
    if kerberos is not None and kerberos.keytab is None:
        yield used_for, "ticket", partial(ticket_end, kerberos)
