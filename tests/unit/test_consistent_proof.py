"""What speaks against a consistent point, and what does not."""

from __future__ import annotations

import pytest

from pysync.model.event import Kind
from pysync.sidecar.waiting.proof import ReportedChange, doubt

NOBODY = frozenset[str]()


def change(
    *keys: str,
    instance: str = "jvm",
    thread: str = "1",
    at: float = 100.0,
    kind: Kind = Kind.ALTER_TABLE,
    refresh: bool = False,
) -> ReportedChange:
    return ReportedChange(1, instance, thread, at, kind, frozenset(keys), refresh)


def test_nothing_behind_it_is_no_doubt() -> None:
    assert doubt([change("db.t")], [], {"db.t", "db", ""}) is None


@pytest.mark.parametrize("read", ["db.t", "db"])
@pytest.mark.parametrize("changed", ["db.t", "db.*"])
def test_an_object_that_was_read_at_the_source_and_changed_again(read: str, changed: str) -> None:
    found = doubt([], [change(changed)], {read})
    assert found is not None
    assert found.endswith("changed again after it was read at the source")


def test_other_objects_may_change_after_one_was_read() -> None:
    assert doubt([], [change("db.u"), change("db.v")], {"db.t"}) is None


def test_an_event_that_cannot_be_read_may_be_of_any_object() -> None:
    assert doubt([], [change()], {"db.t"}) is not None
    assert doubt([], [change()], NOBODY) is None


def test_too_many_reads_to_remember() -> None:
    assert doubt([], [], None) is not None


def test_a_refresh_behind_it_changes_nothing_at_the_source() -> None:
    assert doubt([change("db.t")], [change("db.t", instance="pysync", refresh=True)], {"db.t"}) is None


@pytest.mark.parametrize(("changed", "doubtful"), [("db.t", False), ("db", True), ("db.*", True)])
def test_the_list_of_databases_shows_no_tables(changed: str, doubtful: bool) -> None:
    assert (doubt([], [change(changed)], {""}) is not None) is doubtful


@pytest.mark.parametrize(("seconds", "doubtful"), [(-60.0, True), (0.0, True), (4.9, True), (5.1, False)])
def test_two_metastores_that_change_it_at_about_the_same_time(seconds: float, doubtful: bool) -> None:
    """The later event may even be much older: its spool held it."""
    found = doubt([change("db.t", at=100.0)], [change("db.u", instance="other", at=100.0 + seconds)], NOBODY)
    assert (found is not None) is doubtful


def test_two_threads_of_one_metastore_are_in_the_order_of_their_callbacks() -> None:
    assert doubt([change("db.t", thread="1")], [change("db.u", thread="2")], NOBODY) is None


@pytest.mark.parametrize(
    ("later", "doubtful"),
    [
        ({}, True),
        ({"at": 100.2}, False),
        ({"thread": "2"}, False),
        ({"kind": Kind.ADD_PARTITION}, False),
        ({"kind": Kind.ADD_CHECKCONSTRAINT}, True),
    ],
)
def test_the_partitions_of_one_call_are_not_torn_apart(later: dict[str, object], doubtful: bool) -> None:
    before = [change("db.t", kind=Kind.ALTER_PARTITION)]
    after = [change("db.t", **{"kind": Kind.ALTER_PARTITION, **later})]  # type: ignore[arg-type]
    assert (doubt(before, after, NOBODY) is not None) is doubtful


def test_only_the_next_event_of_a_thread_can_be_of_its_last_call() -> None:
    before = [change("db.t", kind=Kind.ALTER_PARTITION)]
    after = [change("db.u"), change("db.t", kind=Kind.ALTER_PARTITION)]
    assert doubt(before, after, NOBODY) is None
    assert doubt([*before, change("db.u")], after[1:], NOBODY) is None
