"""Validates an SBOM against the schema of CycloneDX."""

from __future__ import annotations

from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from release.project import ReleaseError
from release.sbom import SPEC


def assert_valid(file: Path) -> None:
    """Raise ReleaseError, and remove the file, if the SBOM is not valid."""
    error = JsonStrictValidator(SchemaVersion.from_version(SPEC)).validate_str(file.read_text(encoding="utf-8"))
    if error is not None:
        file.unlink()
        raise ReleaseError(f"the SBOM does not match the schema of CycloneDX {SPEC}: {error}")
