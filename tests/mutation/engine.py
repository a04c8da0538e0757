"""mutmut, with more operators and with samples.

python -m tests.mutation.engine RESULTS SEED SIZE PROCESSES [NAME ...]

Run in a copy of the project whose pyproject.toml has mutmut's settings. RESULTS gets what became of each mutant, and
how each that is alive differs. SIZE 0 means all.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import libcst as cst
from mutmut import __main__ as mutmut
from mutmut.mutation import mutators
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code

_MEMORY = 8 << 30  # bytes, of each process: an endless loop may fill a list
_ALIVE = ("survived", "no tests")


def negated(node: cst.If | cst.While) -> Iterable[cst.CSTNode]:
    """`if a:` becomes `if not a:`."""
    test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    yield node.with_changes(test=cst.UnaryOperation(cst.Not(), test))


def nothing_returned(node: cst.Return) -> Iterable[cst.CSTNode]:
    """`return a` becomes `return None`."""
    if node.value is not None and not (isinstance(node.value, cst.Name) and node.value.value == "None"):
        yield node.with_changes(value=cst.Name("None"))


def call_removed(node: cst.Expr) -> Iterable[cst.CSTNode]:
    """A call that is a statement becomes `pass`."""
    if isinstance(node.value, cst.Call):
        yield cst.Pass()


def other_string(node: cst.BaseString) -> Iterable[cst.CSTNode]:
    """mutmut's first variant alone: the others change upper and lower case."""
    yield from list(mutators.operator_string(node))[:1]


def extend() -> None:
    """Give mutmut the operators above, in place."""
    more = [(cst.If, negated), (cst.While, negated), (cst.Return, nothing_returned), (cst.Expr, call_removed)]
    own = [it for it in mutators.mutation_operators if it[1] is not mutators.operator_string]
    mutators.mutation_operators[:] = [*own, (cst.BaseString, other_string), *more]


def sample(seed: int, size: int) -> None:
    """Have mutmut run only `size` of the mutants. Which ones depends on the seed and on the code alone."""
    collected = mutmut.collect_source_file_mutation_data

    def drawn(**arguments: Any) -> Any:
        mutants, files = collected(**arguments)
        mutants.sort(key=lambda it: it[1])
        return random.Random(seed).sample(mutants, min(size, len(mutants))), files

    if size:
        mutmut.collect_source_file_mutation_data = drawn


def results() -> list[dict[str, str]]:
    """What became of each mutant that was run."""
    files = mutmut.collect_source_file_mutation_data(mutant_names=())[1].values()
    found = []
    for file, name, code in sorted((it.path, name, code) for it in files for name, code in it.exit_code_by_key.items()):
        if code is not None:
            status = status_by_exit_code[code]
            difference = get_diff_for_mutant(name, path=file) if status in _ALIVE else ""
            found.append({"name": name, "status": status, "difference": difference})
    return found


def main(arguments: Sequence[str]) -> None:
    """As above."""
    path, seed, size, processes, *names = arguments
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    extend()
    collected = mutmut.collect_source_file_mutation_data
    sample(int(seed), int(size))
    mutmut._run(tuple(names), int(processes))
    mutmut.collect_source_file_mutation_data = collected
    Path(path).write_text(json.dumps(results()))


if __name__ == "__main__":
    main(sys.argv[1:])
