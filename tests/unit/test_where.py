"""A target with `where`: which changes of partitions reach it, what a refresh does, and what verify says."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from pysync.base.errors import UsageError
from pysync.model.change import Change, decode_change
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.operation import PutPartitions
from pysync.replay.window.policy import Policy
from pysync.replay.window.scope import Extent, changes, scope_of
from pysync.targets.hms import HmsSettings
from tests.support import partition, table
from tests.support.events import event, rename_table, settings
from tests.support.refreshing import Hms, T, Target, apply

KEYED = table("db", "t", partition_keys=[("day", "string")])
SINCE = {"where": "day >= '2026-01-01'"}
OLD, NEW, NEWER = "2025-12-31", "2026-01-01", "2026-02-01"


def scoped(kind: Kind, *, before: Any = (), after: Any = (), of: Any = KEYED, **values: Any) -> Change | None:
    parts = {"before": [partition(of, [it]) for it in before], "after": [partition(of, [it]) for it in after]}
    change = decode_change(event(kind, of=of, **parts), 1)
    assert change is not None
    return Policy.of(settings(**SINCE, **values)).scope(change)


def days(parts: list[Any]) -> list[str]:
    return [it.values[0] for it in parts]


def test_only_the_partitions_that_it_takes_are_added() -> None:
    found = scoped(Kind.ADD_PARTITION, after=[OLD, NEW, NEWER])
    assert found is not None
    assert days(found.after) == [NEW, NEWER]
    assert scoped(Kind.ADD_PARTITION, after=[OLD]) is None


def test_a_table_without_the_key_is_taken_whole() -> None:
    of = table("db", "t", partition_keys=[("region", "string")])
    found = scoped(Kind.ADD_PARTITION, of=of, after=[OLD])
    assert found is not None
    assert days(found.after) == [OLD]


@pytest.mark.parametrize(
    ("before", "after", "keep", "drop"),
    [
        ([NEW], [NEW], ([NEW], [NEW]), ([NEW], [NEW])),
        ([OLD], [OLD], None, None),
        ([NEW], [OLD], ([NEW], []), ([NEW], [])),
        ([OLD], [NEW], ([OLD], [NEW]), ([], [NEW])),
        ([OLD, NEW], [OLD, NEW], ([NEW], [NEW]), ([NEW], [NEW])),
    ],
)
def test_an_alter_or_rename_of_a_partition(before: Any, after: Any, keep: Any, drop: Any) -> None:
    for rule, wanted in (("keep", keep), ("drop", drop)):
        found = scoped(Kind.ALTER_PARTITION, before=before, after=after, out_of_scope=rule)
        assert (found and (days(found.before), days(found.after))) == wanted


def test_the_drop_of_a_kept_partition_passes() -> None:
    """It may be at the target from before it fell out."""
    found = scoped(Kind.DROP_PARTITION, before=[OLD, NEW])
    assert found is not None
    assert days(found.before) == [OLD, NEW]
    assert days(scoped(Kind.DROP_PARTITION, before=[OLD, NEW], out_of_scope="drop").before) == [NEW]  # type: ignore[union-attr]


def test_why_names_the_filter() -> None:
    change = decode_change(event(Kind.ADD_PARTITION, of=KEYED, after=[partition(KEYED, [OLD])]), 1)
    assert change is not None
    rule = Policy.of(settings(**SINCE)).rule_against_change(change)
    assert rule == """where "day >= '2026-01-01'" leaves the partition out"""


def test_the_filter_is_that_of_the_policy_that_takes_the_table() -> None:
    policies = [{"name": "new", "include": ["db.t"], **SINCE}, {"name": "all", "policy": "all"}]
    policy, keys = Policy.of(settings(policies=policies)), [("day", "string")]
    rule = """where "day >= '2026-01-01'" leaves the partition out"""
    for name, value, against in (("t", OLD, rule), ("t", NEW, None), ("u", OLD, None)):
        assert policy.takes_partition(TableName("db", name), keys, [value]) is (against is None)
        assert policy.rule_against_partition(TableName("db", name), keys, [value]) == against


def put(target: Target) -> list[str]:
    return [it.values[0] for one in target.applied if isinstance(one, PutPartitions) for it in one.partitions]


@pytest.mark.parametrize(
    ("rule", "dropped"), [("keep", ["db.t/2026-03-01"]), ("drop", [f"db.t/{OLD}", "db.t/2026-03-01"])]
)
@pytest.mark.parametrize("count", [0, 1200])
def test_a_refresh_brings_and_drops_by_the_filter(rule: str, dropped: list[str], count: int) -> None:
    """Also where there are too many partitions for one call, and then those that it does not take are not read."""
    source, target = Hms(), Target()
    many = [f"2020-{it:06}" for it in range(count)]
    source.add("db.t", *many, OLD, NEW, NEWER)
    target.has("db.t", OLD, NEW, "2026-03-01")
    apply(source, target, T, **SINCE, out_of_scope=rule)
    assert put(target) == [NEW, NEWER]
    assert target.dropped() == dropped


def test_a_refresh_of_named_partitions_leaves_those_alone_that_it_does_not_take() -> None:
    source, target = Hms(), Target()
    source.add("db.t", OLD, NEW)
    target.has("db.t", OLD, NEW)
    apply(source, target, {**T, "partitions": f"day={OLD}\nday={NEW}"}, **SINCE)
    assert (put(target), target.dropped()) == ([NEW], [])


def test_today_decides_when_the_filter_is_relative() -> None:
    change = decode_change(event(Kind.ADD_PARTITION, of=KEYED, after=[partition(KEYED, [NEW])]), 1)
    assert change is not None
    policy = Policy.of(settings(where="day >= current_date - 90 days"))
    for today, taken in ((date(2026, 4, 1), True), (date(2026, 4, 2), False)):
        assert (replace(policy, today=lambda today=today: today).scope(change) is not None) is taken


def test_a_rename_to_a_policy_with_another_filter_brings_what_that_one_takes() -> None:
    each = [{"name": "a", "include": ["db.t"], **SINCE}, {"name": "b", "include": ["db"]}]
    change = decode_change(rename_table("db.t", "db.u"), 1)
    assert change is not None
    found = Policy.of(settings(policies=each)).scope(change)
    assert found is not None
    assert str(found.whole) == "db.u", "it is read at the source"


def test_it_is_a_part_of_the_scope() -> None:
    old, new = scope_of(settings()), scope_of(settings(**SINCE))
    assert changes(old, new) == ("where: (none) → day >= '2026-01-01'",)
    assert Extent.of(new).policy.where is not None


def test_a_filter_that_cannot_be_read_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match=r"cannot read where .*column 5"):
        Policy.of(settings(where="day '2026'"))


def test_both_ways_there_is_no_filter() -> None:
    with pytest.raises(ValidationError, match="does not work with where"):
        HmsSettings(name="dr", kind="hms", metastore="thrift://a:1", both_ways=True, **SINCE)
