"""A certificate authority for tests, and what it signs: PEM files, and keystores that Java reads."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

PASSWORD = "changeit"  # noqa: S105, of nothing
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate and its key, in PEM, and both in a keystore with PASSWORD."""

    certificate: Path
    key: Path
    keystore: Path


class Authority:
    """Signs certificates; `file` is its own."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self._directory = directory
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(self._name, self._name, self._key, days=2)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        usage = x509.KeyUsage(*[False] * 5, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False)
        builder = builder.add_extension(usage, critical=True).add_extension(_identifier(self._key), critical=False)
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def sign(self, name: str, *hosts: str, days: float = 1, password: str = "") -> Signed:
        """A certificate for these hosts, good for so many days from now; negative: over since then.

        With a password its key in PEM is encrypted.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name), self._name, key, days)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = builder.add_extension(issuer, critical=False).sign(self._key, hashes.SHA256())
        found = Signed(*(self._directory / f"{name}.{kind}" for kind in ("crt", "key", "p12")))
        found.certificate.write_bytes(_pem(certificate))
        found.key.touch(mode=0o600)
        found.key.write_bytes(_key(key, password))
        store = serialization.BestAvailableEncryption(PASSWORD.encode())
        found.keystore.write_bytes(pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, None, store))
        return found


def _builder(subject: x509.Name, issuer: x509.Name, key: Any, days: float) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - 30 * _DAY).not_valid_after(now + days * _DAY)


def _identifier(key: Any) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key(key: Any, password: str) -> bytes:
    how = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)
