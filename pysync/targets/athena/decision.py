"""Decision: which statements bring an object to what it should be, and what is left over for the Glue API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pysync.model.definition import STATISTICS, WRITTEN_PARAMETERS_KEY
from pysync.model.mark import MARK_KEYS, Mark
from pysync.targets.athena.quoting import UnsayableError

# What the DDL engine writes by itself, whatever it is told.
_ENGINES = frozenset({"transient_lastDdlTime", "last_modified_by", "last_modified_time", "EXTERNAL"})
_MARKS = MARK_KEYS | {WRITTEN_PARAMETERS_KEY}


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that no statement can say. `harmless`: readers of the data do not miss it."""

    what: str
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
        return [leftover.what for leftover in self.leftovers if not leftover.harmless]


NOTHING = Decision()


@dataclass(frozen=True, slots=True)
class Properties:
    """How the properties of an object differ from those that it should have, but for the marks."""

    changed: Mapping[str, str]
    removed: frozenset[str]
    counted: bool
    """Whether the statistics differ, which a statement cannot set."""

    @classmethod
    def between(cls, wanted: Mapping[str, str] | None, there: Mapping[str, str] | None) -> Properties:
        """The difference. Statistics that nobody asked for are the target's own."""
        mine, its = _plain(wanted), _plain(there)
        changed = {key: value for key, value in mine.items() if its.get(key) != value and key not in STATISTICS}
        counted = any(its.get(key) != value for key, value in mine.items() if key in STATISTICS)
        return cls(changed, frozenset(its.keys() - mine.keys() - STATISTICS), counted)

    def to_set(self, wanted: Mapping[str, str] | None) -> dict[str, str]:
        """What a statement sets: what changed, and the marks.

        While something is to be removed, the record of what pysync wrote stays: it says that it may go.
        """
        kept = {WRITTEN_PARAMETERS_KEY} if self.removed else set[str]()
        return {**self.changed, **{key: value for key, value in marks(wanted).items() if key not in kept}}

    def leftovers(self) -> list[Leftover]:
        """The part that no statement can say."""
        found = [Leftover(f"the removal of properties ({some_of(self.removed)})")] if self.removed else []
        return [*found, Leftover("statistics", harmless=True)] if self.counted else found


def sayable(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The properties that a CREATE says: with the marks, without statistics and what the engine writes itself."""
    return {key: value for key, value in (parameters or {}).items() if key not in _ENGINES | STATISTICS}


def marks(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The mark's properties among these."""
    return {key: value for key, value in (parameters or {}).items() if key in _MARKS}


def has_mark_of(wanted: Mapping[str, str] | None, there: Mapping[str, str] | None) -> bool:
    """Whether the object has the mark of the same source, object and creation, whichever event wrote it."""
    mine, its = Mark.read(wanted), Mark.read(there)
    if mine is None or its is None:
        return mine is None
    return mine.source == its.source and mine.created in {0, its.created} and mine.object in {"", its.object}


def said(*builders: Callable[[], Iterable[str]]) -> Decision:
    """The statements of all builders. A builder that cannot say its part gives a leftover with the reason."""
    statements: list[str] = []
    leftovers: list[Leftover] = []
    for build in builders:
        try:
            statements += build()
        except UnsayableError as error:
            leftovers.append(Leftover(str(error)))
    return Decision(tuple(statements), tuple(leftovers))


def _plain(parameters: Mapping[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (parameters or {}).items() if key not in _ENGINES | _MARKS}


def some_of(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    found = sorted(names)
    return ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
