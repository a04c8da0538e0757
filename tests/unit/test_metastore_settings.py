"""What pysync.toml may say of how a metastore is reached, and what is said of the rest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pysync.base.errors import UsageError
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.settings import KerberosSettings, LoginSettings, TlsSettings
from pysync.sections import SourceConfig
from pysync.targets.hms import HmsSettings

ROOT = Path(__file__).parents[2]
SERVICE = "hive/_HOST@EXAMPLE.COM"
WHERE = "thrift://a:9083,thrift://b:9083"


def source(**values: Any) -> SourceConfig:
    return SourceConfig(name="onprem", **values)


def target(**values: Any) -> HmsSettings:
    return HmsSettings(name="dr", kind="hms", **values)


@pytest.mark.parametrize("of", [source, target])
def test_a_source_and_a_target_are_reached_in_the_same_ways(of: Any) -> None:
    found = of(
        metastore="thrift://a, thrift://b:9083", tls={"ca_file": "/ca.pem"}, kerberos={"service_principal": SERVICE}
    )
    access = found.access()
    assert (found.metastore, str(access)) == (WHERE, WHERE)
    assert access.tls == TlsSettings(ca_file=Path("/ca.pem"))
    assert access.login is not None
    plain = of(metastore="thrift://a").access()
    assert (plain.tls, plain.login) == (None, None)


@pytest.mark.parametrize("of", [source, target])
def test_an_empty_table_is_tls_with_the_systems_authorities(of: Any) -> None:
    assert of(metastore="thrift://a", tls={}).access().tls == TlsSettings()


@pytest.mark.parametrize("of", [source, target])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"metastore": "hms:9083"}, ["metastore", "'hms:9083' is not a metastore address"]),
        ({"metastore": "thrift://a,ftp://b"}, ["'ftp://b' is not a metastore address"]),
        ({"tls": {"verify": False}}, ["tls.verify"]),
        ({"tls": {"key_file": "/key"}}, ["tls", "set cert_file, too"]),
        ({"tls": {"server_name": ""}}, ["tls.server_name"]),
        ({"kerberos": {}}, ["kerberos.service_principal"]),
        ({"kerberos": {"service_principal": "hive"}}, ["'hive'", "hive/_HOST@REALM"]),
        ({"kerberos": {"service_principal": "hive/_HOST"}}, ["hive/_HOST@REALM"]),
        ({"kerberos": {"service_principal": SERVICE, "keytab": "/k"}}, ["client_principal", "klist -kt"]),
        ({"kerberos": {"service_principal": SERVICE, "password": "x"}}, ["kerberos.password"]),
    ],
)
def test_refusals_name_the_key(of: Any, values: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ValidationError) as refused:
        of(**{"metastore": "thrift://a", **values})
    (problem,) = refused.value.errors()
    text = ".".join(map(str, problem["loc"])) + ": " + problem["msg"]
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize("of", [source, target])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"login": {}}, "set either user, or token_file"),
        ({"login": {"user": "ann", "token_file": "/t"}}, "set either user, or token_file"),
        ({"login": {"token_file": "/t", "password_file": "/p"}}, "set user, too"),
        ({"login": {"user": "a\r\nb"}}, "user"),
        ({"login": {"user": "ann", "password": "x"}}, "login.password"),
        ({"login": {"user": "ann"}}, "needs password_file for a thrift address"),
        ({"login": {"token_file": "/t"}}, "needs password_file for a thrift address"),
        ({"login": {"user": "ann"}, "metastore": "http://a,thrift://b"}, "needs password_file"),
        (
            {"login": {"user": "ann", "password_file": "/p"}, "metastore": "http://a"},
            "does not work with an http address",
        ),
        ({"kerberos": {"service_principal": SERVICE}, "metastore": "https://a"}, "kerberos does not work with"),
        (
            {"login": {"user": "ann", "password_file": "/p"}, "kerberos": {"service_principal": SERVICE}},
            "set only one of them",
        ),
    ],
)
def test_logins_that_do_not_go_together_are_refused(of: Any, values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        of(**{"metastore": "thrift://a", **values})
    (problem,) = refused.value.errors()
    assert words in ".".join(map(str, problem["loc"])) + ": " + problem["msg"]


@pytest.mark.parametrize(
    "values",
    [
        {"kerberos": {"service_principal": SERVICE}},
        {"login": {"user": "ann", "password_file": "/p"}},
        {"login": {"user": "ann"}, "metastore": "http://a"},
    ],
)
def test_who_logs_in_is_the_user(values: dict[str, Any]) -> None:
    plain = target(**{"metastore": "thrift://a", "both_ways": True, **values})
    assert plain.user_for(("north", "east")) is None
    with pytest.raises(ValidationError, match="user does not work with kerberos or login"):
        target(**{"metastore": "thrift://a", "user": "pysync", **values})


@pytest.mark.parametrize(
    ("values", "visited", "user"),
    [
        ({}, ("east",), None),
        ({}, ("north", "east"), None),
        ({"both_ways": True}, (), None),
        ({"both_ways": True}, ("east",), "pysync-east"),
        ({"both_ways": True}, ("north", "east"), "pysync-north,east"),
        ({"user": "ann"}, (), "ann"),
        ({"user": "ann"}, ("east",), "ann"),
        ({"user": "ann"}, ("north", "east"), "pysync-north,east"),
        ({"user": "ann", "both_ways": True}, ("east",), "ann"),
    ],
)
def test_a_change_is_written_by_the_user_who_tells_where_it_has_been(
    values: dict[str, Any], visited: tuple[str, ...], user: str | None
) -> None:
    assert target(metastore="thrift://a", **values).user_for(visited) == user


def test_an_access_refuses_them_too_and_says_so_in_words_for_people() -> None:
    with pytest.raises(UsageError, match="needs password_file"):
        MetastoreAccess.of("thrift://a", login=LoginSettings(user="ann"))


@pytest.mark.parametrize(
    ("model", "key"),
    [(model, key) for model in (TlsSettings, KerberosSettings, LoginSettings) for key in model.model_fields],
)
def test_every_key_is_explained(model: Any, key: str) -> None:
    assert re.search(rf"`{key}`", (ROOT / "docs" / "security.md").read_text()), f"{model.__name__}.{key}"
