"""The end of a release: check dist/, write pins and checksums, and print the next steps."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from release.project import DIST, REQUIREMENTS, ReleaseError, artifact, version

SUMS = "SHA256SUMS"
_IN_WHEEL = "pysync/jars"
_ENDINGS = ("-py3-none-any.whl", ".tar.gz", ".cdx.json", "-licences.json", "-licences.txt", "-audit.json")
SUITES = ("quick", "servers", "athena", "spark", "crash", "browser", "versions", "kerberos")


def finish(jars: Sequence[Path], suites: Sequence[str]) -> str:
    """Write the pins with our own hashes, and the checksums. Returns the checksums and the next steps."""
    _assert_whole(jars)
    packages = [artifact(ending) for ending in _ENDINGS[:2]]
    own = " \\\n".join([f"pysync=={version()}", *(f"    --hash=sha256:{sha256(file)}" for file in packages)])
    pins = artifact("-requirements.txt")
    pins.write_text(f"{REQUIREMENTS.read_text(encoding='utf-8')}{own}\n", encoding="utf-8")
    files = sorted(file for file in DIST.iterdir() if file.name != SUMS)
    sums = "".join(f"{sha256(file)}  {file.name}\n" for file in files)
    (DIST / SUMS).write_text(sums, encoding="utf-8")
    return f"{sums}\n{_next(packages, suites)}"


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _assert_whole(jars: Sequence[Path]) -> None:
    """Raise ReleaseError if dist/ lacks a file or has another one, or if the SBOM describes other jars."""
    wanted = {artifact(ending).name for ending in _ENDINGS}
    there = {file.name for file in DIST.iterdir()} if DIST.is_dir() else set()
    strange = there - wanted - {SUMS, artifact("-requirements.txt").name}
    wrong = [f"dist/{name} is missing" for name in sorted(wanted - there)]
    wrong += [f"dist/{name} does not belong to this release" for name in sorted(strange)]
    if not wrong:
        with zipfile.ZipFile(artifact(_ENDINGS[0])) as wheel:
            differing = [jar for jar in jars if wheel.read(f"{_IN_WHEEL}/{jar.name}") != jar.read_bytes()]
        wrong += [f"the jar in the wheel is not {jar}, which the SBOM describes" for jar in differing]
    if wrong:
        raise ReleaseError("\n".join(wrong))


def _next(packages: Sequence[Path], suites: Sequence[str]) -> str:
    left_out = [it for it in SUITES if it not in suites]
    tests = f"tests that passed: {', '.join(suites) or 'none'}"
    if left_out:
        tests += f"\nNOT RUN: {', '.join(left_out)} (run `make release` without RELEASE_SUITES=…)"
    pins = artifact("-requirements.txt")
    names = " ".join(f"dist/{file.name}" for file in packages)
    return f"""{tests}
Nothing is published. Next steps:
  git tag --sign v{version()}
  gpg --armor --detach-sign dist/{SUMS}
  twine upload {names}
  publish everything else in dist/ beside them
To install exactly this release, with each package checked by its hash (pip 26.1 or newer):
  pip install --require-hashes --find-links dist -c dist/{pins.name} 'pysync[aws,web]=={version()}'
"""
