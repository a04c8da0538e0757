"""Programs that tests run in processes of their own stand in strings, where no type checker sees what they import."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]


def imports_in_strings() -> Iterator[tuple[str, str, str]]:
    """The file, the module and the name of each import of ours in a string that is a program."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value:
                try:
                    program = ast.parse(node.value)
                except (SyntaxError, ValueError):
                    continue
                for it in ast.walk(program):
                    if isinstance(it, ast.ImportFrom) and (it.module or "").split(".")[0] in {"pysync", "tests"}:
                        yield from ((str(path.relative_to(TESTS)), str(it.module), name.name) for name in it.names)


def is_there(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True


def test_what_programs_in_strings_import_is_there():
    imports = list(imports_in_strings())
    assert len(imports) > 20, "the search finds none"
    assert [it for it in imports if not is_there(it[1], it[2])] == []
