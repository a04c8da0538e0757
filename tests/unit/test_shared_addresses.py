"""Whether two lists of addresses are of one metastore, whatever it is called in each."""

from __future__ import annotations

import pytest

from pysync.metastore.addresses import shared


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("thrift://localhost:9083", "thrift://127.0.0.1:9083", True),
        ("thrift://localhost", "thrift://127.0.0.1:9083", True),
        ("thrift://localhost:9083", "thrift://localhost:9084", False),
        ("thrift://127.0.0.1:9083", "thrift://[::1]:9083", True),
        ("thrift://a.invalid:9083,thrift://localhost:9083", "thrift://b.invalid:9083,thrift://127.0.0.2:9083", True),
        ("thrift://HMS.invalid:9083", "thrift://hms.invalid:9083", True),
        ("thrift://a.invalid:9083", "thrift://b.invalid:9083", False),
        ("http://localhost:9083/metastore", "thrift://localhost:9083", True),
    ],
)
def test_shared(one: str, other: str, found: bool) -> None:
    assert (shared(one, other) is not None) == found
