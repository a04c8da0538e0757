"""The floors of docs/architecture.md: who imports whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pysync

ROOT = Path(pysync.__file__).parent
_NO_ROOMS = {"__init__", "__main__", "__pycache__", "py"}


def floors() -> dict[str, int]:
    """How high each room is in the first picture, the lowest at 0."""
    text = (ROOT.parent / "docs" / "architecture.md").read_text()
    lines = text.split("```")[1].strip().splitlines()
    rooms = [room for line in lines for room in line.split()]
    assert len(rooms) == len(set(rooms)), "a room is in the picture twice"
    return {room: height for height, line in enumerate(reversed(lines)) for room in line.split()}


def room_of(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(file: Path) -> Iterator[str]:
    """The rooms that a file imports from, at its top or anywhere else."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            names = [f"{node.module}.{name}" for name in names] if node.module == "pysync" else [str(node.module)]
        yield from (name.split(".")[1] for name in names if name.startswith("pysync.") and "__version__" not in name)


def files() -> list[Path]:
    return [file for file in sorted(ROOT.rglob("*.py")) if room_of(file) not in _NO_ROOMS]


def test_every_room_is_in_the_picture() -> None:
    there = {path.name.partition(".")[0] for path in ROOT.iterdir()} - _NO_ROOMS
    assert there == floors().keys()


@pytest.mark.parametrize("room", floors())
def test_a_room_imports_only_from_the_floors_below(room: str) -> None:
    height, wrong = floors(), []
    for file in files():
        if room_of(file) == room:
            wrong += [f"{file.name} -> {to}" for to in imports(file) if to != room and height[to] >= height[room]]
    assert wrong == []
