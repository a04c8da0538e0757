"""Lines and tables for people, as values. `show` prints them as wide as the terminal, with colours only there.

Colour is never the only sign: words say the same. rich respects NO_COLOR, and COLUMNS where there is no terminal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pysync.base.text import plain, shortened

if TYPE_CHECKING:
    from rich.console import Console


Style = Literal["", "good", "warning", "bad", "faint", "bold"]
_STYLES: dict[Style, str] = {
    "": "",
    "good": "bold green",
    "warning": "yellow",
    "bad": "bold red",
    "faint": "dim",
    "bold": "bold",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table. None is shown as nothing."""

    value: Any
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. A longer value is cut to `widest` characters."""

    name: str
    right: bool = False
    widest: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text. What does not fit on a terminal is wrapped below the text, not below the `label`."""

    text: str = ""
    style: Style = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table without borders, one line for each row. The last column is cut if the rows are too wide."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


Part = Line | Grid


def show(parts: Iterable[Part], console: Console | None = None) -> None:
    """Print the parts. On a terminal lines are wrapped; in a pipe they are not, so that grep finds whole lines."""
    from rich.console import Console as RichConsole  # noqa: PLC0415 - slow to load, and --json does not need it

    console = console or RichConsole(highlight=False)
    wraps = console.is_terminal or "COLUMNS" in os.environ
    for part in parts:
        console.print(rendered(part, wraps=wraps), soft_wrap=isinstance(part, Line) and not wraps)


def rendered(part: Part, *, wraps: bool) -> Any:
    """Return the part in the library's form. Control characters are spelled out, and brackets are no markup."""
    from rich.text import Text  # noqa: PLC0415 - as above

    if isinstance(part, Grid):
        return _grid(part)
    text, style = Text(plain(part.text)), _STYLES[part.style]
    if part.label and wraps:
        return _labelled(part.label, text, style)
    text.stylize(style)
    return Text(part.label) + text


def _labelled(label: str, text: Any, style: str) -> Any:
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table.grid()
    table.add_column(width=len(label), no_wrap=True)
    table.add_column(style=style, overflow="fold")
    table.add_row(label, text)
    return table


def _grid(grid: Grid) -> Any:
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=_STYLES["faint"])
    for column in grid.columns:
        # Only a column that may wrap is made narrower. The text in its cells is cut instead.
        is_last = column is grid.columns[-1]
        table.add_column(Text(column.name), justify="right" if column.right else "left", no_wrap=not is_last)
    for row in grid.rows:
        table.add_row(*map(_cell, grid.columns, row))
    return table


def _cell(column: Column, cell: Cell) -> Any:
    from rich.text import Text  # noqa: PLC0415 - as above

    text = " ".join(plain("" if cell.value is None else str(cell.value)).split())
    cut = text if column.widest is None else shortened(text, column.widest)
    return Text(cut, style=_STYLES[cell.style], no_wrap=True, overflow="ellipsis")
