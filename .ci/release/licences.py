"""The licences of the packages that users install. A licence that is not in ALLOWED stops the release.

A package declares its licence as an SPDX expression, by classifiers, or in free text. The first of these is used;
`_SPDX` translates classifiers and free text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution

from packaging.utils import canonicalize_name

from release.project import ReleaseError

ALLOWED = frozenset({"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"})
"""All are permissive, except MPL-2.0: changed files of it have to be published. `BSD` stands for any BSD licence."""
_SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


@dataclass(frozen=True, slots=True)
class Licence:
    """The licence of one package. `texts` are the names of its licence files."""

    name: str
    version: str
    licence: str
    texts: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        """Whether pysync may install it. All of `A AND B` are needed, one of `A OR B`; with parentheses all of them."""
        ways = self.licence.split(" OR ") if "(" not in self.licence else [self.licence.replace(" OR ", " AND ")]
        return any(all(it.strip("() ") in ALLOWED for it in way.split(" AND ")) for way in ways)


def licences(packages: Iterable[Distribution]) -> list[Licence]:
    """Return the licences of these packages, sorted by name."""
    found = [Licence(canonicalize_name(it.metadata["Name"]), it.version, _licence(it), _texts(it)) for it in packages]
    return sorted(found, key=lambda it: it.name)


def refused(found: Iterable[Licence]) -> list[str]:
    """Return a line for each package whose licence is not allowed."""
    return [f"{it.name} {it.version}: {it.licence or 'declares no licence'}" for it in found if not it.allowed]


def assert_allowed(found: Sequence[Licence]) -> None:
    """Raise ReleaseError, with every package whose licence is not allowed."""
    wrong = refused(found)
    if wrong:
        raise ReleaseError("\n".join(["licences that are not in ALLOWED of .ci/release/licences.py:", *wrong]))


def as_text(found: Sequence[Licence]) -> str:
    """Return a table for people."""
    rows = [
        ("package", "version", "licence", "licence files"),
        *((it.name, it.version, it.licence, _files(it)) for it in found),
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def as_json(found: Sequence[Licence]) -> str:
    """Return the same as JSON."""
    return json.dumps([asdict(it) for it in found], indent=1) + "\n"


def _files(licence: Licence) -> str:
    return " ".join(licence.texts) or "none"


def _licence(package: Distribution) -> str:
    said = package.metadata
    kinds = [it.rpartition(" :: ")[2] for it in said.get_all("Classifier") or () if it.startswith("License :: ")]
    text = said["License"].strip() if "License" in said else ""
    if "License-Expression" in said:
        return said["License-Expression"]
    # Several classifiers may mean "all" or "any"; "all" is the safe reading.
    return " AND ".join(_SPDX.get(it, it) for it in kinds) or _SPDX.get(text, text.partition("\n")[0])


def _texts(package: Distribution) -> tuple[str, ...]:
    inside = [file for file in package.files or () if ".dist-info" in str(file)]
    return tuple(
        sorted({file.name for file in inside if re.match(r"(LICEN[CS]E|COPYING|NOTICE)", file.name, re.IGNORECASE)})
    )
