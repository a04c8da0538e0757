"""How tests wait: what they look at afterwards is what they have waited for, not only its size.

A test that waits until there is one parked event, and then looks at the event, fails when it looks too early: while the
state of the event is still another. So it waits for the event as it shall be (tests.support.wait_for_value).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import wait_for_items, wait_for_value, wait_until

TESTS = Path(__file__).parent.parent


def too_early(source: str) -> list[str]:
    """Where a function looks at what an expression has, and has waited for its size alone."""
    if "wait_until" not in source:  # most files: to parse them all takes seconds
        return []
    functions = [it for it in ast.walk(ast.parse(source)) if isinstance(it, ast.FunctionDef)]
    return sorted({found for function in functions for found in _in_function(function)})


def _in_function(function: ast.FunctionDef) -> Iterator[str]:
    statements = [it for it in ast.walk(function) if isinstance(it, ast.Assert | ast.Assign | ast.Expr)]
    statements.sort(key=lambda it: it.lineno)
    for at, statement in enumerate(statements):
        for measured in _measured(statement):
            later = next((it for it in statements[at + 1 :] if _looks_at(it, measured)), None)
            if later is not None and not _waits(later):
                yield f"line {later.lineno} looks at {measured}: line {statement.lineno} waits for its size alone"


def _waits(statement: ast.stmt) -> bool:
    return any(_is_wait(it) for it in ast.walk(statement))


def _is_wait(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func).startswith("wait")


def _name(node: ast.AST) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


def _measured(statement: ast.stmt) -> set[str]:
    """The expressions for whose size it waits."""
    waits = [it for it in ast.walk(statement) if isinstance(it, ast.Call) and _name(it.func) == "wait_until"]
    return {ast.unparse(it) for wait in waits if wait.args for it in _sized(wait.args[0])}


def _sized(condition: ast.expr) -> Iterator[ast.expr]:
    """The expressions of whose value the condition asks the size, or whether it is empty."""
    if isinstance(condition, ast.Lambda):
        yield from _sized(condition.body)
    elif isinstance(condition, ast.BoolOp):
        for value in condition.values:
            yield from _sized(value)
    elif isinstance(condition, ast.Compare):
        yield from _lengths(condition)
        if isinstance(condition.ops[0], ast.NotEq):
            yield condition.left
    elif isinstance(condition, ast.Call) and _name(condition.func) == "bool":
        yield condition.args[0]
    elif isinstance(condition, ast.Attribute | ast.Call):
        yield condition


def _lengths(condition: ast.expr) -> Iterator[ast.expr]:
    for call in ast.walk(condition):
        if isinstance(call, ast.Call) and call.args and _name(call.func) == "len":
            yield call.args[0]
        elif isinstance(call, ast.Call) and call.args and _name(call.func) == "count":
            assert isinstance(call.func, ast.Attribute)
            yield call.func.value


def _looks_at(node: ast.AST, expression: str) -> bool:
    """Whether it uses the value of the expression otherwise than for its size."""
    if isinstance(node, ast.Call) and _name(node.func) == "len" and ast.unparse(node.args[0]) == expression:
        return False
    if isinstance(node, ast.expr) and ast.unparse(node) == expression:
        return True
    return any(_looks_at(child, expression) for child in ast.iter_child_nodes(node))


def test_no_test_looks_at_what_it_has_only_counted() -> None:
    found = {str(path.relative_to(TESTS)): too_early(path.read_text()) for path in sorted(TESTS.rglob("*.py"))}
    assert {path: lines for path, lines in found.items() if lines} == {}


WRONG = (
    "wait_until(lambda: len(parked()) == 1)\n    assert parked() == [1]",
    "wait_until(lambda: len(it.parked) >= 2 and it.ready)\n    assert it.parked[0] == 1",
    "wait_until(lambda: bool(parked()))\n    (one,) = parked()",
    "wait_until(lambda: parked())\n    assert len(parked()) == 1\n    assert 1 in parked()",
    "wait_until(lambda: parked() != [])\n    assert parked() == [1]",
    "wait_until(lambda: log().count('a') == 2)\n    assert 'b' in log()",
    "with other():\n        wait_until(lambda: len(parked()) == 1)\n    assert sorted(parked()) == [1]",
)
RIGHT = (
    "wait_for_value(lambda: parked(), [1])\n    assert parked() == [1]",
    "wait_until(lambda: parked() == [1])\n    assert parked() == [1]",
    "wait_until(lambda: len(parked()) == 1)\n    assert len(parked()) == 1",
    "wait_until(lambda: len(parked()) == 1)\n    assert others() == [1]",
    "wait_until(lambda: len(log()) == 2)\n    wait_until(lambda: 'b' in log())\n    assert 'b' in log()",
    "(one,) = wait_for_items(lambda: parked(), 1)\n    assert one == 1",
)


@pytest.mark.parametrize("body", WRONG)
def test_the_wrong_form_is_found(body: str) -> None:
    assert len(too_early(f"def test() -> None:\n    {body}\n")) == 1


@pytest.mark.parametrize("body", RIGHT)
def test_the_right_forms_are_not(body: str) -> None:
    assert too_early(f"def test() -> None:\n    {body}\n") == []


def test_a_wait_gives_the_value_that_it_waited_for() -> None:
    values = iter([[], [1], [1, 2], [1, 2, 3]])
    assert wait_for_value(lambda: next(values), [1]) == [1]
    assert wait_for_items(lambda: next(values), 3) == [1, 2, 3]


def test_a_wait_that_fails_says_what_came_last() -> None:
    with pytest.raises(AssertionError, match=r"^parking did not happen within 0 s: \[2\] is not \[1\]$"):
        wait_for_value(lambda: [2], [1], seconds=0, what="parking")
    with pytest.raises(AssertionError, match=r"^lines did not happen within 0 s: 'a' has fewer than 2$"):
        wait_for_items(lambda: "a", 2, seconds=0, what="lines")
    with pytest.raises(AssertionError, match=r"^it did not happen within 0 s$"):
        wait_until(lambda: False, seconds=0)
