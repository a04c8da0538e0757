"""Who may write what: the one rule for all targets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.lab.faulty import FaultySettings
from pysync.lab.memory import MemoryStore, MemoryTarget
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutTable
from pysync.targets.apply.judge_one_way import OneWayJudge
from pysync.targets.apply.owners import Ownership, ownership_for_drop, ownership_of, ownership_of_part
from tests.support import table

MARK = Mark("onprem", epoch=5, position=7, created=100)


def there(source: str = "onprem", epoch: int = 5, position: int = 7, created: int = 100) -> dict[str, str]:
    return Mark(source, epoch, position, created).parameters()


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (there(), Ownership.OWN),
        (there(position=6), Ownership.OWN),
        (there(epoch=4, position=99), Ownership.OWN),
        (there(position=8), Ownership.NEWER),
        (there(epoch=6, position=1), Ownership.OWN),  # another queue's: it has no order with this one
        (there(epoch=6, position=99), Ownership.OWN),
        (there(created=200), Ownership.OWN),
        (there(source="other"), Ownership.FOREIGN),
        (there(source="other", position=99), Ownership.FOREIGN),
        (None, Ownership.FOREIGN),
        ({}, Ownership.FOREIGN),
        ({"pysync.source": "onprem"}, Ownership.FOREIGN),
        ({"pysync.event": "5.7.100"}, Ownership.FOREIGN),
        ({"pysync.source": "onprem", "pysync.event": "5.7.100.0"}, Ownership.FOREIGN),
    ],
)
def test_put(parameters: dict[str, str] | None, expected: Ownership) -> None:
    assert ownership_of(True, parameters, MARK) is expected


def test_absent_is_absent_whatever_its_parameters() -> None:
    assert ownership_of(False, there(), MARK) is Ownership.ABSENT
    assert ownership_for_drop(False, there(), MARK) is Ownership.ABSENT
    assert ownership_for_drop(False, there(created=101), MARK) is Ownership.ABSENT


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (there(position=6), Ownership.OWN),
        (there(position=6, created=100), Ownership.OWN),
        (there(position=6, created=101), Ownership.NEWER),
        (there(position=6, created=0), Ownership.OWN),
        (there(position=8, created=50), Ownership.NEWER),
        (there(source="other", created=50), Ownership.FOREIGN),
        (there(source="other", created=101), Ownership.FOREIGN),
        (there(source="other", position=99, created=101), Ownership.FOREIGN),
    ],
)
def test_drop(parameters: dict[str, str], expected: Ownership) -> None:
    assert ownership_for_drop(True, parameters, MARK) is expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (there(position=99), Ownership.OWN),
        (there(created=101), Ownership.NEWER),
        (there(created=0), Ownership.OWN),
        (there(source="other"), Ownership.FOREIGN),
        (None, Ownership.FOREIGN),
    ],
)
def test_part(parameters: dict[str, str] | None, expected: Ownership) -> None:
    assert ownership_of_part(parameters, MARK) is expected


@pytest.mark.parametrize(
    ("epoch", "born", "expected"),
    [(5, 7, Ownership.OWN), (5, 8, Ownership.NEWER), (5, 0, Ownership.OWN), (4, 900, Ownership.OWN)],
)
def test_a_part_from_before_its_table_got_its_name_is_of_another_table(
    epoch: int, born: int, expected: Ownership
) -> None:
    written = Mark("onprem", epoch, 99, created=100, born=born).parameters()
    assert ownership_of_part(written, MARK) is expected


def test_an_unknown_creation_proves_nothing() -> None:
    unknown = Mark("onprem", 5, 7)
    assert ownership_for_drop(True, there(position=6, created=500), unknown) is Ownership.OWN
    assert ownership_of_part(there(created=500), unknown) is Ownership.OWN


marks = st.builds(Mark, st.sampled_from(["a", "b"]), *[st.integers(0, 3)] * 3)


@given(marks, marks)
def test_only_its_own_and_not_newer_may_be_written(written: Mark, mark: Mark) -> None:
    found = ownership_of(True, written.parameters(), mark)
    if written.source != mark.source:
        assert found is Ownership.FOREIGN
    else:
        later = written.epoch == mark.epoch and written.position > mark.position
        assert found is (Ownership.NEWER if later else Ownership.OWN)


@given(marks, marks)
def test_a_drop_is_never_bolder_than_a_put(written: Mark, mark: Mark) -> None:
    if ownership_for_drop(True, written.parameters(), mark) is Ownership.OWN:
        assert ownership_of(True, written.parameters(), mark) is Ownership.OWN


BORN = replace(MARK, born=7)


@pytest.mark.parametrize(
    ("mark", "creates", "parameters", "expected"),
    [
        (BORN, True, there(created=90), True),
        (BORN, True, there(created=100), False),
        (BORN, True, there(created=0), False),
        (replace(BORN, created=0), True, there(created=90), False),
        (BORN, False, there(created=90), False),  # an alter
        (MARK, True, there(created=90), False),  # its window has not made it
        (BORN, True, there(source="other", created=90), False),
        (BORN, True, {}, False),
    ],
)
def test_a_table_that_another_creation_left_there_is_replaced(
    mark: Mark, creates: bool, parameters: dict[str, str], expected: bool
) -> None:
    """Its drop never came, and its partitions and constraints are not those of the new one."""
    target = MemoryTarget(FaultySettings(name="dr", kind="faulty"), MemoryStore())
    made = table("db", "t", parameters=parameters)
    operation = PutTable(table=TableName("db", "t"), definition=made, mark=mark, creates=creates)
    assert OneWayJudge(target.store).is_predecessor(operation, made) is expected
