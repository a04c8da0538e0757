"""The Hive of the source: what the rows of a view depend on beside its text and its tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

Release = Literal["2.3", "3.1", "4"]
RELEASES: tuple[Release, ...] = get_args(Release)
"""The releases of Hive whose views can be translated by the rules of that release."""
Known = Literal[Release, "unknown"]
"""What pysync.toml may say: also that nobody knows, as where several releases run the queries."""

_RELEASE = re.compile(r"(2\.3|3\.1|4)(?![0-9])")


def release_of(version: str) -> Release | None:
    """The release that a version belongs to, such as 2.3.10, 3.1.3000.7.1.9.0-387 or 4.0.1; None for any other."""
    match = _RELEASE.match(version)
    return match[1] if match else None  # type: ignore[return-value]


def _not_found() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class SourceHive:
    """`version` is what pysync.toml says; without it `found_version` gives the version that the source reports.

    `time_zone` is that of the sessions that run views, if pysync.toml says it.
    `found_version` may raise PysyncError, and so do the methods then.
    """

    version: Known | None = None
    time_zone: str | None = None
    found_version: Callable[[], str | None] = field(default=_not_found, compare=False)

    def release(self) -> Release | None:
        """By which rules views are read now; None if that is not known."""
        if self.version is None:
            return release_of(self.found_version() or "")
        return None if self.version == "unknown" else self.version

    def unexpected(self) -> str | None:
        """Why the release is not known, in words, if pysync.toml does not say that it is not."""
        if self.version is not None or self.release() is not None:
            return None
        found = self.found_version()
        return (
            f"the source's Hive is {found}, whose views are not known"
            if found
            else "the version of the source's Hive is not known"
        )

    def as_json(self) -> str:
        """All that views are read by now, as a JSON object. Views that were read by another are to be read again."""
        known = {"hive_version": self.release(), "hive_time_zone": self.time_zone}
        return json.dumps({key: value for key, value in known.items() if value is not None})
