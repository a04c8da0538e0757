"""The floors of docs/architecture.md: who imports whom, among all rooms and those of the targets. What a file is."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points, metadata
from pathlib import Path

import pytest

import pysync

ROOT = Path(pysync.__file__).parent
TARGETS = ROOT / "targets"
_MOST_LINES = 500
_NO_ROOMS = {"__init__", "__main__", "__pycache__", "py"}


def floors(picture: int = 1) -> dict[str, int]:
    """How high each room is in the first picture, or another, the lowest at 0; behind a gap is what it is for."""
    text = (ROOT.parent / "docs" / "architecture.md").read_text()
    lines = [line.strip().partition("   ")[0] for line in text.split("```")[2 * picture - 1].strip().splitlines()]
    rooms = [room for line in lines for room in line.split()]
    assert len(rooms) == len(set(rooms)), "a room is in the picture twice"
    return {room: height for height, line in enumerate(reversed(lines)) for room in line.split()}


def room_of(file: Path, within: Path = ROOT) -> str:
    return file.relative_to(within).parts[0].removesuffix(".py")


@cache
def import_statements(file: Path) -> list[ast.Import | ast.ImportFrom]:
    """Those at the top of a file or anywhere else."""
    return [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, (ast.Import, ast.ImportFrom))]


def imports(file: Path, within: str = "pysync") -> Iterator[str]:
    """The rooms that a file imports from."""
    for node in import_statements(file):
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            names = [f"{node.module}.{name}" for name in names] if node.module == within else [str(node.module)]
        inside = [name.removeprefix(f"{within}.") for name in names if name.startswith(f"{within}.")]
        yield from (name.split(".")[0] for name in inside if "__version__" not in name)


def files(within: Path = ROOT) -> list[Path]:
    return [file for file in sorted(within.rglob("*.py")) if room_of(file, within) not in _NO_ROOMS]


@pytest.mark.parametrize(("picture", "place"), [(1, ROOT), (2, TARGETS)])
def test_every_room_is_in_the_picture(picture: int, place: Path) -> None:
    there = {path.name.partition(".")[0] for path in place.iterdir()} - _NO_ROOMS
    assert there == floors(picture).keys()


@pytest.mark.parametrize("room", floors())
def test_a_room_imports_only_from_the_floors_below(room: str) -> None:
    height, wrong = floors(), []
    for file in files():
        if room_of(file) == room:
            wrong += [f"{file.name} -> {to}" for to in imports(file) if to != room and height[to] >= height[room]]
    assert wrong == []


@pytest.mark.parametrize("room", floors(2))
def test_so_does_a_room_of_the_targets(room: str) -> None:
    height, wrong = floors(2), []
    for file in files(TARGETS):
        if room_of(file, TARGETS) == room:
            there = imports(file, "pysync.targets")
            wrong += [f"{file.name} -> {to}" for to in there if to != room and height[to] >= height[room]]
    assert wrong == []


def parts() -> set[str]:
    """What the core does without, as the table of docs/architecture.md names it: rooms, and a kind of target."""
    table = (ROOT.parent / "docs" / "architecture.md").read_text().partition("| part |")[2].partition("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"`([\w/]+)`", row.split("|")[1])}


def test_the_core_imports_no_part_that_only_some_users_need() -> None:
    found, height, optional = set(), floors(), parts()
    for file in files():
        name = file.relative_to(ROOT).as_posix()
        if height[room_of(file)] <= height["sidecar"] and not name.startswith(tuple(f"{it}/" for it in optional)):
            imported = {*imports(file), *(f"targets/{it}" for it in imports(file, "pysync.targets"))}
            found |= {(name, it) for it in imported & optional}
    # docs/decisions/optional-parts.md
    assert found == {("targets/glue/views.py", "views")}


def test_the_docstring_of_a_package_names_only_modules_that_it_has() -> None:
    known = {*metadata("pysync").get_all("Provides-Extra", []), *entry_points(group="pysync.targets").names}
    wrong = []
    for face in sorted(ROOT.rglob("__init__.py")):
        modules = {path.name.partition(".")[0] for path in face.parent.iterdir()}
        words = re.findall(r"`([a-z_]+)`", ast.get_docstring(ast.parse(face.read_text())) or "")
        wrong += [f"{face.parent.relative_to(ROOT)}: {word}" for word in words if word not in modules | known]
    assert wrong == []


def section_heads(text: str) -> list[str]:
    """Comments at the left margin, with blank lines round them: each begins a second subject."""
    return re.findall(r"(?<=\n\n)(# .*)\n(?:#.*\n)*\n", text)


def test_a_file_is_one_subject_of_at_most_500_lines() -> None:
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in sorted(ROOT.rglob("*.py"))}
    assert {name: heads for name, text in texts.items() if (heads := section_heads(text))} == {}
    assert [name for name, text in texts.items() if text.count("\n") > _MOST_LINES] == []


def test_a_public_class_name_exists_once() -> None:
    names = [name for file in ROOT.rglob("*.py") for name in re.findall(r"(?m)^class ([A-Z]\w*)", file.read_text())]
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_the_head_of_a_second_subject_is_found() -> None:
    text = "A = 1\n\n# of B\nB = 2\n\n# --- More: what is more.\n#\n# It is more.\n\nC = 3\n"
    assert section_heads(text) == ["# --- More: what is more."]
