"""`make test SUITE=mutation`: change the code of the parts that decide, and count the changes that no test notices.

python -m tests.mutation [--part fold] [--size 300] [--seed 1] [--processes 2]
python -m tests.mutation --part fold --only '*_alter__mutmut_*'      the mutants of these names
python -m tests.mutation --part fold --alive                         those that were alive in the run before

What is alive is in build/mutation/PART.txt, as differences.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.mutation.parts import PARTS, Part

_ROOT = Path(__file__).parents[2]
_BUILD = _ROOT / "build/mutation"
_COPIED = ("pysync", "tests", ".ci", "docs", "conf", "listener-java", "pyproject.toml", "README.md", "Makefile")
_JARS = ("pysync-listener.jar", "pysync-copy.jar")  # of `build`, which is copied with nothing else in it
_ALIVE = ("survived", "no tests")
_COUNTED = ("killed", "timeout", *_ALIVE)  # anything else is shown, too
_SHARE_OF_EXAMPLES = "0.1"  # of the properties: histories of the simulator find more in the same time
_SETTINGS = """
[tool.mutmut]
source_paths = ["pysync"]
only_mutate = {modules}
also_copy = {copied}
pytest_add_cli_args = {options}
pytest_add_cli_args_test_selection = {tests}
timeout_multiplier = 4.0
timeout_constant = 5.0  # s
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 if a part could not be run. Mutants that are alive are a result, and no error."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--part", choices=PARTS, action="append", help="this alone; may be repeated")
    parser.add_argument("--size", type=int, default=0, help="so many mutants of each part, at random; default: all")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", action="append", default=[], help="the mutants of this name or pattern")
    parser.add_argument("--alive", action="store_true", help="the mutants that were alive in the run before")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(arguments)
    failed = False
    for name in asked.part or PARTS:
        names = [*asked.only, *(_alive_before(name) if asked.alive else ())]
        if asked.alive and not names:
            continue
        found = _run(PARTS[name], [str(asked.seed), str(asked.size), str(asked.processes), *names])
        failed |= found is None
        if found is not None:
            (_BUILD / f"{name}.txt").write_text(_alive(found))
            print(_counts(name, found), flush=True)
    return int(failed)


def _run(part: Part, arguments: Sequence[str]) -> list[dict[str, Any]] | None:
    """What became of each mutant; None, with the log on stderr, if the tests fail without a mutant."""
    place, log, results = _copy(part), _BUILD / f"{part.name}.log", _BUILD / f"{part.name}.json"
    results.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYSYNC_EXAMPLES": _SHARE_OF_EXAMPLES}
    command = [sys.executable, "-m", "tests.mutation.engine", str(results), *arguments]
    with log.open("w") as output:
        subprocess.run(command, cwd=place, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False)
    if not results.exists():
        print(f"{part.name} could not be run:", log.read_text()[-5000:], sep="\n", file=sys.stderr)
        return None
    found: list[dict[str, Any]] = json.loads(results.read_text())
    return found


def _copy(part: Part) -> Path:
    """A copy of the project with mutmut's settings: mutmut writes mutants below the directory in which it runs."""
    place = _BUILD / part.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in _COPIED:
        if (_ROOT / name).is_dir():
            shutil.copytree(_ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "target"))
        else:
            shutil.copy(_ROOT / name, place / name)
    (place / "build").mkdir()
    for jar in _JARS:
        shutil.copy(_ROOT / "build" / jar, place / "build")
    settings = _SETTINGS.format(
        modules=list(part.modules), copied=[*_COPIED[1:], "build"], options=list(part.options), tests=list(part.tests)
    )
    with (place / "pyproject.toml").open("a") as file:
        file.write(settings)
    return place


def _counts(name: str, found: Sequence[dict[str, Any]]) -> str:
    counts = Counter(it["status"] for it in found)
    named = [*_COUNTED, *sorted(counts.keys() - {*_COUNTED})]
    return f"{name}: {len(found)} mutants, " + ", ".join(f"{counts[status]} {status}" for status in named)


def _alive_before(name: str) -> list[str]:
    results: list[dict[str, Any]] = json.loads((_BUILD / f"{name}.json").read_text())
    return [it["name"] for it in results if it["status"] in _ALIVE]


def _alive(found: Sequence[dict[str, Any]]) -> str:
    return "\n\n".join(f"# {it['name']}: {it['status']}\n{it['difference']}" for it in found if it["status"] in _ALIVE)


if __name__ == "__main__":
    sys.exit(main())
