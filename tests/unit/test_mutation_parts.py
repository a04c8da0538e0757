"""The parts that are mutated (docs/testing.md): their modules and tests are there, also after a move."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.parts import PARTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", PARTS)
def test_the_modules_and_the_tests_of_a_part_are_there(name: str) -> None:
    part = PARTS[name]
    assert [it for it in part.modules if not [*ROOT.glob(it)]] == []
    assert [it for it in part.tests if not (ROOT / it).exists()] == []
