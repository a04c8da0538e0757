"""The faulty target: without faults a target like any other, with them as bad as it was told to be, and fast."""

from __future__ import annotations

import time
import uuid

import pytest
from pydantic import ValidationError

from pysync.lab.faulty import KIND, FaultySettings
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutDatabase, PutTable
from pysync.targets.base import Outcome, OutcomeUnknown, Rejected, Unavailable
from pysync.targets.kinds import target_kind
from tests.support import table
from tests.support.events import database

T = TableName.of("db", "t")
U = TableName.of("db", "u")
FAILURES = {
    "refuse": Rejected,
    "unavailable": Unavailable,
    "unknown_before": OutcomeUnknown,
    "unknown_after": OutcomeUnknown,
    "hang": OutcomeUnknown,
    "bug": RuntimeError,
}


def opened(*faults, name=None, **values):
    name = name or f"t{uuid.uuid4().hex[:12]}"
    kind = target_kind("faulty")
    return kind.open(kind.settings.model_validate({"name": name, "kind": "faulty", "faults": list(faults), **values}))


def mark(position: int, created: int = 0, source: str = "onprem") -> Mark:
    return Mark(source, 1, position, created)


def put(position: int = 2, name: TableName = T, source: str = "onprem") -> PutTable:
    keyed = table(name.database, name.table, partition_keys=[("day", "string")])
    return PutTable(table=name, definition=keyed, mark=mark(position, source=source))


@pytest.fixture
def target():
    found = opened()
    found.apply(PutDatabase(database="db", definition=database("db"), mark=mark(1)))
    return found


def test_all_that_is_opened_under_one_name_sees_the_same_objects(target):
    name = target._settings.name
    other = opened(name=name)
    other.apply(put())
    target.close()
    assert (target.tables("db"), opened().tables("db")) == (["t"], [])


# --- faults


@pytest.mark.parametrize("kind", FAILURES)
def test_each_fault_fails_its_own_way_and_only_its_tables(kind):
    target = opened({"kind": kind, "tables": ["db.t"]})
    target.apply(PutDatabase(database="db", definition=database("db"), mark=mark(1)))
    target.apply(put(name=U))
    with pytest.raises(FAILURES[kind], match=r"db\.t"):
        target.apply(put())
    assert target.tables("db") == (["t", "u"] if kind == "unknown_after" else ["u"])


def test_a_fault_that_comes_so_often_never_comes_again():
    target = opened({"kind": "unavailable", "times": 2})
    operation = PutDatabase(database="db", definition=database("db"), mark=mark(1))
    for _ in range(2):
        with pytest.raises(Unavailable):
            target.apply(operation)
    assert target.apply(operation) is Outcome.APPLIED


def test_a_share_is_a_share_and_a_seed_repeats_it():
    def failures(seed):
        target = opened({"kind": "unavailable", "share": 0.3}, seed=seed)
        return [_fails(target) for _ in range(1000)]

    assert 200 < sum(failures(1)) < 400
    assert failures(1) == failures(1) != failures(2)


def _fails(target) -> bool:
    try:
        target.apply(PutDatabase(database="db", definition=database("db"), mark=mark(1)))
    except Unavailable:
        return True
    return False


def test_a_delay_takes_its_time_and_is_applied():
    target = opened({"kind": "delay", "seconds": 0.1})
    begun = time.monotonic()
    assert target.apply(PutDatabase(database="db", definition=database("db"), mark=mark(1))) is Outcome.APPLIED
    assert time.monotonic() - begun >= 0.1


@pytest.mark.parametrize("wrong", [{"kind": "explode"}, {"kind": "refuse", "share": 2}, {"kind": "refuse", "times": 0}])
def test_a_fault_that_there_is_not_is_refused(wrong):
    with pytest.raises(ValidationError):
        FaultySettings.model_validate({"name": "t", "kind": "faulty", "faults": [wrong]})


def test_what_is_not_remembered_is_taken_and_gone():
    forgetful = KIND.open(FaultySettings.model_validate({"name": "f", "kind": "faulty", "remember": False}))
    assert forgetful.apply(put()) is Outcome.APPLIED
    assert forgetful.tables("db") == []
