"""Policy: which changes a target takes, by names and by definition. Pure: settings and a change in, a change or None
out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import as_written
from pysync.model.catalogs import catalog_of
from pysync.model.change import Change
from pysync.model.definition import is_index
from pysync.model.event import Event, Kind
from pysync.model.names import TableName, is_default_catalog, normalized
from pysync.replay.window.direction import Direction
from pysync.replay.window.partition_filter import PartitionFilter
from pysync.replay.window.patterns import Pattern, glob_pattern, repl_patterns
from pysync.replay.window.traits import Traits
from pysync.targets.settings import TargetSettings

_PARTITIONS = frozenset({Kind.ADD_PARTITION, Kind.ALTER_PARTITION, Kind.DROP_PARTITION})
_SUPPRESSED = frozenset({Kind.DROP_DATABASE, Kind.DROP_TABLE, Kind.DROP_PARTITION})
Keys = Sequence[tuple[str, str]]
"""The partition keys of a table: names and types."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the target named `target` takes. An empty `include` means everything."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    exclude_kinds: frozenset[Kind] = frozenset()
    direction: Direction = field(default_factory=Direction)
    target: str | None = None
    suppresses_drops: bool = False
    traits: Traits = field(default_factory=Traits)
    where: PartitionFilter | None = None
    """Which partitions are taken; None: all."""
    today: Callable[[], date] = field(default=date.today, compare=False)
    cascade: bool = True
    """Whether the drop of a database takes along the tables that the target still has there."""
    drops_leavers: bool = False
    """Whether what leaves the scope is dropped (`out_of_scope`): a table by an alter, a partition as time goes by."""
    trash: str = ""
    """The database of the source that is its own trash, if it may have one: what is renamed into it is dropped."""
    name: str = ""
    """The name of one of a target's policies."""
    policies: tuple[Policy, ...] = ()
    """The target's policies, in order, if it has any: the first that takes an object decides about it."""
    _takes_all_partitions: bool = field(init=False, repr=False, compare=False)
    asks_no_traits: bool = field(init=False, repr=False, compare=False)
    """Whether tables are taken whatever their definitions say."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_takes_all_partitions", all(it.where is None for it in self.all))
        object.__setattr__(self, "asks_no_traits", all(it.traits.are_any for it in self.all))

    @classmethod
    def of(cls, settings: TargetSettings) -> Policy:
        """The policy of a target. Raises UsageError that names a pattern which cannot be read."""
        policy = cls._one(settings)
        if not settings.policies:
            return policy
        return replace(policy, policies=tuple(replace(cls._one(it), name=name) for name, it in settings.each_policy()))

    @classmethod
    def _one(cls, settings: TargetSettings) -> Policy:
        include, exclude = repl_patterns(settings.policy)
        # What the source has in a database of that name is its own trash, from when it was a target.
        trash = (glob_pattern("trash_database", settings.trash_database),) if settings.drops == "trash" else ()
        return cls(
            include=(*include, *(glob_pattern("include", it) for it in settings.include)),
            exclude=(*exclude, *(glob_pattern("exclude", it) for it in settings.exclude), *trash),
            exclude_kinds=frozenset(settings.exclude_kinds) | (_SUPPRESSED if settings.drops == "suppress" else set()),
            direction=Direction.of(settings),
            target=settings.name,
            suppresses_drops=settings.drops == "suppress",
            traits=Traits.of(settings),
            where=PartitionFilter.parse(settings.where) if settings.where is not None else None,
            cascade=settings.cascade,
            drops_leavers=settings.out_of_scope == "drop",
            trash=settings.trash_database if settings.drops == "trash" else "",
        )

    @property
    def all(self) -> tuple[Policy, ...]:
        """The policies that are asked, in order: itself if the target has no others."""
        return self.policies or (self,)

    def index_of(self, name: TableName | str) -> int:
        """Which of all policies decides about a table or database of the source; their number if none takes it."""
        return next((at for at, it in enumerate(self.all) if it._takes(name)), len(self.all))

    def deciding(self, name: TableName | str) -> Policy:
        """The policy that decides about a table or database of the source; the target's settings if none takes it."""
        if not self.policies:
            return self
        return next((it for it in self.policies if it._takes(name)), self)

    def takes_catalog(self, event: Event) -> bool:
        """Whether the event is of the catalog `hive`, or of one that `include` or `policy` names."""
        return is_default_catalog(event.catalog) or normalized(event.catalog or "") in self.catalogs

    @property
    def catalogs(self) -> frozenset[str]:
        """The catalogs beside `hive` that `include` or `policy` names."""
        patterns = (pattern for it in self.all for pattern in it.include)
        return frozenset(it.catalog for it in patterns if it.catalog is not None)

    def takes_database(self, database: str) -> bool:
        """Whether the target has this database, because all or some of its tables are in scope."""
        return any(it._takes_database(database) for it in self.all)

    def takes_table(self, name: TableName) -> bool:
        """Whether the target has this table."""
        return any(it._takes_table(name) for it in self.all)

    def takes(self, name: TableName | str) -> bool:
        """Whether the target has this table, or this database."""
        return any(it._takes(name) for it in self.all)

    def _takes(self, name: TableName | str) -> bool:
        return self._takes_table(name) if isinstance(name, TableName) else self._takes_database(name)

    def _takes_database(self, database: str) -> bool:
        name = normalized(database)
        within = (
            any(pattern.database.fullmatch(name) for pattern in self.include)
            if self.include
            else catalog_of(name) is None
        )
        # An exclude with a table part leaves other tables of the database in scope.
        return within and not any(pattern.takes_all_of(name) for pattern in self.exclude)

    def _takes_table(self, name: TableName) -> bool:
        if not (
            any(pattern.takes(name) for pattern in self.include) if self.include else not catalog_of(name.database)
        ):
            return False
        return not (self.exclude and any(pattern.takes(name) for pattern in self.exclude))

    def rule_against(self, name: TableName | str) -> str | None:
        """The rule by which the target does not have this table, or this database; None if it has it."""
        if self.takes(name):
            return None
        return "; ".join(f"{it._label}{it._rule_against(name)}" for it in self.all)

    def _rule_against(self, name: TableName | str) -> str:
        if isinstance(name, TableName):
            excluding = [it for it in self.exclude if it.takes(name)]
        else:
            excluding = [it for it in self.exclude if it.takes_all_of(name)]
        if excluding:
            return f"{excluding[0].rule} leaves it out"
        if not self.include:
            return "it is of another catalog than hive, and no include names it"
        return f"it is not in {', '.join(dict.fromkeys(pattern.rule for pattern in self.include))}"

    def rule_for(self, name: TableName | str) -> str:
        """The rule by which the target has this table, or this database; it must be one that it has."""
        deciding = self.deciding(name)
        if isinstance(name, TableName):
            taking = [it for it in deciding.include if it.takes(name)]
        else:
            taking = [it for it in deciding.include if it.database.fullmatch(normalized(name))]
        return f"{deciding._label}{taking[0].rule if taking else 'it has no include and no policy'}"

    @property
    def _label(self) -> str:
        return f"policy {self.name}: " if self.name else ""

    def excludes(self, kind: Kind, name: TableName | str) -> bool:
        """Whether changes of that kind are left out for a table or database of the source.

        The drop of a database takes its tables along, so each policy that takes any of them has to agree.
        """
        if kind is Kind.DROP_DATABASE and not isinstance(name, TableName):
            deciding = [it for it in self.all if it._takes_database(name)] or [self]
            return any(kind in it.exclude_kinds for it in deciding)
        return kind in self.deciding(name).exclude_kinds

    def excuse(self, kind: Kind, name: TableName | str) -> str:
        """The setting by which they are left out; "" if they are not."""
        if not self.excludes(kind, name):
            return ""
        deciding = next((it for it in (self.deciding(name), *self.all) if kind in it.exclude_kinds), self)
        suppressed = deciding.suppresses_drops and kind in _SUPPRESSED
        return 'drops = "suppress"' if suppressed else f"exclude_kinds has {kind}"

    def rule_against_definition(self, table: Any) -> str | None:
        """The rule by which a table of the source is not taken by its definition; None if it is."""
        traits = self.deciding(TableName(table.dbName, table.tableName)).traits
        return traits.rule_against(table)

    def takes_partition(self, table: TableName, keys: Keys, values: Sequence[str]) -> bool:
        """Whether a partition of a table of the source is taken by its values."""
        where = self.deciding(table).where
        return where is None or where.takes(keys, values, self.today())

    def rule_against_partition(self, table: TableName, keys: Keys, values: Sequence[str]) -> str | None:
        """The rule by which a partition of a table of the source is not taken; None if it is."""
        where = self.deciding(table).where
        if where is None or self.takes_partition(table, keys, values):
            return None
        return f"where {as_written(where.text)} leaves the partition out"

    def rule_against_change(self, change: Change) -> str | None:
        """The rule by which a change does not concern the target, whatever the object; None if there is none."""
        if excuse := self.excuse(change.kind, change.table_name or change.database):
            return excuse
        if _is_of_index(change):
            return "the table of an index is not replicated"
        if rule := self.direction.rule_against(change):
            return rule
        if change.kind is Kind.REFRESH and change.for_targets and self.target not in change.for_targets:
            return "the refresh is for other targets"
        return self._rule_against_tables_of(change) or self._rule_against_partitions_of(change)

    def _rule_against_tables_of(self, change: Change) -> str | None:
        """The rule by which none of the tables that a change is about is taken by its definition.

        A drop passes: the table may have been taken before, and only objects that pysync wrote are dropped.
        """
        if self.asks_no_traits or change.kind is Kind.DROP_TABLE:
            return None
        tables = [it for it in (change.table, *change.before, *change.after) if isinstance(it, hive.Table)]
        rules = [self.rule_against_definition(it) for it in tables]
        return rules[-1] if rules and None not in rules else None

    def _rule_against_partitions_of(self, change: Change) -> str | None:
        """The rule by which none of the partitions of a change concerns the target."""
        narrowed = self._narrowed(change)
        if narrowed is change or narrowed.before or narrowed.after:
            return None
        name, keys = _named_keys(change.table)
        rules = (self.rule_against_partition(name, keys, it.values) for it in (*change.before, *change.after))
        return next((it for it in rules if it is not None), None)

    def _narrowed(self, change: Change) -> Change:
        """The change with those partitions only that concern the target, by `where`; itself if all do.

        The drop of a partition that is not taken passes if such partitions are kept: the target may have it from
        before.
        """
        if change.kind not in _PARTITIONS or self._takes_all_partitions:
            return change
        name, keys = _named_keys(change.table)
        after = [it for it in change.after if self.takes_partition(name, keys, it.values)]
        # An alter of a partition that is not taken must not look as if the partition had got another name.
        new = [it.values for it in change.after]
        before = [
            it
            for it in change.before
            if self.takes_partition(name, keys, it.values) or not (self.drops_leavers or it.values in new)
        ]
        whole = len(after) == len(change.after) and len(before) == len(change.before)
        return change if whole else replace(change, before=before, after=after)

    def takes_constraint(self, column: Any) -> bool:
        """Whether the target has the constraint of a table in scope; a foreign key needs its other table in scope."""
        if not isinstance(column, hive.SQLForeignKey):
            return True
        return self.takes_table(TableName.of(column.pktable_db, column.pktable_name))

    def scope(self, change: Change) -> Change | None:
        """The change as this target sees it; None if it does not concern the target.

        A table that is renamed into scope is created. One that a rename or another alter takes out of scope is dropped
        if `out_of_scope` says so. A foreign key is taken only if both its tables are.
        """
        if self.rule_against_change(change) is not None:
            return None
        old, new = change.table_name, change.new_table_name
        if old is None or new is None:
            takes = change.refreshes_all or change.reports_loss or self.takes_database(change.database)
            return change if takes else None
        takes_old = self.takes_table(old)
        takes_new = takes_old if new == old else self.takes_table(new)
        if change.kind is Kind.ALTER_TABLE and not self.asks_no_traits:
            takes_old = takes_old and self.rule_against_definition(change.before[0]) is None
            takes_new = takes_new and self.rule_against_definition(change.after[0]) is None
            if takes_old and not takes_new and old == new and not self.drops_leavers:
                return None
        if old != new or takes_old != takes_new:
            return self._scope_of_move(change, takes_old, takes_new)
        parent = change.referenced_table_name
        return self._narrowed(change) if takes_old and (parent is None or self.takes_table(parent)) else None

    def _scope_of_move(self, change: Change, takes_old: bool, takes_new: bool) -> Change | None:
        if takes_old and takes_new:
            old, new = change.table_name, change.new_table_name
            is_same = old is None or new is None or self.deciding(old).where == self.deciding(new).where
            return change if is_same else replace(change, whole=new)
        if takes_old:
            left_as = change.new_table_name if self._leaves_renamed(change) else None
            return self.scope(replace(_as_kind(change, Kind.DROP_TABLE), left_as=left_as))
        return self.scope(_as_kind(change, Kind.CREATE_TABLE)) if takes_new else None

    def _leaves_renamed(self, change: Change) -> bool:
        """Whether a table that is renamed out of scope stays as it is.

        Both ways it does not: there no mark can say that it is not the table of its name any more.
        """
        old, new = change.table_name, change.new_table_name
        if old is None or new is None or self.drops_leavers or not self.direction.names_objects:
            return False
        return new.database != self.deciding(old).trash


def typed_keys(table: Any) -> Keys:
    """The partition keys of a table."""
    return [(key.name, key.type or "") for key in table.partitionKeys or ()]


def _named_keys(table: Any) -> tuple[TableName, Keys]:
    return TableName(table.dbName, table.tableName), typed_keys(table)


def _is_of_index(change: Change) -> bool:
    """Whether it is about the table of an index. Its drop passes, as that of every table."""
    table = change.table or (change.after or [None])[0]
    return isinstance(table, hive.Table) and is_index(table)


def _as_kind(change: Change, kind: Kind) -> Change:
    """A rename or alter seen from one side: as a drop it has only the old object, as a create only the new one."""
    event: Event = replace(change.event, kind=kind)
    if kind is Kind.DROP_TABLE:
        return replace(change, event=event, after=[])
    return replace(change, event=event, before=[], whole=change.new_table_name)
