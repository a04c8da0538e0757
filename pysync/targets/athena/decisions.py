"""Decision: which statements bring an object to what it should be, and what is left over for the Glue API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pysync.model.definition import STATISTICS, WRITTEN_PARAMETERS_KEY
from pysync.model.mark import MARK_KEYS, Mark
from pysync.targets.athena.quoting import InexpressibleError

# What the DDL engine writes by itself, whatever the statement says.
_ENGINES = frozenset({"transient_lastDdlTime", "last_modified_by", "last_modified_time", "EXTERNAL"})
_MARKS = MARK_KEYS | {WRITTEN_PARAMETERS_KEY}


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that no statement can express. `harmless`: readers of the data do not miss it."""

    description: str
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """First the statements, in order, then the leftovers by the Glue API. With neither there is nothing to do."""

    statements: tuple[str, ...] = ()
    leftovers: tuple[Leftover, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to do."""
        return not self.statements and not self.leftovers

    @property
    def needed(self) -> list[str]:
        """The leftovers that cannot be done without."""
        return [leftover.description for leftover in self.leftovers if not leftover.harmless]


NOTHING = Decision()
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Properties:
    """How the properties of an object differ from those that it should have, but for the marks."""

    changed: Mapping[str, str]
    removed: frozenset[str]
    counted: bool
    """Whether the statistics differ, which a statement cannot set."""

    @classmethod
    def between(cls, wanted: Mapping[str, str] | None, existing: Mapping[str, str] | None) -> Properties:
        """The difference. Statistics that nobody asked for are the target's own."""
        new, old = _plain(wanted), _plain(existing)
        changed = {key: value for key, value in new.items() if old.get(key) != value and key not in STATISTICS}
        counted = any(old.get(key) != value for key, value in new.items() if key in STATISTICS)
        return cls(changed, frozenset(old.keys() - new.keys() - STATISTICS), counted)

    def to_set(self, wanted: Mapping[str, str] | None) -> dict[str, str]:
        """What a statement sets: what changed, and the marks.

        While something is to be removed, the record of what pysync wrote stays: it says that it may go.
        """
        postponed = {WRITTEN_PARAMETERS_KEY} if self.removed else set[str]()
        return {**self.changed, **{key: value for key, value in marks(wanted).items() if key not in postponed}}

    def leftovers(self) -> list[Leftover]:
        """The part that no statement can express."""
        removals = [Leftover(f"the removal of properties ({some_of(self.removed)})")] if self.removed else []
        return [*removals, Leftover("statistics", harmless=True)] if self.counted else removals


def create_properties(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The properties that a CREATE sets: with the marks, without statistics and what the engine writes itself."""
    return {key: value for key, value in (parameters or {}).items() if key not in _ENGINES | STATISTICS}


def marks(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The mark's properties among these."""
    return {key: value for key, value in (parameters or {}).items() if key in _MARKS}


def has_mark_of(wanted: Mapping[str, str] | None, existing: Mapping[str, str] | None) -> bool:
    """Whether the object has the mark of the same source, object and creation, whichever event wrote it."""
    wanted_mark, existing_mark = Mark.read(wanted), Mark.read(existing)
    if wanted_mark is None or existing_mark is None:
        return wanted_mark is None
    return (
        wanted_mark.source == existing_mark.source
        and wanted_mark.created in {0, existing_mark.created}
        and wanted_mark.object in {"", existing_mark.object}
    )


def decision_from(*builders: Callable[[], Iterable[str]]) -> Decision:
    """The statements of all builders. A builder that cannot express its part gives a leftover with the reason."""
    statements: list[str] = []
    leftovers: list[Leftover] = []
    for build in builders:
        try:
            statements += build()
        except InexpressibleError as error:
            leftovers.append(Leftover(str(error)))
    return Decision(tuple(statements), tuple(leftovers))


def _plain(parameters: Mapping[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (parameters or {}).items() if key not in _ENGINES | _MARKS}


def some_of(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    ordered = sorted(names)
    return ", ".join(ordered[:5]) + (f" and {len(ordered) - 5} more" if len(ordered) > 5 else "")
