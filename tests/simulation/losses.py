"""Losses: what a target has lost without a decision, by what its store has, not by what the brake knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pysync.lab.memory import MemoryStore
from pysync.model.names import partition_name
from pysync.model.reread import is_request_name
from pysync.queue import Removal
from tests.simulation.listener import Listener


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many objects, and which share of a database that has `least` tables, may go without a decision."""

    drops: int
    share: float
    least: int


@dataclass(slots=True)
class Losses:
    """What `target` has lost of what `source` had. `wrong` is the first loss that should not have been; "" if none.

    All within one hour. A database is `db`, a table `db.t`, a function `db.f()`, a partition `db.t/k=1`.
    """

    source: MemoryStore
    target: MemoryStore
    bounds: Bounds
    renamed: Mapping[str, str]
    made: Sequence[Mapping[str, int]]
    """How often the clients of each cluster have made each table."""
    listener: Listener
    """The target's: only after a change the target is listed again."""
    aged_at: float = 0.0
    """Tables that were there before that time are old."""
    wrong: str = ""
    _seen: int = -1  # the changes that were reported when it was listed last
    _before: dict[str, int] = field(default_factory=dict)  # what was there, each with when its table was created
    _lost: dict[str, bool] = field(default_factory=dict)  # whether it was an old table
    _ever: set[str] = field(default_factory=set)
    _replaced: set[str] = field(default_factory=set)  # gone, and made again at the source before or later
    _gone: Counter[str] = field(default_factory=Counter)  # how often each table has gone
    _functions: set[str] = field(default_factory=set)  # that have gone since anything else has
    _let_go: set[str] = field(default_factory=set)
    _kept: set[str] = field(default_factory=set)

    def look(self) -> None:
        """See what has gone since the last look. Call it before each call to the target, and after each turn."""
        if self._seen == (seen := self.listener.changes):
            return
        self._seen, now = seen, dict(_objects(self.target))
        if now.keys() != self._before.keys():
            for name in sorted(self._before.keys() - now.keys()):
                self._note_gone(name, now)
            self._check()
            self._replaced -= now.keys()
            for name in self._lost.keys() & now.keys():
                del self._lost[name]
        self._before = now
        self._ever |= now.keys()

    def look_at_rest(self) -> None:
        """Once all events have come: what was gone to be replaced, and is not there, has gone without a decision.

        What was replaced by a rename counts by its former name. What was dropped again before it came to the target is
        not counted (docs/brake.md).
        """
        self.look()
        replaced = self._replaced - dict(_objects(self.source)).keys() - set(self.renamed.values())
        replaced = {it for it in replaced if self._gone[it] >= self._times_made(it)}
        self._lost |= dict.fromkeys(replaced, False)
        self._check()

    def look_at_source(self) -> None:
        """After a change of the source: what it has is kept no longer by a decision."""
        there = dict(_objects(self.source)).keys()
        self._kept -= there
        self._ever |= there

    def forget_own(self) -> None:
        """After a change that clients have made at the target."""
        self._before = dict(_objects(self.target))
        self._kept &= self._before.keys()

    # --- what a person has decided

    def decided(self, rows: Iterable[Removal], *, keep: bool) -> None:
        """A person has decided this of what is held. What went in the same databases before counts no longer, if it is
        dropped. What the source has made again since may replace what is kept, even if it is gone there by now.
        """
        names = {it.object for it in rows}
        if keep:
            there = {it for it in names & self._before.keys() if not self._is_made_again(it)}
            self._kept |= there - dict(_objects(self.source)).keys()
            return
        self._let_go |= names
        databases = {_database(it) for it in names}
        self._lost = {name: old for name, old in self._lost.items() if _database(name) not in databases}
        self._replaced = {it for it in self._replaced if _database(it) not in databases}

    def released(self, rows: Iterable[Removal]) -> None:
        """A person keeps this no longer."""
        self._kept -= {it.object for it in rows}

    # --- what has gone

    def _note_gone(self, name: str, now: Mapping[str, int]) -> None:
        self._gone[name] += 1
        self._note_function(name)
        if name in self._kept and self._stands_alone(name, now):
            self.wrong = self.wrong or f"what a person has kept is gone: {name}"
        if not self._stands_alone(name, now) or self._is_let_go(name) or self._is_elsewhere(name, now):
            return
        if self._is_made_again(name):
            self._replaced.add(name)
            return
        is_table = "." in name and not name.endswith("()") and "/" not in name
        self._lost[name] = is_table and self._before[name] < self.aged_at

    def _note_function(self, name: str) -> None:
        """HMS wants the functions of a database to be dropped before it: these have not gone alone."""
        if name.endswith("()"):
            self._functions.add(name)
            return
        for function in self._functions if "." not in name else ():
            if _database(function) == name:
                self._lost.pop(function, None)
        self._functions.clear()

    def _is_made_again(self, name: str) -> bool:
        return self._times_made(name) > 1

    def _times_made(self, name: str) -> int:
        return sum(it.get(name, 0) for it in self.made)

    def _stands_alone(self, name: str, now: Mapping[str, int]) -> bool:
        """Whether it did not go with its table, or as a function with its database."""
        table, of_table, _ = name.partition("/")
        return table in now if of_table else not name.endswith("()") or _database(name) in now

    def _is_let_go(self, name: str) -> bool:
        """Whether a person has let it go, which counts once; or all partitions of its table."""
        if f"{name.partition('/')[0]}/*" in self._let_go and "/" in name:
            return True
        found = name in self._let_go
        self._let_go.discard(name)
        return found

    def _is_elsewhere(self, name: str, now: Mapping[str, int]) -> bool:
        """Whether the source has it, or source or target have it under another name."""
        at_source, seen, part = dict(_objects(self.source)).keys(), {name}, name
        if name in at_source:
            return True
        while (part := self.renamed.get(part, "")) and part not in seen:
            if part in at_source or part in now:
                return True
            seen.add(part)
        return False

    def _check(self) -> None:
        if self.wrong:
            return
        if len(self._lost) > self.bounds.drops:
            self.wrong = f"more went than max_drops, without a decision: {sorted(self._lost)}"
        for database in {_database(it) for it in self._lost}:
            old = sorted(name for name, is_old in self._lost.items() if is_old and _database(name) == database)
            if len(old) > self._most_of(database):
                self.wrong = f"more went than max_drop_share , without a decision: {old}"

    def _most_of(self, database: str) -> float:
        """How many old tables of a database may go: of all that it has ever had, or as many as are no share."""
        ever = [it for it in self._ever if it.startswith(f"{database}.") and "/" not in it and not it.endswith("()")]
        return max(self.bounds.share * len(ever), self.bounds.least - 1)


def _database(name: str) -> str:
    return name.partition(".")[0]


def _objects(store: MemoryStore) -> Iterator[tuple[str, int]]:
    """Everything that a metastore has, each with when its table was created there."""
    for name, database in store.databases.items():
        yield name, 0
        for function in database.functions:
            if not is_request_name(function):  # nobody's object
                yield f"{name}.{function}()", 0
        for table, held in database.tables.items():
            yield f"{name}.{table}", held.struct.createTime
            keys = tuple(key.name for key in held.struct.partitionKeys or ())
            for values in held.partitions:
                yield f"{name}.{table}/{_partition_name(keys, values)}", held.struct.createTime


@lru_cache(4096)  # nearly half of the time of a history went into them
def _partition_name(keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    return partition_name(keys, values)
