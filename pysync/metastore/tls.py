"""TLS to a metastore: Python's ssl, the server always verified, and each way to fail as one line."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from pysync.base.text import error_text
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.settings import TlsSettings, assert_secret

# OpenSSL's X509_V_ERR_… numbers.
_NOT_YET_VALID, _EXPIRED = 9, 10
_WRONG_NAME = (62, 64)
_ISSUER = "ca_file must be the authority that signed the certificate"
_SPEAKS_TLS = "remove tls if its hive.metastore.use.SSL is not true"


def secured(plain: socket.socket, settings: TlsSettings, host: str, address: str) -> ssl.SSLSocket:
    """The connection with TLS on it, after the handshake; within the socket's timeout for each of its steps.

    The files are read each time, so that renewed certificates need no restart. Raises MetastoreUnavailable.
    """
    context = _context(settings)
    name = settings.server_name or host
    try:
        return context.wrap_socket(plain, server_hostname=name)
    except ssl.SSLCertVerificationError as error:
        raise _untrusted(error, address, name) from error
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):  # its word, not ours
            raise refused(error, address) from error
        problem = _plain(error.reason or str(error))
        raise MetastoreUnavailable(
            f"the TLS connection to the metastore at {address} failed: {problem}", _SPEAKS_TLS
        ) from error
    except ValueError as error:  # a name that cannot be in a certificate
        raise MetastoreUnavailable(
            f"{name!r} is not a valid name of a TLS server: {error}", "set server_name"
        ) from error
    except OSError as error:  # it hung up, or says nothing
        raise MetastoreUnavailable(
            f"the TLS connection to the metastore at {address} failed: {error_text(error)}", _SPEAKS_TLS
        ) from error


def refused(error: ssl.SSLError, address: str) -> MetastoreUnavailable:
    """The refusal for an error of TLS in the handshake, or before the first answer.

    With TLS 1.3 the server looks at our certificate only when the handshake is over for us.
    """
    return MetastoreUnavailable(
        f"the metastore at {address} refuses the TLS connection: {_plain(error.reason or str(error))}",
        "the metastore may need a client certificate that its authority signed (cert_file, key_file)",
    )


def _context(settings: TlsSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise _unusable("ca_file", settings.ca_file, error) from error
    if settings.cert_file is not None:
        _show_certificate(context, settings.cert_file, settings.key_file)
    return context


def _show_certificate(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    assert_secret(key or certificate, "key file")
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ssl.SSLError, ValueError) as error:
        raise _unusable("cert_file or key_file", certificate, error) from error


def _no_password() -> str:
    """Refuse, as OpenSSL would ask for the password at the terminal otherwise."""
    raise ValueError("the key has a password; use a key without one, in a file of mode 0600")


def _unusable(key: str, path: Path | None, error: Exception) -> MetastoreUnavailable:
    problem = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return MetastoreUnavailable(
        f"tls: cannot use {key} {path}: {_plain(problem)}", "the file must exist, in PEM format"
    )


def _untrusted(error: ssl.SSLCertVerificationError, address: str, name: str) -> MetastoreUnavailable:
    problem = error.verify_message
    if error.verify_code == _EXPIRED:
        hint = "renew the certificate of the metastore; check the clocks of both hosts"
    elif error.verify_code == _NOT_YET_VALID:
        hint = "check the clocks of both hosts"
    elif error.verify_code in _WRONG_NAME:
        hint = f"use a name that is in the certificate, or set server_name; {name!r} is not in it"
    else:
        hint = _ISSUER
    return MetastoreUnavailable(
        f"the certificate of the metastore at {address} is not trusted: {problem.rstrip('.')}", hint
    )


def _plain(text: str) -> str:
    """OpenSSL's WRONG_VERSION_NUMBER as words."""
    return text.replace("_", " ").lower() if text.isupper() else text
