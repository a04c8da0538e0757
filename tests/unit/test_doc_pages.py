"""The pages of docs/ and README.md: links lead somewhere, commands parse, and answers stand on the page itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer

from pysync.cli.app import app

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
FOR_CONTRIBUTORS = {"adding-a-target.md", "architecture.md", "contributing.md", "simulation.md"}
TESTING = "\n## How this is tested\n"
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", paths, ids=lambda it: it.name)


def prose(text: str) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", text)


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {slug(it.strip()) for it in re.findall(r"^#+ (.+)$", prose(page.read_text()), re.MULTILINE)}


def dead_links(page: Path) -> Iterator[str]:
    for link in _LINK.findall(prose(page.read_text())):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            yield link


def commands(page: Path) -> Iterator[str]:
    """The `pysync` lines of a page's `sh` blocks, without their comments."""
    for _, language, block in _FENCE.findall(page.read_text()):
        if language == "sh":
            yield from (line.strip() for line in block.splitlines() if line.strip().startswith("pysync "))


def parse(line: str) -> None:
    """Runs nothing; raises click's UsageError if `pysync` does not take the arguments of this command line."""
    words = list(takewhile(lambda it: it not in {">", "|"}, shlex.split(line, comments=True)[1:]))
    found: Any = typer.main.get_command(app)
    context = found.make_context("pysync", list(words))
    while hasattr(found, "resolve_command"):
        name, found, words = found.resolve_command(context, words)
        context = found.make_context(name, list(words), parent=context)


@pages(PAGES)
def test_every_relative_link_and_anchor_resolves(page: Path) -> None:
    assert list(dead_links(page)) == []


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# The `b`: one, two\n```\n# no heading\n```\n")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md#the-b-one-two) [2](c.md) [3](b.md#no-heading) [4](https://x.org/y) [5](#a)\n# A\n")
    assert list(dead_links(page)) == ["c.md", "b.md#no-heading"]


@pages([it for it in DOCS if it.name not in FOR_CONTRIBUTORS])
def test_tests_are_named_only_where_a_page_tells_how_it_is_tested(page: Path) -> None:
    """A reader who looks for an answer finds it on the page, not in a test."""
    answer, _, testing = page.read_text().partition(TESTING)
    assert "tests/" not in answer
    assert "\n## " not in testing, "this section is the last one"


@pages(DOCS)
def test_no_line_is_longer_than_125_characters(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert [it for it in lines if len(it) > 125 and not it.lstrip().startswith("|")] == []


@pages(PAGES)
def test_every_command_line_that_is_shown_can_be_parsed(page: Path) -> None:
    for line in commands(page):
        parse(line)


@pytest.mark.parametrize("line", ["pysync plan dr", "pysync verify --tagret dr", "pysync parked list", "pysync stats"])
def test_a_command_line_that_pysync_refuses_is_found(line: str) -> None:
    with pytest.raises(typer.BadParameter.__bases__[0]):
        parse(line)
