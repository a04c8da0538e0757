"""The manifest: what a dump is, of which files it consists, what is in them, and the scope of it. As canonical JSON.

Any changed byte of it shows: the file must be exactly the canonical form of its own content, checksum included.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pysync.base.text import shortened, shown, size
from pysync.dump.record import DumpDamaged
from pysync.replay.window.policy import Policy
from pysync.resync.wanted import RefreshScope
from pysync.targets.settings import TableType, TargetSettings

VERSION = 1
_MOST_BYTES = 64 * 1024 * 1024  # hundreds of thousands of files


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Within(_Value):
    """What a dump takes, as in a target's settings. A dump with several takes what any of them takes."""

    policy: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    include_types: tuple[TableType, ...] = ()
    exclude_parameters: tuple[str, ...] = ()


class DumpCounts(_Value):
    """How much there is of each, complete objects only.

    `data_bytes` is the size of the data files in it; `missing` counts directories that are not at the source, and
    `not_taken` those that are not below the prefixes of the dump.
    """

    databases: int = 0
    tables: int = 0
    partitions: int = 0
    functions: int = 0
    constraints: int = 0
    files: int = 0
    data_bytes: int = 0
    missing: int = 0
    not_taken: int = 0

    def plus(self, other: DumpCounts) -> DumpCounts:
        """The sum of both."""
        return DumpCounts(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})


class Piece(_Value):
    """One file: its name in the directory, and what must be in it."""

    name: str = Field(pattern=r"^[a-z]+-[0-9]{6}\.[a-z]+$")
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    counts: DumpCounts = DumpCounts()


class Manifest(_Value):
    """A dump. Times are seconds since 1970 at the machine that dumped.

    `since` is the notification after which it begins: it holds only what was touched after that; None: everything.
    `upto` is the notification whose effects it holds for sure; None where the source has no notification log.
    `changed` is how many notifications about what is dumped came while it was written: if 0, it has the source as it
    was at one moment. None where that is not known.
    `files`: whether data files are listed, or are in the dump. With data files, `data_under` are the prefixes of
    locations of the source below which they were taken.
    `replaces` is the scope in place of which `within` comes; empty: it stays as it was.
    """

    version: int = Field(default=VERSION, ge=VERSION, le=VERSION)
    id: str
    source: str
    within: tuple[Within, ...]
    replaces: tuple[Within, ...] = ()
    since: int | None = None
    upto: int | None = None
    changed: int | None = None
    began_at: float
    finished_at: float | None = None
    files: Literal["copy", "list", "none"] = "none"
    data_under: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()

    @property
    def counts(self) -> DumpCounts:
        """The sum of all pieces."""
        total = DumpCounts()
        for piece in self.pieces:
            total = total.plus(piece.counts)
        return total

    def to_bytes(self) -> bytes:
        """The bytes of `manifest.json`."""
        values = self.model_dump(mode="json")
        return _canonical({**values, "sha256": hashlib.sha256(_canonical(values)).hexdigest()})


def read_manifest(file: BinaryIO) -> Manifest:
    """The manifest in a file. Raises DumpDamaged, also for a version that is not known."""
    data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise DumpDamaged(f"it has more than {size(_MOST_BYTES)}")
    try:
        values: dict[str, Any] = json.loads(data)
        version = values.get("version")
        values.pop("sha256", None)
        manifest = Manifest.model_validate(values)
    except (ValueError, AttributeError, RecursionError) as error:
        known = not isinstance(error, ValidationError) or version == VERSION
        raise DumpDamaged(
            "it is not a valid manifest"
            if known
            else f"its version is {shortened(shown(version), 80)}, this pysync reads version {VERSION}",
            None if known else "upgrade pysync",
        ) from error
    if manifest.to_bytes() != data:
        raise DumpDamaged("its checksum is wrong")
    return manifest


def _canonical(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"


def scope_of(within: Sequence[Within]) -> RefreshScope:
    """The databases and tables that any of these takes. Raises UsageError for a policy that cannot be read."""
    policies = list(map(policy_of, within))
    return RefreshScope(
        database=lambda name: any(policy.takes_database(name) for policy in policies),
        table=lambda name: any(policy.takes_table(name) for policy in policies),
        definition=lambda name, table: any(
            policy.takes_table(name) and policy.traits.rule_against(table) is None for policy in policies
        ),
    )


def policy_of(within: Within) -> Policy:
    """The policy of a target that takes this. Raises UsageError for one that cannot be read."""
    return Policy.of(TargetSettings(name="dump", kind="dump", **within.model_dump()))


def needs_definitions(within: Sequence[Within]) -> bool:
    """Whether names alone do not say what is taken."""
    return any(it.include_types or it.exclude_parameters for it in within)


def are_same(one: Sequence[Within], other: Sequence[Within]) -> bool:
    """Whether two scopes take the same, though their texts may differ in form."""
    return set(map(_key, one)) == set(map(_key, other))


def _key(within: Within) -> tuple[object, ...]:
    policy = policy_of(within)
    traits = frozenset(within.include_types), frozenset(within.exclude_parameters)
    return frozenset(policy.include), frozenset(policy.exclude), *traits
