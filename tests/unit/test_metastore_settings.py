"""What pysync.toml may say of how a metastore is reached, and what is said of the rest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pysync.config import SourceConfig
from pysync.metastore import KerberosSettings, TlsSettings
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
        ({"metastore": "hms:9083"}, ["metastore", "'hms:9083' is not the address of a metastore"]),
        ({"metastore": "thrift://a,http://b"}, ["'http://b' is not the address"]),
        ({"tls": {"verify": False}}, ["tls.verify"]),
        ({"tls": {"key_file": "/key"}}, ["tls", "name the certificate, too"]),
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
    said = ".".join(map(str, problem["loc"])) + ": " + problem["msg"]
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize(
    ("model", "key"), [(model, key) for model in (TlsSettings, KerberosSettings) for key in model.model_fields]
)
def test_every_key_is_explained(model: Any, key: str) -> None:
    assert re.search(rf"`{key}`", (ROOT / "docs" / "connections.md").read_text()), f"{model.__name__}.{key}"
