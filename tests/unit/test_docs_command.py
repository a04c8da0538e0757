"""`pysync docs` on a host: what hints name can be read there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pysync
from pysync.cli import docs
from tests.support.docpages import DOCS
from tests.support.sidecars import pysync_here

NAMED = re.compile(r"\bdocs/[\w-]+\.md(?:#[\w-]+)?")


def read(*arguments: str) -> tuple[int, str]:
    done = pysync_here("docs", *arguments)
    return done.returncode, done.stdout + done.stderr


def test_all_pages_are_listed_with_their_titles() -> None:
    code, listed = read()
    assert code == 0
    for page in DOCS:
        title = page.read_text().splitlines()[0].removeprefix("# ")
        assert re.search(rf"{page.stem} +│ {re.escape(title)} ", listed), page.name


def test_each_page_that_the_code_names_can_be_read() -> None:
    code = [it.read_text() for it in Path(pysync.__file__).parent.rglob("*.py")]
    named = {it for text in code for it in NAMED.findall(text)}
    assert len(named) > 10
    for page in sorted(named):
        assert read(page)[0] == 0, page


@pytest.mark.parametrize("name", ["verify#data-files", "verify.md#data-files", "docs/verify.md#data-files"])
def test_a_section_ends_at_the_next_one(name: str) -> None:
    code, text = read(name)
    lines = text.splitlines()
    assert (code, lines[0]) == (0, "### Data files")
    assert "pysync verify --data --repair sales" in lines
    assert "### JSON, JUnit and HTML" not in lines


def test_a_comment_in_a_block_of_code_is_no_heading() -> None:
    assert [it for _, _, it in docs._headings(["# One", "```sh", "# two", "```", "## Three"])] == ["one", "three"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("secrity", "there is no page 'secrity'; did you mean security?"),
        ("aws#vews", "page aws has no section 'vews'; did you mean views?"),
        ("../README", "there is no page '../README'; pages: acid, "),
        ("/etc/passwd", "there is no page '/etc/passwd'; pages: acid, "),
    ],
)
def test_what_there_is_not_is_refused(name: str, hint: str) -> None:
    code, text = read(name)
    assert code == 2
    assert hint in text


def test_an_installation_without_pages_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(docs, "_DIRECTORIES", (tmp_path,))
    assert read() == (1, "pysync: this installation has no documentation; install the wheel that `make dist` makes\n")
