"""The pages of docs/ and README.md: links lead somewhere, commands parse, and answers stand on the page itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from pysync.base.errors import UsageError
from pysync.cli.app import app
from tests.support.docpages import DOCS, PAGES, ROOT, Shown, prose, shown, slug

FOR_CONTRIBUTORS = {"architecture.md", "contributing.md", "testing.md"}
TESTING = "\n## How this is tested\n"
_TEST = re.compile(r"`(tests/[\w./]+|test_\w+)`")
_NAMED = re.compile(r"\bdocs/([\w-]+)\.md(?:#([\w-]+))?")  # in code, conf: a page, and its anchor
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", paths, ids=lambda it: it.name)


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


def missing_tests(text: str) -> Iterator[str]:
    """The files of tests that are named, and the functions named behind each, that do not exist."""
    file = None
    for name in _TEST.findall(text):
        if name.startswith("tests/"):
            file = DOCS[0].parents[1] / name
            if not file.exists():
                yield name
        elif file is not None and file.is_file() and f"\ndef {name}(" not in file.read_text():
            yield f"{file.relative_to(DOCS[0].parents[1])} {name}"


def parse(words: Sequence[str]) -> None:
    """Runs nothing; raises click's UsageError if `pysync` does not take these arguments."""
    found: Any = typer.main.get_command(app)
    context = found.make_context("pysync", list(words))
    while hasattr(found, "resolve_command"):
        name, found, words = found.resolve_command(context, list(words))
        context = found.make_context(name, list(words), parent=context)


@pages([*PAGES, *sorted((ROOT / "docs" / "decisions").glob("*.md"))])
def test_every_relative_link_and_anchor_resolves(page: Path) -> None:
    assert list(dead_links(page)) == []


def test_every_page_that_code_or_configuration_names_is_there() -> None:
    """In hints, comments and docstrings."""
    roots = ["pysync", "conf", "tests", ".ci", "listener-java/src", "Makefile"]
    files = [file for root in roots for file in [ROOT / root, *(ROOT / root).rglob("*")] if file.is_file()]
    texts = {file: file.read_text(errors="ignore") for file in files if "__pycache__" not in file.parts}
    named = {(file, it) for file, text in texts.items() for it in _NAMED.findall(text)}
    assert len(named) > 100
    assert (
        sorted(
            f"{file.relative_to(ROOT)}: docs/{page}.md{anchor and f'#{anchor}'}"
            for file, (page, anchor) in named
            if not (there := ROOT / "docs" / f"{page}.md").exists() or (anchor and anchor not in anchors(there))
        )
        == []
    )


@pages(PAGES)
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    assert list(missing_tests(page.read_text())) == []


def test_every_module_that_the_page_on_the_architecture_names_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = {it.name for it in (ROOT / "pysync").iterdir() if it.is_dir()}
    named = {it for it in re.findall(r"[`*]([a-z_]+(?:/[a-z_]+)+)[`*]", text) if it.split("/")[0] in rooms}
    places = [ROOT / "pysync", ROOT / "pysync" / "targets"]
    there = {it for it in named for place in places if (place / it).is_dir() or (place / f"{it}.py").is_file()}
    assert len(there) > 50
    assert named - there == set()


def test_a_test_that_is_not_there_is_found() -> None:
    here = "tests/unit/test_doc_pages.py"
    text = f"`{here}` `test_a_test_that_is_not_there_is_found` `test_none`; `tests/unit/test_none.py`; `tests/none`"
    assert list(missing_tests(text)) == [f"{here} test_none", "tests/unit/test_none.py", "tests/none"]


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
    for words in [it.words() for it in shown(page)]:
        if words[:1] == ["pysync"]:
            parse(words[1:])


@pytest.mark.parametrize("line", ["pysync plan dr", "pysync verify --tagret dr", "pysync parked list", "pysync stats"])
def test_a_command_line_that_pysync_refuses_is_found(line: str) -> None:
    with pytest.raises((typer.BadParameter.__bases__[0], UsageError)):
        parse(line.split()[1:])


PAGE = """\
# Top
```sh
# beside the source
pysync dump x --from 7      # later: "only" what changed
A=1 sudo pysync init --a 'b # c' \\
    --c d                   # asks
```
1. List:

## The `b`: two
   ```sh
   cat > x.toml <<'EOF'
   # kept
   EOF

   sudo -u hive pysync check 2> log
   python -c "
   'it' # kept" | grep '#'   # it's said
   ```
```
$ pysync load x
dr: loaded 2 tables
another line
$ pysync status
no dollar
```
```toml
pysync = "no command"
```
"""


def test_the_command_lines_of_a_page_are_found_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(PAGE)
    found = list(shown(tmp_path / "a.md"))
    assert [it.name for it in found] == [
        "a.md: pysync dump x --from 7",
        "a.md: A=1 sudo pysync init --a 'b # c' --c d",
        "a.md: cat > x.toml <<'EOF'",
        "a.md: sudo -u hive pysync check 2> log",
        """a.md: python -c " 'it' # kept" | grep '#'""",
        "a.md: pysync load x",
        "a.md: pysync status",
    ]
    assert [it.words() for it in found[:5]] == [
        ["pysync", "dump", "x", "--from", "7"],
        ["pysync", "init", "--a", "b # c", "--c", "d"],
        ["cat"],
        ["pysync", "check"],
        ["python", "-c", "\n'it' # kept"],
    ]
    assert found[2].text == "cat > x.toml <<'EOF'\n# kept\nEOF"
    assert found[0].comment == 'later: "only" what changed'
    assert [it.section for it in found] == ["top"] * 2 + ["the-b-two"] * 5
    assert found[5:] == [
        Shown("a.md", "the-b-two", "pysync load x", ("dr: loaded 2 tables", "another line")),
        Shown("a.md", "the-b-two", "pysync status", ("no dollar",)),
    ]
