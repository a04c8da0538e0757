"""Groups of patterns: which may take no part in a match, and which only in some repetitions."""

from __future__ import annotations

import pytest

from pysync.views.patterns import has_group_of_some_repetitions, has_optional_group


@pytest.mark.parametrize(
    ("pattern", "is_optional", "is_of_some"),
    [
        ("(a)-(b)", False, False),
        ("(a|b)-(c|d)", False, False),
        ("(?:a|b)(c)", False, False),
        ("([)|(]+)(c)", False, False),
        (r"(a\)?)(\|)", False, False),
        ("(a)?b", True, False),
        ("(a)*", True, False),
        ("(a){0,2}", True, False),
        ("(a)+(b){2}", False, False),
        ("(a)|(b)", True, False),
        ("(?:(a)|b)c", True, False),
        ("((a)|b)c", True, False),
        ("(?:x(a)?)y", True, False),
        ("(?:(a)|b)+", True, True),
        ("(?:(a)?b)*", True, True),
        ("(?:(?:(a)|b)c){2}", True, True),
        ("(?:(a)|b)?", True, False),
    ],
)
def test_groups_that_take_no_part(pattern: str, is_optional: bool, is_of_some: bool) -> None:
    assert (has_optional_group(pattern), has_group_of_some_repetitions(pattern)) == (is_optional, is_of_some)
