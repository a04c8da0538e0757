"""Whether an SBOM is what CycloneDX's schema says."""

from __future__ import annotations

from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from release.project import ReleaseError
from release.sbom import SPEC


def assert_valid(file: Path) -> None:
    """ReleaseError, and the file is removed, if it does not fit."""
    error = JsonStrictValidator(SchemaVersion.from_version(SPEC)).validate_str(file.read_text(encoding="utf-8"))
    if error is not None:
        file.unlink()
        raise ReleaseError(f"the SBOM does not fit the schema of CycloneDX {SPEC}: {error}")
