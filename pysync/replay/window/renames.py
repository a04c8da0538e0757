"""Renames: the names that databases and tables have at a target, by exact entries and by patterns. Pure.

An exact entry wins over a pattern, and of patterns the one with the most literal text wins. A pattern has one `*` on
both sides, which carries its text over, so no pattern brings two names of the source to one name. Two entries may still
do so, and so may an entry and a name that is not renamed. What is certain to meet is refused when the settings are
read. The rest is found when it is written: see `NameMapping.order_key` and pysync.model.mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations

from pysync.base.errors import UsageError
from pysync.model.catalogs import catalog_of
from pysync.model.names import TableName, normalized

Parts = tuple[str, ...]
"""A name by its parts: a database, or a database and a table."""

_ANY = "\0"  # stands for whatever a `*` carries; no name has it


@dataclass(frozen=True, slots=True)
class Glob:
    """One name, or all names with a text before and one after a `*`; `after` is None without a `*`.

    A `*` does not stand for a catalog: `*` alone matches no database of another catalog than `hive`.
    """

    before: str
    after: str | None = None

    @classmethod
    def of(cls, text: str) -> Glob:
        """From the settings: at most one `*`."""
        before, star, after = normalized(text).partition("*")
        return cls(before, after if star else None)

    def carried(self, name: str) -> str | None:
        """What the `*` stands for in a name ("" without a `*`); None if the name does not match."""
        if self.after is None:
            return "" if name == self.before else None
        end = len(name) - len(self.after)
        fits = end >= len(self.before) and name.startswith(self.before) and name.endswith(self.after)
        return name[len(self.before) : end] if fits and catalog_of(name) == catalog_of(self.before) else None

    def filled(self, carried: str) -> str:
        """The name with this text in place of the `*`."""
        return self.before if self.after is None else f"{self.before}{carried}{self.after}"

    def common(self, other: Glob) -> str | None:
        """A name that matches both, with a placeholder in place of any text; None if no name does."""
        if self.after is None or other.after is None:
            exact, glob = (self, other) if self.after is None else (other, self)
            return exact.before if glob.carried(exact.before) is not None else None
        before, after = max(self.before, other.before, key=len), max(self.after, other.after, key=len)
        text = f"{before}{_ANY}{after}"
        return None if None in (self.carried(text), other.carried(text)) else text


@dataclass(frozen=True, slots=True)
class RenameEntry:
    """One entry of `databases` or `tables`; `rule` is the entry as it is in pysync.toml."""

    old: tuple[Glob, ...]
    new: tuple[Glob, ...]
    rule: str = field(default="", compare=False)

    @property
    def is_exact(self) -> bool:
        """Whether it is about one name only."""
        return all(it.after is None for it in self.old)

    @property
    def rank(self) -> tuple[int, int]:
        """Which of several patterns for one name wins: the one with more literal text, then with fewer `*`."""
        literal = sum(len(it.before) + len(it.after or "") for it in self.old)
        return literal, -sum(it.after is not None for it in self.old)

    def map(self, names: Parts) -> Parts | None:
        """The name at the target; None for a name that does not match, or of which nothing would be left."""
        return _moved(names, self.old, self.new)

    def back(self, names: Parts) -> Parts | None:
        """The name at the source which this entry alone would bring to that name of the target."""
        return _moved(names, self.new, self.old)


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of one setting: exact ones by their names, patterns with the most specific first."""

    exact: Mapping[Parts, RenameEntry] = field(default_factory=dict)
    patterns: tuple[RenameEntry, ...] = ()

    @classmethod
    def of(cls, setting: str, entries: Mapping[str, str], parts: int) -> Entries:
        """From the setting of that name, whose names have so many parts. Raises UsageError for an unreadable entry."""
        renames = [_rename(setting, old, new, parts) for old, new in entries.items()]
        exact = {tuple(it.before for it in rename.old): rename for rename in renames if rename.is_exact}
        patterns = sorted((it for it in renames if not it.is_exact), key=lambda it: it.rank, reverse=True)
        return cls(exact, tuple(patterns))

    def check(self, *, merges: bool) -> None:
        """Raise UsageError for two patterns of one rank that fit one name, and for entries that bring two names to one.

        With `merges` two exact entries may do so.
        """
        for one, other in combinations(self.patterns, 2):
            both = _common(one.old, other.old)
            if one.rank == other.rank and both is not None:
                raise UsageError(
                    f"{one.rule!r} and {other.rule!r} both fit {_shown(both)}, and neither is more specific",
                    "add an entry for what both fit, or change one of them",
                )
        for one, other in combinations(self.all(), 2):
            if not (merges and one.is_exact and other.is_exact):
                self._refuse_collision(one, other)

    def __bool__(self) -> bool:
        return bool(self.exact or self.patterns)

    def all(self) -> Iterator[RenameEntry]:
        """All entries, in the order in which they are asked."""
        yield from self.exact.values()
        yield from self.patterns

    def entry(self, names: Parts) -> RenameEntry | None:
        """The entry that renames a name of the source; None if it keeps its name."""
        return self.exact.get(names) or next((it for it in self.patterns if it.map(names) is not None), None)

    def map(self, names: Parts) -> Parts | None:
        """The name at the target; None if no entry renames it."""
        entry = self.entry(names)
        return None if entry is None else entry.map(names)

    def sources(self, names: Parts) -> list[Parts]:
        """The names of the source that entries bring to this name of the target, exact entries first."""
        sources = (old for it in self.all() if (old := it.back(names)) is not None and self.map(old) == names)
        return list(dict.fromkeys(sources))

    def _refuse_collision(self, one: RenameEntry, other: RenameEntry) -> None:
        met = _common(one.new, other.new)
        mine, others = (None, None) if met is None else (one.back(met), other.back(met))
        # An entry counts only for names that no other entry takes before it.
        if mine != others and self._wins(one, mine) and self._wins(other, others):
            raise UsageError(
                f"{one.rule!r} and {other.rule!r} would give {_shown(mine)} and {_shown(others)} one name: "
                f"{_shown(met)}",
                "give them different names; only databases that are named without '*' may be merged into one",
            )

    def _wins(self, rename: RenameEntry, names: Parts | None) -> bool:
        return names is not None and self.entry(names) is rename


@dataclass(frozen=True, slots=True)
class RenameSettings:
    """The renames of one policy, or of a target without policies."""

    databases: Entries = field(default_factory=Entries)
    tables: Entries = field(default_factory=Entries)

    @classmethod
    def of(cls, databases: Mapping[str, str], tables: Mapping[str, str]) -> RenameSettings:
        """From the settings. Raises UsageError that names an entry which cannot be read."""
        return cls(Entries.of("databases", databases, 1), Entries.of("tables", tables, 2))


def _first(_: TableName | str) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Renames:
    """The names at a target. An entry of `tables` wins over all entries of `databases`.

    `settings` are those of each policy, and last those for what no policy takes; `index` finds that of a name. The
    policy that decides about a database gives it its name, and with it all of its tables that no `tables` renames.
    """

    settings: tuple[RenameSettings, ...] = (RenameSettings(),)
    index: Callable[[TableName | str], int] = _first
    _are_any: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_are_any", any(it.databases or it.tables for it in self.settings))

    @classmethod
    def of(cls, databases: Mapping[str, str], tables: Mapping[str, str]) -> Renames:
        """Those of a target without policies. Raises UsageError that names an entry which cannot be read."""
        return cls((RenameSettings.of(databases, tables),))

    def check(self) -> None:
        """Raise UsageError that names entries which do not go together (see `Entries.check`).

        Not part of `of`: the entries of a former scope are only read backwards.
        """
        for it in self.settings:
            it.databases.check(merges=True)
            it.tables.check(merges=False)

    def __bool__(self) -> bool:
        return self._are_any

    def _of(self, name: TableName | str) -> RenameSettings:
        return self.settings[self.index(name)]

    def database(self, name: str) -> str:
        """The database's name at the target."""
        name = normalized(name)
        parts = self._of(name).databases.map((name,)) if self else None
        return name if parts is None else parts[0]

    def table(self, name: TableName) -> TableName:
        """The table's name at the target."""
        parts = self._of(name).tables.map((name.database, name.table)) if self else None
        return TableName(self.database(name.database), name.table) if parts is None else TableName(*parts)

    def rule(self, name: TableName | str) -> str | None:
        """The entry that renames a table, or a database, of the source; None if none does."""
        database = name if isinstance(name, str) else name.database
        entry = self._of(database).databases.entry((normalized(database),))
        if not isinstance(name, str):
            entry = self._of(name).tables.entry((name.database, name.table)) or entry
        return None if entry is None else entry.rule

    def source_databases(self, name: str) -> list[str]:
        """The names at the source of databases that have this name at the target, whether they exist or not.

        A name that is not renamed comes last.
        """
        sources = [old for it in self.settings for (old,) in it.databases.sources((name,))]
        return [it for it in dict.fromkeys((*sources, name)) if self.database(it) == name]

    def sources_of(self, name: TableName) -> list[TableName]:
        """The same for a table."""
        parts = (name.database, name.table)
        moved = [TableName(*old) for it in self.settings for old in it.tables.sources(parts)]
        within = [TableName(database, name.table) for database in self.source_databases(name.database)]
        return [it for it in dict.fromkeys((*moved, *within)) if self.table(it) == name]

    def _moving(self) -> Iterator[RenameEntry]:
        return chain.from_iterable(it.tables.all() for it in self.settings)

    def databases_of(self, sources: Iterable[str]) -> set[str]:
        """The target's databases that anything in these databases of the source is mapped to."""
        names = set(sources)
        moved = {new for name in names for it in self._moving() if (new := _database_of(it, name)) is not None}
        return {self.database(name) for name in names} | moved

    def leads(self, source: str, target: str) -> bool:
        """Whether anything in this database of the source may get a name in this database of the target."""
        return self.database(source) == target or any(_database_of(it, source) == target for it in self._moving())

    def moved_into(self, database: str) -> Iterator[tuple[str, str | None]]:
        """What `tables` brings into a database of the target: source database and table; None for a pattern."""
        for it in self._moving():
            carried = it.new[0].carried(database)
            if carried is not None:
                yield it.old[0].filled(carried), it.old[1].before if it.old[1].after is None else None


def _rename(setting: str, old: str, new: str, parts: int) -> RenameEntry:
    rule = f"{setting} {old} = {new}"
    sides = [_globs(text, parts) for text in (old, new)]
    if any((one.after is None) != (other.after is None) for one, other in zip(*sides, strict=True)):
        raise UsageError(
            f"{rule!r} has a '*' on one side only",
            "a '*' carries its text over, so each part has one on both sides, or on neither",
        )
    return RenameEntry(sides[0], sides[1], rule)


def _globs(text: str, parts: int) -> tuple[Glob, ...]:
    texts = normalized(text).split(".")
    if len(texts) != parts or not all(texts):
        what, form = ("table", "db.table") if parts > 1 else ("database", "db")
        raise UsageError(f"{text!r} is not a {what} name", f'write "{form}" = "{form}"')
    if "?" in text or any(it.count("*") > 1 for it in texts):
        raise UsageError(f"cannot read {text!r}", "a renamed name may have one '*', or one in each part, and no '?'")
    return tuple(map(Glob.of, texts))


def _moved(names: Parts, old: tuple[Glob, ...], new: tuple[Glob, ...]) -> Parts | None:
    parts: list[str] = []
    for name, glob, to in zip(names, old, new, strict=True):
        carried = glob.carried(name)
        if carried is None or not (filled := to.filled(carried)):
            return None
        parts.append(filled)
    return tuple(parts)


def _database_of(rename: RenameEntry, source: str) -> str | None:
    """The target's database to which an entry of `tables` brings tables of this database of the source."""
    carried = rename.old[0].carried(source)
    return None if carried is None else rename.new[0].filled(carried)


def _common(one: tuple[Glob, ...], other: tuple[Glob, ...]) -> Parts | None:
    parts = [mine.common(theirs) for mine, theirs in zip(one, other, strict=True)]
    return None if None in parts else tuple(it for it in parts if it is not None)


def _shown(names: Parts | None) -> str:
    return ".".join(names or ()).replace(_ANY, "*")
