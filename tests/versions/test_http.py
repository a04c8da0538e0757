"""The HTTP transport of Hive 4: plain, over TLS, by name and by token (JWT); each refusal is one line."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.metastore.settings import LoginSettings, TlsSettings
from pysync.targets.hms import hms_target
from tests.support.certificates import PASSWORD, Authority
from tests.versions.conftest import Report
from tests.versions.reaching import SECRET, failure, refusal, replays, settings, written_file
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need

HIVE_4 = "4.1.0"
HTTP = {"hive.metastore.server.thrift.transport.mode": "http"}


@pytest.fixture(scope="module", autouse=True)
def _brought(report: Report) -> None:
    need(report, HIVE_4)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("http")


@pytest.fixture(scope="module")
def http(directory: Path) -> Iterator[EmbeddedMetastore]:
    """A metastore that speaks HTTP, and believes whoever says who he is."""
    login = LoginSettings(user="ann")
    with metastore_of(HIVE_4)(directory / "http", overrides=HTTP, scheme="http", login=login) as server:
        yield server


def test_a_password_where_none_is_asked_for(http: EmbeddedMetastore, tmp_path: Path) -> None:
    ann = LoginSettings(user="ann", password_file=written_file(tmp_path / "password", SECRET))
    message = refusal(http.uri.replace("http://", "thrift://").removesuffix("/metastore"), ann)
    assert "does not speak SASL" in message or "does not answer the login" in message


def test_a_target_over_http(http: EmbeddedMetastore, tmp_path: Path) -> None:
    target = hms_target(settings(http, login={"user": "ann"}))
    replays(target, "over_http", tmp_path)
    assert http.uri in target.check()
    target.close()


def test_a_call_that_fails_keeps_the_connection(http: EmbeddedMetastore) -> None:
    with Metastore(http.access) as metastore:
        assert metastore.table("nowhere", "none") is None
        assert "default" in metastore.databases()


def test_http_without_a_user(http: EmbeddedMetastore) -> None:
    message = refusal(http.uri, None)
    assert f"the metastore at {http.uri} refuses the request: HTTP 401" in message
    assert "set login" in message


def test_http_at_another_path(http: EmbeddedMetastore) -> None:
    message = refusal(http.uri.replace("/metastore", "/elsewhere"), LoginSettings(user="ann"))
    assert "HTTP 405" in message
    assert "hive.metastore.server.thrift.http.path" in message


def test_plain_thrift_to_http(http: EmbeddedMetastore) -> None:
    plain = http.uri.replace("http://", "thrift://").removesuffix("/metastore")
    assert "HTTP" in failure(plain)


def test_http_over_tls(directory: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    overrides = {
        **HTTP,
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(authority.sign("hms", "127.0.0.1").keystore),
        "hive.metastore.keystore.password": PASSWORD,
        "hive.metastore.keystore.type": "PKCS12",  # for HTTP neither of these has a default
        "hive.metastore.keymanagerfactory.algorithm": "PKIX",
    }
    tls, login = TlsSettings(ca_file=authority.file), LoginSettings(user="ann")
    make = metastore_of(HIVE_4)
    with make(directory / "https", overrides=overrides, scheme="https", tls=tls, login=login) as server:
        with Metastore(server.access) as metastore:
            assert metastore.databases() == ["default"]
        assert "is not trusted" in refusal(server.uri, login)


def token(key: rsa.RSAPrivateKey, user: str, seconds: int = 600) -> str:
    """A JWT of this user."""
    now = int(time.time())
    head = {"alg": "RS256", "typ": "JWT", "kid": "one"}
    claims = {"sub": user, "iat": now - 1800, "exp": now + seconds}
    signed = ".".join(_base64(json.dumps(part).encode()) for part in (head, claims))
    return f"{signed}.{_base64(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def public(key: rsa.RSAPrivateKey) -> str:
    """What tells a metastore how to verify such tokens: a set of keys (JWKS)."""
    numbers = key.public_key().public_numbers()
    n, e = (_base64(number.to_bytes((number.bit_length() + 7) // 8, "big")) for number in (numbers.n, numbers.e))
    return json.dumps({"keys": [{"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig", "n": n, "e": e}]})


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_a_token_over_http(directory: Path, tmp_path: Path) -> None:
    key, other = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    keys = tmp_path / "keys.json"
    keys.write_text(public(key), encoding="utf-8")
    overrides = {
        **HTTP,
        "metastore.authentication": "JWT",
        "metastore.authentication.jwt.jwks.url": keys.as_uri(),
    }
    good = LoginSettings(token_file=written_file(tmp_path / "token", token(key, "ann")))
    with metastore_of(HIVE_4)(directory / "jwt", overrides=overrides, scheme="http", login=good) as server:
        with Metastore(server.access) as metastore:
            assert metastore.databases() == ["default"]
        for wrong in (token(other, "ann"), token(key, "ann", -900)):
            message = refusal(server.uri, LoginSettings(token_file=written_file(tmp_path / "wrong", wrong)))
            assert "HTTP 401" in message
            assert wrong not in message
        assert "HTTP 401" in refusal(server.uri, LoginSettings(user="ann"))
