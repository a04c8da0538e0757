"""Scopes: what is kept of the settings, what counts as a change, and which of the target's names a scope holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.names import TableName
from pysync.replay.window.scope import Extent, changes, scope_of
from pysync.resync.rescoping import StoredScope, compare_scope, stored_scope
from pysync.targets.settings import TargetSettings
from tests.support.events import settings as made

NAMES = st.sampled_from(["a", "b", "c"])
TABLES = st.builds(TableName, NAMES, NAMES)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "include": st.lists(st.sampled_from(["a", "b.*", "c.a"]), max_size=3),
        "exclude": st.lists(st.sampled_from(["a.b", "b"]), max_size=2),
        "databases": st.dictionaries(NAMES, NAMES, max_size=2),
        "tables": st.dictionaries(TABLES.map(str), TABLES.map(str), max_size=2),
    },
)


@given(SETTINGS, TABLES)
def test_a_scope_holds_the_name_of_every_table_that_the_target_takes(values, source):
    """So that what is in scope is never taken for something that has left it."""
    extent = Extent.of(scope_of(made(**values)))
    if extent.policy.takes_table(source):
        there = extent.mapping.table(source)
        assert extent.holds(there)
        assert extent.holds_database(there.database)


@given(SETTINGS, TABLES)
def test_a_scope_holds_no_name_that_no_table_in_scope_has(values, name):
    extent = Extent.of(scope_of(made(**values)))
    everything = [TableName(one, other) for one in "abc" for other in "abc"]
    images = {extent.mapping.table(it) for it in everything if extent.policy.takes_table(it)}
    assert extent.holds(name) == (name in images)


def test_order_and_repetition_are_no_change_and_the_rest_is_told():
    one = scope_of(made(include=["b", "a", "a"], exclude_kinds=["DROP_TABLE"], parameters={"x": "1"}))
    assert one == scope_of(made(include=["a", "b"], exclude_kinds=["DROP_TABLE"], parameters={"x": "1"}))
    other = scope_of(made(include=["c"], databases={"a": "b"}, drops="suppress", copy={"rewrite": "orc"}))
    assert changes(one, other) == (
        "include: a, b → c",
        "exclude_kinds: DROP_TABLE → (none)",
        "databases: (none) → a = b",
        "parameters: x = 1 → (none)",
        "copy.rewrite: (none) → orc",
        "drops: apply → suppress",
    )
    assert changes(one, one) == ()
    assert scope_of(made(lanes=7, window=5)) == {}


def test_out_of_scope_drop_and_suppressed_drops_contradict_each_other():
    with pytest.raises(ValueError, match="contradicts"):
        TargetSettings(name="dr", kind="hms", out_of_scope="drop", drops="suppress")


def test_former_scopes_are_kept_until_the_target_is_brought_to_the_new_one(reopen):
    queue = reopen()
    queue.target("dr").register()
    steps = [({"include": ["a"]}, False, []), ({"include": ["b"]}, True, ["a"]), ({"include": ["c"]}, True, ["a", "b"])]
    steps += [({"include": ["a"]}, True, ["b", "c"]), ({"include": ["a"]}, False, ["b", "c"])]
    for values, opened, former in steps:
        assert compare_scope(queue, made(**values)) is opened
        assert [it["include"][0] for it in stored_scope(queue, "dr").former] == former
        queue = reopen()
    assert len(queue.gaps.unclosed()) == 3
    queue.gaps.healed_by([gap.key for gap in queue.gaps.unclosed()], 0)
    assert queue.gaps.close_passed() == 3
    assert stored_scope(queue, "dr").former == (), "the target is what it shall be"


def test_the_gap_of_a_scope_waits_for_its_own_target_alone(reopen):
    queue = reopen()
    for name in ("dr", "away"):
        queue.target(name).register()
        compare_scope(queue, made(name=name))
    queue.intake.append("jvm", 1, "onprem", b"x")
    compare_scope(queue, made(include=["a"]))
    (gap,) = queue.gaps.unclosed()
    queue.gaps.healed_by([gap.key], 1)
    assert queue.gaps.close_passed() == 0
    queue.target("dr").advance(1)
    assert queue.gaps.close_passed() == 1


def test_a_shadow_leaves_its_scope_as_it_was(reopen):
    queue = reopen()
    compare_scope(queue, made(include=["a"]))
    assert not compare_scope(queue, made(include=["b"], mode="shadow"))
    assert compare_scope(queue, made(include=["b"]))


def test_what_is_no_change_is_the_same():
    kept = StoredScope(scope={"include": ["a"]})
    assert kept.changed_to({"include": ["a"]}) is kept
