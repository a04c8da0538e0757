"""The judges of what a command printed find what a page does not show so."""

from __future__ import annotations

import pytest

from tests.support.docforms import form, other_lines, unexplained, unprinted

PAGE = """\
# A page

## `pysync parked`

Words. `list` prints:

| key | meaning |
|---|---|
| `target`, `kind` | `name` |
| `tables[].at` | when |
| `tables[].scope.done`, `.changes` | |

| kind | meaning |
|---|---|
| `bug` | no key |

`retry` prints:

| key | meaning |
|---|---|
| `left` | |

## `pysync events`

Each entry of `events[]` has:

| key | meaning |
|---|---|
| `position`, `id` | |
"""
LIST = {"target": "dr", "kind": "hms", "tables": [{"at": 1, "scope": {"done": True, "changes": []}}]}


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("dr: loaded 212 tables, 48,120 partitions", "  dr: loaded 1 table, 0 partitions"),
        ("ready at 12:30:01, in 1.5 s", "ready at 01:02:03, in 22.75 s"),
        ("last notification: 48213; next: --from 48213", "last notification: 7; next: --from 7"),
    ],
)
def test_lines_that_differ_in_numbers_have_one_form(shown: str, printed: str) -> None:
    assert form(shown) == form(printed)


@pytest.mark.parametrize("printed", ["", "dr: loaded 3 views", "standby: loaded 3 tables", "dr: loaded 3 tables, all"])
def test_a_line_that_nothing_printed_has_the_form_of(printed: str) -> None:
    shown = ["dr: loaded 212 tables", ""]
    assert other_lines(shown, f"x\n\n{printed}\n") == ["dr: loaded 212 tables"]


def test_a_key_that_the_page_does_not_mention() -> None:
    assert unexplained(LIST, PAGE) == set()
    assert unexplained({"target": {"secret": [{"word": 1}]}, "name": {"Words": 2}}, PAGE) == {"secret", "word", "Words"}
    assert unexplained({"tables": {"attributes": {"user": 1}}}, PAGE + "`attributes`") == set(), "the source's own"


@pytest.mark.parametrize(
    ("printed", "missing"),
    [
        (LIST, []),
        ({**LIST, "tables": []}, []),
        ({"target": "dr", "tables": []}, ["kind"]),
        ({**LIST, "tables": [{"at": 1, "scope": None}]}, []),
        ({**LIST, "tables": [{"at": 1, "scope": {"done": True}}]}, ["tables[].scope.changes"]),
        (
            {**LIST, "tables": [{"scope": None}, {"at": 1}]},
            ["tables[].at", "tables[].scope.done", "tables[].scope.changes"],
        ),
    ],
)
def test_a_key_of_the_page_that_is_not_printed(printed: dict, missing: list[str]) -> None:
    assert unprinted(printed, PAGE, "pysync-parked", "list") == missing


def test_the_table_is_that_of_the_command_or_of_the_entries_of_a_list() -> None:
    assert unprinted({"left": 1}, PAGE, "pysync-parked", "retry") == []
    assert unprinted({"left": 1}, PAGE, "pysync-parked", "show") == [], "there is no table about it"
    assert unprinted({"events": [{"position": 1, "id": "a"}]}, PAGE, "pysync-events", "any") == []
    assert unprinted({"events": [{"position": 1}]}, PAGE, "pysync-events", "any") == ["id"]
