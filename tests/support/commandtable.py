"""The tables of docs/commands.md, from the help of the commands. `python -m tests.support.commandtable` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import typer

from pysync.cli.app import app
from pysync.cli.commands import SECTIONS
from tests.support.docpages import ROOT

PAGE = ROOT / "docs" / "commands.md"
BEGIN = "<!-- The rest is made from the help of the commands: make man -->\n"


def page() -> str:
    """docs/commands.md as it should be: its own text, then a table for each section of `pysync --help`."""
    text, begin, _ = PAGE.read_text().partition(BEGIN)
    return text + begin + "".join(_section(heading, names) for heading, names in SECTIONS.items())


def _section(heading: str, names: Iterable[str]) -> str:
    root: Any = typer.main.get_command(app)
    lines = [line for name in names for line in _rows(root.get_command(None, name), f"pysync {name}")]
    return f"\n## {heading}\n\n| command | what it does |\n|---|---|\n" + "".join(f"{line}\n" for line in lines)


def _rows(command: Any, path: str) -> Iterator[str]:
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from _rows(command.get_command(None, name), f"{path} {name}")
        return
    parts = [part for it in command.params if not getattr(it, "hidden", False) for part in _usage(it)]
    usage = " ".join([path, *parts])
    cells = (f"`{usage}`", _first_sentence(command.help))
    yield "| " + " | ".join(it.replace("|", "\\|") for it in cells) + " |"


def _usage(parameter: Any) -> Iterator[str]:
    """`TARGET`, `[NAME …]`, and options that are required; the others are in the command's help."""
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
        name = f"{name.strip('[]').removesuffix('...')} …" if parameter.nargs == -1 else name
        yield name if parameter.required else f"[{name.strip('[]')}]"
    elif parameter.required:
        yield max(parameter.opts, key=len)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", " ".join(text.split()))[0]


if __name__ == "__main__":
    PAGE.write_text(page())
