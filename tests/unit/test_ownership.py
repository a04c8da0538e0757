"""Who may write what: the one rule for all targets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.mark import Mark
from pysync.targets.apply.ownership import Standing, standing, standing_for_drop, standing_of_part

MARK = Mark("onprem", epoch=5, position=7, created=100)


def there(source: str = "onprem", epoch: int = 5, position: int = 7, created: int = 100) -> dict[str, str]:
    return Mark(source, epoch, position, created).parameters()


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (there(), Standing.OWN),
        (there(position=6), Standing.OWN),
        (there(epoch=4, position=99), Standing.OWN),
        (there(position=8), Standing.NEWER),
        (there(epoch=6, position=1), Standing.NEWER),
        (there(created=200), Standing.OWN),
        (there(source="other"), Standing.FOREIGN),
        (there(source="other", position=99), Standing.FOREIGN),
        (None, Standing.FOREIGN),
        ({}, Standing.FOREIGN),
        ({"pysync.source": "onprem"}, Standing.FOREIGN),
        ({"pysync.event": "5.7.100"}, Standing.FOREIGN),
        ({"pysync.source": "onprem", "pysync.event": "5.7"}, Standing.FOREIGN),
    ],
)
def test_put(parameters: dict[str, str] | None, expected: Standing) -> None:
    assert standing(True, parameters, MARK) is expected


def test_absent_is_absent_whatever_its_parameters() -> None:
    assert standing(False, there(), MARK) is Standing.ABSENT
    assert standing_for_drop(False, there(), MARK) is Standing.ABSENT
    assert standing_for_drop(False, there(created=101), MARK) is Standing.ABSENT


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (there(position=6), Standing.OWN),
        (there(position=6, created=100), Standing.OWN),
        (there(position=6, created=101), Standing.NEWER),
        (there(position=6, created=0), Standing.OWN),
        (there(position=8, created=50), Standing.NEWER),
        (there(source="other", created=50), Standing.FOREIGN),
        (there(source="other", created=101), Standing.FOREIGN),
        (there(source="other", position=99, created=101), Standing.FOREIGN),
    ],
)
def test_drop(parameters: dict[str, str], expected: Standing) -> None:
    assert standing_for_drop(True, parameters, MARK) is expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (there(position=99), Standing.OWN),
        (there(created=101), Standing.NEWER),
        (there(created=0), Standing.OWN),
        (there(source="other"), Standing.FOREIGN),
        (None, Standing.FOREIGN),
    ],
)
def test_part(parameters: dict[str, str] | None, expected: Standing) -> None:
    assert standing_of_part(parameters, MARK) is expected


@pytest.mark.parametrize(
    ("epoch", "born", "expected"),
    [(5, 7, Standing.OWN), (5, 8, Standing.NEWER), (5, 0, Standing.OWN), (4, 900, Standing.OWN)],
)
def test_a_part_from_before_its_table_got_its_name_is_of_another_table(
    epoch: int, born: int, expected: Standing
) -> None:
    written = Mark("onprem", epoch, 99, created=100, born=born).parameters()
    assert standing_of_part(written, MARK) is expected


def test_an_unknown_creation_proves_nothing() -> None:
    unknown = Mark("onprem", 5, 7)
    assert standing_for_drop(True, there(position=6, created=500), unknown) is Standing.OWN
    assert standing_of_part(there(created=500), unknown) is Standing.OWN


marks = st.builds(Mark, st.sampled_from(["a", "b"]), *[st.integers(0, 3)] * 3)


@given(marks, marks)
def test_only_its_own_and_not_newer_may_be_written(written: Mark, mark: Mark) -> None:
    found = standing(True, written.parameters(), mark)
    if written.source != mark.source:
        assert found is Standing.FOREIGN
    else:
        order = (written.epoch, written.position) > (mark.epoch, mark.position)
        assert found is (Standing.NEWER if order else Standing.OWN)


@given(marks, marks)
def test_a_drop_is_never_bolder_than_a_put(written: Mark, mark: Mark) -> None:
    if standing_for_drop(True, written.parameters(), mark) is Standing.OWN:
        assert standing(True, written.parameters(), mark) is Standing.OWN
