"""`python -m tests.compare --v1 DIRECTORY --v2 DIRECTORY`: the comparison, printed, and with logs in build/compare."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from pysync import __version__
from pysync.base import logs
from tests.compare import agents, building, contest, report
from tests.compare.contender import Contender
from tests.compare.ours import bare, pysync
from tests.compare.stream import STATEMENTS, Statement, statements

OUTPUT = Path("build") / "compare"
_SEED = 18
_PAUSE_SECONDS = 0.5

Open = Callable[[Path], AbstractContextManager[Contender]]


def main() -> int:
    """Run the contenders one after the other; 2 if an agent cannot be run, 1 if pysync lost something."""
    arguments = _arguments()
    logs.configure("error", "console")
    try:
        contenders = _contenders(arguments)
    except agents.NoAgent as error:
        print(error, file=sys.stderr)
        return 2
    stream = statements(arguments.seed, arguments.statements)
    print(f"seed {arguments.seed}, {len(stream)} statements, {arguments.pause:g} s apart; pysync {__version__}")
    results: dict[str, contest.Result] = {}
    for name, opened in contenders.items():
        results[name] = _run(name, opened, stream, arguments.pause)
        (OUTPUT / "agents.json").write_text(json.dumps(report.as_json(results), indent=2) + "\n")
    print(report.markdown(results))
    return int(any(not result.counts.equal for name, result in results.items() if name.startswith("pysync")))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare AWS's two sync agents and pysync.")
    parser.add_argument("--v1", type=Path, help="checkout of the first agent's source, or a directory with its jars")
    parser.add_argument("--v2", type=Path, help="checkout of the second agent's source, or a directory with its jars")
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--statements", type=int, default=STATEMENTS)
    parser.add_argument("--pause", type=float, default=_PAUSE_SECONDS, help="seconds between two statements")
    parser.add_argument("--only", action="append", help="a contender by its name; may be repeated")
    return parser.parse_args()


def _contenders(arguments: argparse.Namespace) -> dict[str, Open]:
    found: dict[str, Open] = {"no listener": bare, "spool only": partial(pysync, "glue", with_sidecar=False)}
    for name, opener, directory in (("v1", agents.v1, arguments.v1), ("v2", agents.v2, arguments.v2)):
        if directory is not None:
            build = _build(name, directory.absolute())
            print(f"{name}: {build.version}")
            found[name] = partial(opener, build)
    found["pysync glue"] = partial(pysync, "glue")
    found["pysync athena"] = partial(pysync, "athena")
    return {name: opened for name, opened in found.items() if not arguments.only or name in arguments.only}


def _build(name: str, directory: Path) -> agents.Build:
    """The agent in a directory; if that is a checkout of its source, it is built first."""
    if not (directory / "pom.xml").exists():
        return agents.Build.of(directory)
    print(f"{name}: Maven builds {directory}", file=sys.stderr)
    return agents.Build.of(building.built(directory, (OUTPUT / "built" / name).absolute()), directory)


def _run(name: str, opened: Open, stream: Sequence[Statement], pause: float) -> contest.Result:
    def say(what: str) -> None:
        print(f"{name}: {what}", file=sys.stderr)

    say("starts")
    directory = (OUTPUT / name.replace(" ", "-")).absolute()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with opened(directory) as contender:
        return contest.run(contender, stream, pause, say)


if __name__ == "__main__":
    sys.exit(main())
