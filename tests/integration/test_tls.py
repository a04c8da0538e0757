"""TLS to a metastore: Hive's own, and each way to set it up wrong."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.settings import TlsSettings
from pysync.model.names import TableName
from pysync.targets.base import Outcome, Unavailable
from pysync.targets.hms import HmsSettings, hms_target
from tests.conformance.objects import Source, partition, table
from tests.support import wait_until
from tests.support.certificates import PASSWORD, Authority, Signed
from tests.support.proxy import Proxy
from tests.support.sidecars import pysync_here
from tests.support.tls_front import tls_front

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(directory: Path) -> Authority:
    return Authority(directory)


@pytest.fixture(scope="module")
def stranger(directory: Path) -> Authority:
    """An authority that nobody trusts."""
    return Authority(directory, "stranger")


@pytest.fixture(scope="module")
def tls(authority: Authority) -> TlsSettings:
    return TlsSettings(ca_file=authority.file)


@pytest.fixture(scope="module")
def mine(authority: Authority) -> Signed:
    """What a client shows."""
    return authority.sign("pysync")


@pytest.fixture(scope="module")
def server(directory: Path, authority: Authority, tls: TlsSettings) -> Iterator[EmbeddedMetastore]:
    """A metastore that speaks TLS, and nothing else."""
    signed = authority.sign("hms", "127.0.0.1")
    overrides = {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(signed.keystore),
        "hive.metastore.keystore.password": PASSWORD,
    }
    with EmbeddedMetastore(directory / "hms", overrides=overrides, tls=tls) as running:
        yield running


def refusal(where: str, tls: TlsSettings | None) -> str:
    """Why there is no connection, in one line."""
    access = MetastoreAccess.of(where, tls)
    unavailable = pytest.raises(MetastoreUnavailable)
    with Metastore(access, timeout=20, connect_timeout=20) as metastore, unavailable as refused:
        metastore.databases()
    text = str(refused.value)
    assert "\n" not in text
    assert refused.value.hint
    return text


def test_a_connection_carries_many_calls(server: EmbeddedMetastore) -> None:
    with Metastore(server.access) as metastore:
        metastore.databases()
        wire = metastore._wire
        for _ in range(3):
            assert "default" in metastore.databases()
        assert metastore._wire is wire, "what TLS says for itself, between calls, is no reason for a new connection"


def test_a_target_is_brought_to_what_the_source_has(
    server: EmbeddedMetastore, tls: TlsSettings, tmp_path: Path
) -> None:
    target = hms_target(HmsSettings(name="dr", kind="hms", metastore=server.uri, tls=tls))
    source, name = Source(), TableName("tls", "t")
    owner = table(name, f"file:{tmp_path}/t", keys=["k"], parameters={"long": "x" * 3000})
    target.apply(source.put_database("tls"))
    parts = [partition(owner, [str(number)]) for number in range(40)]
    assert target.apply(source.put_table(owner)) == Outcome.APPLIED
    assert target.apply(source.put_partitions(owner, *parts)) == Outcome.APPLIED
    assert len(list(target.partitions(name))) == 40
    target.close()


def test_a_connection_that_was_cut_is_made_anew(server: EmbeddedMetastore, tls: TlsSettings) -> None:
    with ExitStack() as stack:
        proxy = stack.enter_context(closing(Proxy(server.port)))
        access = MetastoreAccess.of(f"thrift://127.0.0.1:{proxy.port}", tls)
        metastore = stack.enter_context(Metastore(access))
        metastore.databases()
        proxy.cut()
        wait_until(lambda: not metastore._wire.is_idle(), what="the cut")
        assert "default" in metastore.databases()


def test_the_wrong_authority(server: EmbeddedMetastore, stranger: Authority) -> None:
    message = refusal(server.uri, TlsSettings(ca_file=stranger.file))
    assert f"the certificate of the metastore at {server.uri} is not trusted" in message
    assert "ca_file must be the authority that signed the certificate" in message


def test_the_systems_authorities_do_not_know_it(server: EmbeddedMetastore) -> None:
    assert "is not trusted" in refusal(server.uri, TlsSettings())


def test_the_wrong_name(server: EmbeddedMetastore, authority: Authority) -> None:
    other = TlsSettings(ca_file=authority.file, server_name="hms.example.com")
    message = refusal(server.uri, other)
    assert "'hms.example.com'" in message
    assert "set server_name" in message
    # The certificate is for 127.0.0.1 alone, so the name of the address counts where none is set.
    assert "'localhost'" in refusal(server.uri.replace("127.0.0.1", "localhost"), TlsSettings(ca_file=authority.file))


def test_the_name_of_the_certificate_can_be_said(server: EmbeddedMetastore, authority: Authority) -> None:
    where = server.uri.replace("127.0.0.1", "localhost")
    named = TlsSettings(ca_file=authority.file, server_name="127.0.0.1")
    with Metastore(MetastoreAccess.of(where, named)) as metastore:
        assert "default" in metastore.databases()


def test_plain_thrift_to_a_server_of_tls(server: EmbeddedMetastore) -> None:
    assert refusal(server.uri, None) == (f"the metastore at {server.uri} needs TLS; set tls (docs/security.md)")


def test_tls_to_a_server_of_plain_thrift(shared_metastore: EmbeddedMetastore, tls: TlsSettings) -> None:
    message = refusal(shared_metastore.uri, tls)
    assert message.startswith(f"the TLS connection to the metastore at {shared_metastore.uri} failed: ")
    assert message.endswith("remove tls if its hive.metastore.use.SSL is not true")


def test_nothing_is_parked_for_any_of_it(server: EmbeddedMetastore, stranger: Authority) -> None:
    for tls in (None, TlsSettings(ca_file=stranger.file)):
        target = hms_target(HmsSettings(name="dr", kind="hms", metastore=server.uri, tls=tls))
        with pytest.raises(Unavailable):
            target.apply(Source().put_database("never"))
        target.close()


def test_an_expired_certificate(shared_metastore: EmbeddedMetastore, authority: Authority, tls: TlsSettings) -> None:
    expired = authority.sign("expired", "127.0.0.1", days=-2)
    with tls_front(expired, shared_metastore.port) as where:
        message = refusal(where, tls)
    assert "certificate has expired; renew the certificate of the metastore" in message


def test_a_certificate_of_our_own(
    shared_metastore: EmbeddedMetastore, authority: Authority, stranger: Authority, mine: Signed
) -> None:
    front = authority.sign("front", "127.0.0.1")
    ours = TlsSettings(ca_file=authority.file, cert_file=mine.certificate, key_file=mine.key)
    forged = stranger.sign("forged")
    other = TlsSettings(ca_file=authority.file, cert_file=forged.certificate, key_file=forged.key)
    with tls_front(front, shared_metastore.port, clients=authority.file) as where:
        with Metastore(MetastoreAccess.of(where, ours)) as metastore:
            assert "default" in metastore.databases()
            assert "default" in metastore.databases()
        for wrong in (TlsSettings(ca_file=authority.file), other):
            message = refusal(where, wrong)
            assert f"the metastore at {where} refuses the TLS connection" in message
            assert "cert_file, key_file" in message


def test_the_key_is_for_nobody_else(server: EmbeddedMetastore, authority: Authority, mine: Signed) -> None:
    ours = TlsSettings(ca_file=authority.file, cert_file=mine.certificate, key_file=mine.key)
    mine.key.chmod(0o640)
    try:
        assert refusal(server.uri, ours) == (
            f"the key file {mine.key} can be read by other users; chmod 600 {mine.key}"
        )
    finally:
        mine.key.chmod(0o600)


def test_a_key_with_a_password_asks_nobody(server: EmbeddedMetastore, authority: Authority) -> None:
    """OpenSSL would ask at the terminal, and wait."""
    locked = authority.sign("locked", password="secret")  # noqa: S106
    message = refusal(server.uri, TlsSettings(cert_file=locked.certificate, key_file=locked.key))
    assert "the key has a password" in message


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_files_that_are_none(server: EmbeddedMetastore, tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    assert f"cannot use ca_file {file}" in refusal(server.uri, TlsSettings(ca_file=file))
    if content is not None:
        file.chmod(0o600)
        assert f"cannot use cert_file or key_file {file}" in refusal(server.uri, TlsSettings(cert_file=file))


def test_renewed_files_need_no_restart(server: EmbeddedMetastore, authority: Authority, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    with Metastore(MetastoreAccess.of(server.uri, TlsSettings(ca_file=file))) as metastore:
        with pytest.raises(MetastoreUnavailable):
            metastore.databases()
        file.write_bytes(authority.file.read_bytes())
        assert "default" in metastore.databases()


def test_a_server_that_says_nothing(tls: TlsSettings) -> None:
    """It takes connections, as a hung one does; the limit is that for a connection."""
    unavailable = pytest.raises(MetastoreUnavailable, match=r"the TLS connection to the metastore at .* timed out")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        access = MetastoreAccess.of(f"thrift://127.0.0.1:{silent.getsockname()[1]}", tls)
        with Metastore(access, timeout=60, connect_timeout=0.2) as metastore, unavailable:
            metastore.databases()


def test_source_and_target_in_the_configuration(
    server: EmbeddedMetastore, authority: Authority, tmp_path: Path
) -> None:
    """As a person writes it, in tables of their own; `pysync check` reaches both. One server cannot be both at once."""

    def checked(source: str, target: str) -> dict[str, Any]:
        file = tmp_path / "pysync.toml"
        file.write_text(f"""
[source]
name = "onprem"
capture = "notification-log"
metastore = "{source}"
[source.tls]
ca_file = "{authority.file}"
[queue]
directory = "{tmp_path}/queue"
[[targets]]
name = "dr"
kind = "hms"
metastore = "{target}"
include = ["a"]
[targets.tls]
ca_file = "{authority.file}"
[[targets]]
name = "plain"
kind = "hms"
metastore = "{target}"
include = ["b"]
""")
        done = pysync_here("check", "-c", file, "--json")
        assert done.returncode == 1
        return {item["what"]: item for item in json.loads(done.stdout)}

    away = "thrift://127.0.0.1:1"
    found = checked(f"{away},{server.uri}", away)["source metastore"]
    assert (found["ok"], server.uri in found["detail"]) == (True, True), found
    found = checked(away, server.uri)
    assert found["target dr"]["ok"], found
    assert "needs TLS" in found["target plain"]["detail"]
