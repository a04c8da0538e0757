"""The audit: looks up known vulnerabilities of the packages that users install, for each supported Python.

pip-audit asks a service, by default PyPI's. If the service does not know a package, that is an error here: pip-audit
itself would end with exit code 0 and "No known vulnerabilities found".
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from release.project import ReleaseError, artifact

_HELP = (
    "An index mirror may not have this data. Name another service: make audit ARGS='-s osv', or another address of it: "
    "ARGS='-s osv --osv-url URL' (pip-audit --help). With make release write AUDIT instead of ARGS."
)


def write_audit(requirements: str, options: Sequence[str]) -> str:
    """Audit the pins of requirements.txt, write the report, and return the result in one line.

    Raises ReleaseError if a vulnerability is known, or if a package could not be audited.
    """
    file = artifact("-audit.json")
    file.unlink(missing_ok=True)
    found = [told for pins in batches(requirements) for told in _asked(pins, options)]
    assert_clean(found)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return f"{file.name}: {len(found)} packages audited, no vulnerability is known"


def batches(requirements: str) -> Iterator[list[str]]:
    """Yield lists of `name==version`. Each has a package at most once, as pip-audit requires."""
    lines = [line.removesuffix("\\").strip() for line in requirements.splitlines() if "==" in line]
    pins: dict[str, list[str]] = {}
    for it in map(Requirement, lines):
        pins.setdefault(it.name, []).append(f"{it.name}{it.specifier}")
    for at in range(max(map(len, pins.values()), default=0)):
        yield [versions[at] for versions in pins.values() if at < len(versions)]


def assert_clean(found: Sequence[dict[str, Any]]) -> None:
    """Raise ReleaseError, with all vulnerabilities, or with packages that were not audited."""
    skipped = [it for it in found if "skip_reason" in it]
    known = [_told(it, vulnerability) for it in found for vulnerability in it.get("vulns", ())]
    if known:
        raise ReleaseError("\n".join(["vulnerabilities are known:", *known]))
    if skipped or not found:
        reasons = "".join(f"\n  {it['skip_reason']}" for it in skipped[:3])
        more = f"\n  … and {len(skipped) - 3} more" if len(skipped) > 3 else ""
        raise ReleaseError(f"{len(skipped)} of {len(found)} packages could not be audited:{reasons}{more}\n{_HELP}")


def _told(package: dict[str, Any], vulnerability: dict[str, Any]) -> str:
    fixes = ", ".join(vulnerability["fix_versions"]) or "no version"
    return f"{package['name']} {package['version']}: {vulnerability['id']}, fixed in {fixes}"


def _asked(pins: Sequence[str], options: Sequence[str]) -> list[dict[str, Any]]:
    tool = Path(sys.executable).with_name("pip-audit")
    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "requirements.txt"
        file.write_text("\n".join(pins), encoding="utf-8")
        words = [
            "-r",
            str(file),
            "--no-deps",
            "--disable-pip",
            "--format",
            "json",
            "--progress-spinner",
            "off",
            *options,
        ]
        done = subprocess.run([str(tool), *words], capture_output=True, text=True, check=False)
    try:
        told: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"pip-audit ended with {done.returncode}"])[-1]
        raise ReleaseError(f"not audited: the service does not answer: {last}\n{_HELP}") from None
    return told
