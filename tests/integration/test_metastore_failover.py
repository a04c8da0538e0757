"""Several addresses of one metastore, as in hive.metastore.uris."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreCallFailed, MetastoreUnavailable
from pysync.targets.base import Unavailable
from pysync.targets.hms import HmsSettings, hms_target
from tests.conformance.objects import Source
from tests.support import new_database
from tests.support.proxy import Proxy
from tests.support.sidecars import unused_port

pytestmark = pytest.mark.smoke


@pytest.fixture
def ways(shared_metastore: EmbeddedMetastore) -> Iterator[list[Proxy]]:
    """Two ways to one metastore, each of which can be cut: two servers on one database."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Proxy(shared_metastore.port))) for _ in range(2)]


def uri(way: Proxy) -> str:
    return f"thrift://127.0.0.1:{way.port}"


def both(ways: list[Proxy]) -> str:
    return ",".join(map(uri, ways))


def test_the_first_is_used_while_it_works(ways: list[Proxy]) -> None:
    with Metastore(both(ways)) as metastore:
        for _ in range(2):
            assert "default" in metastore.databases()
            assert str(metastore.uri) == uri(ways[0])
            metastore.close()


def test_an_address_that_nobody_listens_on_is_passed_over(shared_metastore: EmbeddedMetastore) -> None:
    dead = f"thrift://127.0.0.1:{unused_port()}"
    with Metastore(f"{dead},{shared_metastore.uri},{dead}") as metastore:
        assert "default" in metastore.databases()
        assert str(metastore.uri) == shared_metastore.uri


def test_one_that_goes_is_left_and_the_other_kept(ways: list[Proxy]) -> None:
    one, two = ways
    with Metastore(both(ways)) as metastore:
        new_database(metastore)
        one.close()
        for _ in range(3):  # the first of them finds out
            assert "default" in metastore.databases()
            assert str(metastore.uri) == uri(two)


def test_connections_of_one_access_share_what_they_found(ways: list[Proxy]) -> None:
    access = MetastoreAccess.of(both(ways))
    ways[0].close()
    with Metastore(access) as metastore:
        metastore.databases()
    with Metastore(access) as another:
        assert str(another.uri) == uri(ways[1]), "before it has connected"


def test_one_that_hangs_is_left_after_the_call_that_found_out(ways: list[Proxy]) -> None:
    """It takes connections, so that only a call shows it; whether that was carried out nobody knows."""
    one, two = ways
    access = MetastoreAccess.of(both(ways))
    one.hold()
    unanswered = pytest.raises(MetastoreCallFailed, match=f"{uri(one)} did not answer")
    with Metastore(access, timeout=0.2) as hasty, unanswered:
        hasty.databases()
    with Metastore(access) as patient:
        assert "default" in patient.databases()
        assert str(patient.uri) == uri(two)
    one.release()


def test_all_that_were_tried_are_named(ways: list[Proxy]) -> None:
    for way in ways:
        way.close()
    with Metastore(both(ways)) as metastore, pytest.raises(MetastoreUnavailable) as refused:
        metastore.databases()
    text = str(refused.value)
    assert [uri(way) in text for way in ways] == [True, True]
    assert text.endswith("; check that it is running, and that this is its address"), "once"
    assert "\n" not in text


def test_a_target_goes_on_at_the_other_address(ways: list[Proxy]) -> None:
    target = hms_target(HmsSettings(name="dr", kind="hms", metastore=both(ways)))
    source = Source()
    target.apply(source.put_database("failover_a"))
    ways[0].close()
    target.apply(source.put_database("failover_b"))
    assert {"failover_a", "failover_b"} <= set(target.databases())
    ways[1].close()
    with pytest.raises(Unavailable, match=uri(ways[1])):
        target.apply(source.put_database("failover_c"))
    target.close()
