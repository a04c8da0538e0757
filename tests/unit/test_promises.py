"""What others rely on changes only on purpose: docs/compatibility.md says what a change of it needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from tests.support.promises import FILE, ROOT, keys, promises, rows, words

ADVICE = """
What others rely on has changed (docs/compatibility.md). For each line:
  -  was removed or changed: keep it beside the new one, deprecated; before 1.0 at least a line of CHANGELOG.md under
     Changed or Removed, with what to do, and the next minor version
  +  is new: a line of CHANGELOG.md under Added, and its page in docs/
Then write the promises anew: python -m tests.support.promises
"""


def compared(before: list[str], now: list[str]) -> str:
    """What is in one of them alone, in order."""
    gone = [f"-  {line}" for line in before if line not in set(now)]
    return "\n".join([*gone, *(f"+  {line}" for line in now if line not in set(before))])


def test_what_others_rely_on_is_as_it_was() -> None:
    changed = compared(FILE.read_text().splitlines(), promises())
    assert not changed, f"{ADVICE}\n{changed}"


def test_nothing_is_promised_twice() -> None:
    found = promises()
    assert len(found) == len(set(found))


def test_every_part_has_promises() -> None:
    parts = {line.partition(":")[0] for line in promises()}
    page = (ROOT / "docs" / "compatibility.md").read_text()
    assert parts == {"pysync.toml", "hive-site.xml", "command", "json", "metric", "log", "format", "python"}
    assert [part for part in parts if f"`{part}:`" not in page] == []


@pytest.mark.parametrize(
    "line",
    [
        "pysync.toml: bridge.port = 25333 (integer >=0 <=65535)",
        "pysync.toml: targets[].skip_archive = true (boolean) [kind glue]",
        "hive-site.xml: pysync.deadline.ms = 500",
        "command: pysync parked skip <target position?> --json, --table …, --yes, -c/--config … [PYSYNC_CONFIG]",
        "command: exit codes 0, 1 (PysyncError), 2 (UsageError)",
        "metric: pysync_well {}",
        "metric: pysync_target_state {target, state}",
        "log: target_available (info): target, seconds",
        "json: pysync status: queue.events int",
        "json: pysync status: problems[].code string",
        "format: queue.db 2, reads 1",
    ],
)
def test_a_promise_of_each_part(line: str) -> None:
    assert line in promises()


def test_what_is_for_trials_is_no_promise() -> None:
    assert [line for line in promises() if re.search(r"faulty|pysync (demo|embedded)\b", line)] == []


class Inner(BaseModel):
    size: int = Field(default=1, ge=1)


class Outer(BaseModel):
    name: str
    inner: Inner = Inner()
    maybe: Inner | None = None
    names: tuple[str, ...] = ()


def test_keys_are_told_with_default_and_bounds_those_within_too() -> None:
    assert list(keys("", Outer.model_json_schema())) == [
        "name = required (string)",
        "inner = {…} (object)",
        "inner.size = 1 (integer >=1)",
        "maybe = null (object)",
        "maybe.size = 1 (integer >=1)",
        "names = [] (array of string)",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`heard`; or `silent`, as `heard`", " heard silent"),
        ("`.source` and `tables[]`", " source tables[]"),
        ('`{"error": {"message": "…"}}`', " error message"),
        ("`[web] port` and `pysync status`", ""),
    ],
)
def test_names_and_values_are_found_where_a_page_marks_them(text: str, found: str) -> None:
    assert words(text) == found


def test_a_cell_may_be_empty_or_hold_an_escaped_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.promises.ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("## One\n\n| `a` | | x \\| y |\n\n## Two\n\n| `b` | c | d |\n")
    assert rows("page.md") == [["`a`", "", "x \\| y"], ["`b`", "c", "d"]]
    assert rows("page.md", "Two") == [["`b`", "c", "d"]]


def test_both_directions_of_a_change_are_told() -> None:
    assert compared(["a", "b", "c"], ["a", "c", "d"]) == "-  b\n+  d"
