"""The address of a metastore."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.metastore.addresses import Addresses, MetastoreUri


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("thrift://hms:9083", "hms", 9083),
        ("thrift://hms.example.com", "hms.example.com", 9083),
        ("thrift://127.0.0.1:1", "127.0.0.1", 1),
        ("thrift://[::1]:9084", "::1", 9084),
        ("  thrift://hms:9083/  ", "hms", 9083),
    ],
)
def test_reads_host_and_port(text: str, host: str, port: int) -> None:
    assert MetastoreUri.parse(text) == MetastoreUri(host, port)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("http://hms", "http://hms:9083/metastore"),
        ("https://hms:443/hive/ms/", "https://hms:443/hive/ms"),
        ("http://[::1]:9084/", "http://[::1]:9084/metastore"),
    ],
)
def test_an_address_of_http_has_a_path(text: str, whole: str) -> None:
    found = MetastoreUri.parse(text)
    assert (str(found), found.is_http) == (whole, True)
    assert MetastoreUri.parse(whole) == found
    assert not MetastoreUri.parse("thrift://hms").is_http


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hms",
        "hms:9083",
        "ftp://hms:9083",
        "http://",
        "http://hms/a b",
        "https://hms/m?a=b",
        "http://user:secret@hms/metastore",
        "thrift://",
        "thrift://:9083",
        "thrift://hms:port",
        "thrift://hms:0",
        "thrift://hms:65536",
        "thrift://hms:9083/path",
        "thrift://user@hms:9083",
        "thrift://hms:9083?a=b",
        "thrift://[::1:9083",
    ],
)
def test_refuses_what_is_not_an_address(text: str) -> None:
    with pytest.raises(UsageError, match="thrift://host:port") as refused:
        MetastoreUri.parse(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("thrift://a:9083", "thrift://a:9083"),
        ("thrift://a:9083,thrift://b:9084", "thrift://a:9083,thrift://b:9084"),
        (" thrift://b , thrift://a/", "thrift://b:9083,thrift://a:9083"),
        ("thrift://a,thrift://a:9083", "thrift://a:9083"),
    ],
)
def test_reads_a_list_as_hive_writes_it(text: str, listed: str) -> None:
    assert str(Addresses.parse(text)) == listed


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("thrift://a:9083,", "''"),
        ("thrift://a:9083,b:9083", "'b:9083'"),
        ("thrift://a,b:9083", "'b:9083'"),
        ("thrift://a;thrift://b", "'thrift://a;thrift://b'"),
        ("thrift://a thrift://b", "'thrift://a thrift://b'"),
    ],
)
def test_refuses_a_list_and_names_what_is_wrong_in_it(text: str, wrong: str) -> None:
    with pytest.raises(UsageError, match="thrift://host:port") as refused:
        Addresses.parse(text)
    assert str(refused.value).startswith(f"{wrong} is not")


def test_stays_with_the_one_that_works_until_it_fails() -> None:
    one, two, three = (MetastoreUri(name) for name in "abc")
    addresses = Addresses(one, two, three)
    assert addresses.in_order() == [one, two, three]
    addresses.prefer(two)
    assert (addresses.current, addresses.in_order()) == (two, [two, three, one])
    addresses.failed(two)
    assert addresses.in_order() == [three, one, two]
    addresses.failed(two)
    assert addresses.current == three, "it was told already"
    addresses.failed(three)
    assert addresses.current == one


@given(
    st.sampled_from(["hms", "a.b-c.example", "10.0.0.1", "::1", "fe80::1"]), st.integers(min_value=1, max_value=65535)
)
def test_its_text_reads_back(host: str, port: int) -> None:
    uri = MetastoreUri(host, port)
    assert MetastoreUri.parse(str(uri)) == uri


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        uri = MetastoreUri.parse(text)
    except UsageError:
        return
    assert uri.host
    assert 0 < uri.port < 65536
