"""`python -m release STEP`: one step of a release. The Makefile has the order."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import Distribution
from pathlib import Path

from release.audit import write_audit
from release.finish import finish
from release.licences import as_json, as_text, assert_allowed, licences
from release.pins import write_pins
from release.project import REQUIREMENTS, ReleaseError, artifact, packages_of
from release.sbom import write_sbom
from release.schema import assert_valid
from release.versions import assert_releasable

JARS = (Path("build") / "pysync-listener.jar", Path("build") / "pysync-copy.jar")


def main() -> int:
    """Run one step and return the exit code."""
    try:
        _do(_arguments())
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="release", description="One step of a release of pysync.")
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("pins", help="write .ci/constraints.txt and .ci/requirements.txt")
    steps.add_parser("check", help="check that this can be released: versions, changelog, git")
    for name in ("sbom", "licences"):
        step = steps.add_parser(name, help=f"write the {name} of the packages in an environment")
        step.add_argument("python", type=Path, help="the interpreter of the environment")
    steps.add_parser("audit", help="look up known vulnerabilities")
    steps.add_parser("finish", help="write checksums").add_argument("suites", nargs="*", help="the suites that passed")
    # Unknown options are for pip-audit.
    arguments, more = parser.parse_known_args()
    if more and arguments.step != "audit":
        parser.error(f"unknown arguments: {' '.join(more)}")
    arguments.more = more
    return arguments


def _do(arguments: argparse.Namespace) -> None:
    if arguments.step == "pins":
        write_pins()
    elif arguments.step == "check":
        print(f"pysync {assert_releasable()}")
    elif arguments.step == "sbom":
        told = write_sbom(arguments.python, JARS)
        assert_valid(artifact(".cdx.json"))
        print(told)
    elif arguments.step == "licences":
        print(write_licences(packages_of(arguments.python)))
    elif arguments.step == "audit":
        print(write_audit(REQUIREMENTS.read_text(encoding="utf-8"), arguments.more))
    else:
        print(finish(JARS, arguments.suites), end="")


def write_licences(packages: Sequence[Distribution]) -> str:
    """Write both lists and return the one for people. Raises ReleaseError if a licence is not allowed."""
    found = licences(packages)
    assert_allowed(found)
    for ending, text in (("-licences.txt", as_text(found)), ("-licences.json", as_json(found))):
        file = artifact(ending)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return as_text(found)


if __name__ == "__main__":
    sys.exit(main())
