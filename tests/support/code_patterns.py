"""All regular expressions of the code, with what they are used for: found in its text, compiled as it compiles them."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pysync

ROOT = Path(pysync.__file__).parent
ANCHORED = frozenset({"match", "fullmatch"})
_SEARCHES = frozenset({"search", "sub", "subn", "split", "findall", "finditer"})
_COMPILED_BY = {"_meta": "search", "_reason_has": "search", "matching": "fullmatch"}
"""Functions that compile the text which they get, and what they use it for."""


@dataclass(frozen=True, slots=True)
class CodePattern:
    """A regular expression at a place of the code; None for one that is not known before it runs."""

    where: str  # the module, and what is defined there
    pattern: re.Pattern[str] | None
    use: str  # `match`, `fullmatch`, or `search` for all that look for it anywhere


@cache
def code_patterns() -> list[CodePattern]:
    """Those of each file, in order."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
    public = _uses(trees.values())
    modules = (_Module(path, tree, public) for path, tree in trees.items())
    return list(dict.fromkeys(it for module in modules for it in module.patterns()))


def _uses(trees: Iterable[ast.AST]) -> Mapping[str, set[str]]:
    """The methods that are called of what has a name."""
    uses: dict[str, set[str]] = defaultdict(set)
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and node.attr in ANCHORED | _SEARCHES:
            uses[_name(node.value)].add(node.attr if node.attr in ANCHORED else "search")
    return uses


class _Module:
    def __init__(self, path: Path, tree: ast.Module, public: Mapping[str, set[str]]) -> None:
        relative = path.relative_to(ROOT.parent).with_suffix("")
        self._name = ".".join(relative.parts).removesuffix(".__init__")
        self._tree, self._public, self._own = tree, public, _uses([tree])

    def patterns(self) -> Iterator[CodePattern]:
        for top in self._tree.body:
            for node in ast.walk(top):
                if isinstance(node, ast.Call) and node.args:
                    yield from self._of_call(_defined(top), node)

    def _of_call(self, defined: str, call: ast.Call) -> Iterator[CodePattern]:
        function = _name(call.func)
        is_of_re = _name(getattr(call.func, "value", None)) == "re"
        if is_of_re and function == "compile":
            uses = (self._own if defined.startswith("_") else self._public).get(defined, {"search"})
        elif is_of_re and function in ANCHORED | _SEARCHES:
            uses = {function if function in ANCHORED else "search"}
        else:
            uses = {_COMPILED_BY[function]} if function in _COMPILED_BY else set()
        for pattern in self._compiled(defined, call) if uses else ():
            yield from (CodePattern(f"{self._name}.{defined}", pattern, use) for use in sorted(uses))

    def _compiled(self, defined: str, call: ast.Call) -> list[re.Pattern[str] | None]:
        names = vars(importlib.import_module(self._name))
        parts = [call.args[0], *(it for it in [*call.args[1:], *[it.value for it in call.keywords]] if _is_flags(it))]
        try:
            text, *flags = (eval(compile(ast.Expression(it), "", "eval"), names) for it in parts)  # noqa: S307 - our own
        except NameError:
            made = names.get(defined)
            return [*made] if isinstance(made, tuple) and all(isinstance(it, re.Pattern) for it in made) else [None]
        return [re.compile(text, sum(flags))] if isinstance(text, str) else []


def _is_flags(node: ast.expr) -> bool:
    return ast.unparse(node).startswith("re.")


def _defined(top: ast.stmt) -> str:
    target = top.targets[0] if isinstance(top, ast.Assign) else top
    return _name(target) or getattr(top, "name", "")


def _name(node: Any) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")
