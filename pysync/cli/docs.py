"""`pysync docs`: the pages that hints name (docs/security.md), as the wheel brings them: a host has no checkout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import meant, quoted
from pysync.cli.output import echo, print_table

_PACKAGE = Path(__file__).resolve().parents[1]
_DIRECTORIES = (_PACKAGE / "docs", _PACKAGE.parent / "docs")
_HEADING = re.compile(r"^(#+) (.+)$")
_FENCE = "```"


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(docs)


def docs(
    page: Annotated[
        str | None,
        typer.Argument(
            metavar="PAGE",
            autocompletion=lambda: list(_pages()),
            help="A page, as `security`, as hints name it (docs/security.md), or a section of it (aws.md#views).",
        ),
    ] = None,
) -> None:
    """Print a page of the documentation of this version, or a section of it. Without PAGE: list the pages."""
    pages = _pages()
    if page is None:
        rows = [(name, _title(file.read_text(encoding="utf-8"))) for name, file in pages.items()]
        print_table("documentation; read a page: pysync docs PAGE", ("page", "what it is about"), rows)
        return
    name, _, anchor = page.removeprefix("docs/").partition("#")
    file = pages.get(name.removesuffix(".md"))
    if file is None:
        raise UsageError(f"there is no page {quoted(name)}", meant(name.removesuffix(".md"), pages, "pages"))
    for line in _section(file.read_text(encoding="utf-8"), anchor, name):
        echo(line)


def _pages() -> Mapping[str, Path]:
    """The pages by their names, in an installed wheel or in a checkout. Raises PysyncError if there are none."""
    for directory in _DIRECTORIES:
        if pages := {it.stem: it for it in sorted(directory.glob("*.md"))}:
            return pages
    raise PysyncError("this installation has no documentation", "install the wheel that `make dist` makes")


def _title(text: str) -> str:
    return next((it[2] for it in map(_HEADING.match, text.splitlines()) if it), "")


def _section(text: str, anchor: str, page: str) -> list[str]:
    """The lines of the section below the heading of this anchor, or all. Raises UsageError if there is none."""
    lines = text.splitlines()
    if not anchor:
        return lines
    headings = list(_headings(lines))
    for at, depth, name in headings:
        if name == anchor:
            end = next((it for it, other, _ in headings if it > at and other <= depth), len(lines))
            return lines[at:end]
    names = [name for _, _, name in headings]
    raise UsageError(f"page {page} has no section {quoted(anchor)}", meant(anchor, names, "sections"))


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """The line, the depth and the anchor of each heading."""
    is_code = False
    for at, line in enumerate(lines):
        is_code ^= line.lstrip().startswith(_FENCE)
        if not is_code and (heading := _HEADING.match(line)):
            yield at, len(heading[1]), _anchor(heading[2])


def _anchor(heading: str) -> str:
    """As GitHub makes it, and as links within the pages have it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
