"""The WITH clause of REPL commands: which of Hive's properties mean something here, and what. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pysync.base.errors import UsageError
from pysync.base.text import quoted
from pysync.base.validation import path_of, seconds
from pysync.dump.manifest import Within
from pysync.targets.settings import TableType

ROOT = "hive.repl.rootdir"
KEEP = "hive.repl.dumpdir.ttl"
METADATA_ONLY = "hive.repl.dump.metadata.only"
EXTERNAL = "hive.repl.include.external.tables"
ACID = "hive.repl.dump.include.acid.tables"
NEW_EXTERNAL = "hive.repl.bootstrap.external.tables"
NEW_ACID = "hive.repl.bootstrap.acid.tables"

_OF_DUMP = frozenset({ROOT, KEEP, METADATA_ONLY, EXTERNAL, ACID, NEW_EXTERNAL, NEW_ACID})
_OF_LOAD = frozenset({METADATA_ONLY})
_NOT_EXTERNAL: tuple[TableType, ...] = ("MANAGED_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW")
_TRANSACTIONAL = ("transactional=true", "transactional=TRUE")


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """What WITH says of a dump; None: nothing. `keep` is in seconds. `ignored` are the keys without a meaning here.

    `external` and `acid` are whether external and transactional tables are taken, and `new_external` and `new_acid`
    whether they were not taken by the dumps before.
    """

    root: Path | None = None
    keep: int | None = None
    files: Literal["copy", "none"] | None = None
    external: bool = True
    acid: bool = True
    new_external: bool = False
    new_acid: bool = False
    ignored: tuple[str, ...] = ()

    def within(self, policy: str) -> Within:
        """The scope of a dump of that policy."""
        return _within(policy, external=self.external, acid=self.acid)

    def former(self, policy: str, replaces: str | None) -> Within | None:
        """The scope of the dumps before, in place of which `within` comes; None if it is the same."""
        if replaces is None and not (self.new_external or self.new_acid):
            return None
        external, acid = self.external and not self.new_external, self.acid and not self.new_acid
        return _within(replaces or policy, external=external, acid=acid)


def dump_options(settings: Mapping[str, str]) -> DumpOptions:
    """What WITH says of a dump. Raises UsageError for a value that cannot be read, or two that contradict."""
    values = {key.strip().lower(): value for key, value in settings.items()}
    options = DumpOptions(
        root=_path(values),
        keep=_time(values),
        files=_files_option(values),
        external=_flag(values, EXTERNAL, True),
        acid=_flag(values, ACID, True),
        new_external=_flag(values, NEW_EXTERNAL, False),
        new_acid=_flag(values, NEW_ACID, False),
        ignored=_ignored(settings, _OF_DUMP),
    )
    for is_new, is_taken, key, other in (
        (options.new_external, options.external, NEW_EXTERNAL, EXTERNAL),
        (options.new_acid, options.acid, NEW_ACID, ACID),
    ):
        if is_new and not is_taken:
            raise UsageError(f"WITH: {key} = 'true' contradicts {other} = 'false'", "leave one of them out")
    return options


def load_options(settings: Mapping[str, str]) -> tuple[Literal["copy", "none"], tuple[str, ...]]:
    """Whether a load brings data files, and the keys without a meaning. Raises as `dump_options`."""
    values = {key.strip().lower(): value for key, value in settings.items()}
    return _files_option(values) or "copy", _ignored(settings, _OF_LOAD)


def status_options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that have no meaning for REPL STATUS: all of them."""
    return _ignored(settings, frozenset())


def _within(policy: str, *, external: bool, acid: bool) -> Within:
    types = () if external else _NOT_EXTERNAL
    return Within(policy=policy, include_types=types, exclude_parameters=() if acid else _TRANSACTIONAL)


def _ignored(settings: Mapping[str, str], known: frozenset[str]) -> tuple[str, ...]:
    return tuple(key for key in settings if key.strip().lower() not in known)


def _flag(values: Mapping[str, str], key: str, default: bool) -> bool:
    value = values.get(key)
    if value is None:
        return default
    if value.strip().lower() not in {"true", "false"}:
        raise UsageError(f"WITH: {key} = {quoted(value)} is not a boolean", "write 'true' or 'false'")
    return value.strip().lower() == "true"


def _files_option(values: Mapping[str, str]) -> Literal["copy", "none"] | None:
    if METADATA_ONLY not in values:
        return None
    return "none" if _flag(values, METADATA_ONLY, False) else "copy"


def _time(values: Mapping[str, str]) -> int | None:
    value = values.get(KEEP)
    if value is None:
        return None
    try:
        # Hive counts days where no unit is given.
        span = seconds(f"{value}d" if value.isdigit() else value)
    except ValueError as error:
        raise UsageError(f"WITH: {KEEP}: {error}") from error
    if not span:
        raise UsageError(f"WITH: {KEEP} = {quoted(value)} is not a time", "write '12h' or '7d'")
    return span


def _path(values: Mapping[str, str]) -> Path | None:
    return local_path(values[ROOT], f"WITH: {ROOT}") if ROOT in values else None


def local_path(text: str, what: str) -> Path:
    """A directory of this machine, as a path or a file URI. Raises UsageError for one elsewhere; `what` names it."""
    scheme, is_uri, rest = text.partition(":/")
    if is_uri and "/" not in scheme:
        if scheme.lower() != "file" or (rest.startswith("/") and not rest.startswith("//")):
            raise UsageError(
                f"{what}: {quoted(text)} is not a directory of this machine", "write a path; mount what is elsewhere"
            )
        text = f"/{rest.lstrip('/')}"
    try:
        return path_of(text)
    except ValueError as error:
        raise UsageError(f"{what}: {error}") from error
