"""Files of a put are copied where the put would be applied: one judge decides about both, one way and both ways."""

from __future__ import annotations

import pytest

from pysync.model.names import TableName
from pysync.targets.apply import judge_class
from pysync.targets.hms import HmsSettings
from tests.conformance.objects import Source, partition, table

NAME = TableName("db", "t")


def takes_files(how, operation, there):
    """What the judge of a target with these settings decides of the files of an operation."""
    return judge_class(how).takes_files(how, operation, there)


def settings(**values):
    return HmsSettings(name="dr", kind="hms", metastore="thrift://localhost:1", **values)


def existing(source=None, **parameters):
    """The table as it is at the target; `source` has written it, or nobody has."""
    found = table(NAME, "file:/db/t", keys=["k"])
    found.parameters |= parameters
    if source is not None:
        found.parameters = source.put_table(found).mark.on(found.parameters)
    return found


def test_one_way_they_are_not_taken_over_what_is_newer_or_of_others():
    source, definition = Source(), existing()
    put, parts = source.put_table(definition), source.put_partitions(definition, partition(definition, ["1"]))
    before, after = existing(Source()), existing(Source("another"))
    assert [takes_files(settings(), put, it) for it in (None, before, after, existing())] == [True, True, False, False]
    assert [takes_files(settings(), parts, it) for it in (None, before, after)] == [True, True, False]
    adopting = settings(on_conflict="adopt")
    assert [takes_files(adopting, put, it) for it in (after, existing())] == [True, True]
    newer = existing()
    newer.parameters = source.put_table(newer, at=99).mark.on(newer.parameters)
    assert takes_files(adopting, put, newer) is False


@pytest.mark.parametrize("on_conflict", ["skip", "park"])
def test_both_ways_they_are_taken_where_two_births_of_one_name_are_equal(on_conflict):
    source, both = Source("a", visited=("a",)), settings(both_ways=True, cluster="z", on_conflict=on_conflict)
    put = source.put_table(existing())
    parts = source.put_partitions(existing(), partition(existing(), ["1"]))
    states = (None, existing(), existing(color="red"))
    assert [takes_files(both, put, it) for it in states] == [True, True, False]
    assert takes_files(both, parts, existing(Source("a"))) is True
    assert takes_files(both, parts, existing(Source("another"))) is False
