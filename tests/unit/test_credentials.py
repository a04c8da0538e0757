"""Credentials: when certificates and tickets end, as far as that can be read, and what is not asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pysync.config import load_config
from pysync.metastore.expiry import authorities_end, certificate_end, ticket_end
from pysync.metastore.settings import KerberosSettings
from pysync.sidecar.credentials import Credentials
from tests.support.certificates import Authority

DAY = 86400.0
SERVICE = "hive/_HOST@EXAMPLE.COM"


class GSSError(Exception):
    """As gssapi has it."""


def gssapi(lifetime: Callable[[], int | None]) -> Any:
    """As much of the package as is used: its ticket lasts so long."""
    ticket = type("Credentials", (), {"__init__": lambda *_, **__: None, "lifetime": property(lambda _: lifetime())})
    return SimpleNamespace(
        Credentials=ticket,
        Name=lambda *_: "a name",
        NameType=SimpleNamespace(kerberos_principal=1),
        exceptions=SimpleNamespace(GSSError=GSSError),
    )


def no_ticket() -> int:
    raise GSSError


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def about(seconds: float) -> Any:
    return pytest.approx(time.time() + seconds, abs=120)


def test_the_first_certificate_of_a_file_counts_and_of_authorities_the_last_to_end(
    tmp_path: Path, authority: Authority
) -> None:
    short, long = (authority.sign(name, days=days).certificate.read_bytes() for name, days in (("a", 1), ("b", 9)))
    file = tmp_path / "chain.pem"
    file.write_bytes(short + long)
    assert certificate_end(file) == about(DAY)
    assert authorities_end(file) == about(9 * DAY)


@pytest.mark.parametrize(
    "content", [None, b"", b"\x00\xff", b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"]
)
def test_of_a_file_that_cannot_be_read_nothing_is_known(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "x.pem"
    if content is not None:
        file.write_bytes(content)
    assert (certificate_end(file), authorities_end(file)) == (None, None)


def test_without_the_package_nothing_is_known_of_certificates(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.x509", None)
    assert certificate_end(authority.file) is None


@pytest.mark.parametrize(("lifetime", "end"), [(lambda: 3600, 3600), (no_ticket, 0)])
def test_a_ticket_ends_as_the_cache_says_and_none_has_ended(
    lifetime: Callable[[], int], end: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", gssapi(lifetime))
    assert ticket_end(KerberosSettings(service_principal=SERVICE)) == about(end)
    assert ticket_end(KerberosSettings(service_principal=SERVICE, client_principal="pysync@EXAMPLE.COM")) == about(end)


def test_a_ticket_without_end_has_none_and_of_a_keytab_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", gssapi(lambda: None))
    assert ticket_end(KerberosSettings(service_principal=SERVICE)) is None
    monkeypatch.setitem(sys.modules, "gssapi", None)
    assert ticket_end(KerberosSettings(service_principal=SERVICE)) is None
    keytab = KerberosSettings(service_principal=SERVICE, client_principal="p@E", keytab=Path("/x"))
    assert ticket_end(keytab) is None


def test_those_of_source_and_targets_are_listed_and_a_new_file_is_noticed(tmp_path: Path, authority: Authority) -> None:
    signed = authority.sign("client", days=1)
    file = tmp_path / "pysync.toml"
    file.write_text(
        f"""
[source]
name = "onprem"
metastore = "thrift://127.0.0.1:9083"
tls = {{ ca_file = "{authority.file}" }}
[[targets]]
name = "dr"
kind = "hms"
metastore = "thrift://127.0.0.2:9083"
tls = {{ cert_file = "{signed.certificate}", key_file = "{signed.key}" }}
[[targets]]
name = "plain"
kind = "faulty"
"""
    )
    found = Credentials(load_config(file)).status()
    assert [(it["used_for"], it["kind"]) for it in found] == [("source", "authority"), ("target dr", "certificate")]
    assert found[1]["expires_at"] == about(DAY)
    signed.certificate.write_bytes(authority.sign("other", days=30).certificate.read_bytes())
    assert Credentials(load_config(file)).status()[1]["expires_at"] == about(30 * DAY)


def test_nothing_is_listed_where_nothing_is_used(tmp_path: Path) -> None:
    file = tmp_path / "pysync.toml"
    file.write_text('[source]\nname = "onprem"\n[[targets]]\nname = "dr"\nkind = "faulty"\n')
    assert Credentials(load_config(file)).status() == []
