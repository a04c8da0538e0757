"""Rereading: the operations that a refresh becomes. They are found at the source, as it is while they are taken.

A table's definition and partitions are read at the source, a batch at a time, and put; a target writes only what
differs. Later changes that were read already are applied again with their own events, and end in the same state.

An object is dropped only if it was absent at the source when the refresh was queued, and still is. An object that goes
later has an event, which may be a rename that keeps the partitions. Nor is a table put that is another one by now: the
events of the one before it are still to come, and are not for the new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pysync.metastore.errors import MetastoreUnsupported
from pysync.metastore.reads import Reads
from pysync.model.definition import is_index
from pysync.model.mark import Mark
from pysync.model.names import TableName, normalized, partition_values
from pysync.model.operation import DropDatabase, DropTable, Operation, PutDatabase, PutTable, Refresh
from pysync.model.snapshot import Snapshot
from pysync.replay.contents import Contents, TableAtSource
from pysync.replay.functions import Functions
from pysync.replay.statistics import StatisticsAtSource, wants_statistics
from pysync.replay.window.leaving import leaving
from pysync.replay.window.origins import Origins, is_in_the_way, keys_of
from pysync.replay.window.policy import Policy, typed_keys
from pysync.replay.window.scope import Extent
from pysync.replay.window.translate import Translator
from pysync.targets.base import Rejected, Target

_READ_TOGETHER = 200


@dataclass(frozen=True, slots=True)
class Rereading:
    """One refresh, from the source to the target; only reads both.

    `left_out` gets the names of the objects that make no operation because they came from the target, `snapshots` those
    of the transactional tables that it has read.
    """

    source: Reads
    target: Target
    translator: Translator
    refresh: Refresh
    left_out: list[str] = field(default_factory=list)
    snapshots: dict[TableName, Snapshot] = field(default_factory=dict)

    @property
    def origins(self) -> Origins:
        """Knows the homes of the objects that it reads."""
        return self.translator.policy.direction.origins(self.refresh)

    def operations(self) -> Iterator[Operation]:
        """The operations, in the order in which to apply them. Raises what source and target raise."""
        if self.refresh.former:
            return leaving(self.target, self.translator, self.refresh)
        if self.refresh.table is not None and self.refresh.statistics:
            name = self.refresh.table
            return self._statistics(self.translator.mapping.source_table(name, self.refresh.mark), name)
        if self.refresh.reread:
            return self._resent()
        if self.refresh.table is not None and self.refresh.source_table is not None:
            return self._table(self.refresh.source_table, self.refresh.table)
        return self._database() if self.refresh.database else self._databases()

    def missing(self) -> Iterator[Operation]:
        """For the list of databases: the drops of all tables that the source does not have, in every database.

        Later refreshes of a comparison make them; together they are one act.
        """
        refresh, mapping, policy = self.refresh, self.translator.mapping, self.translator.policy
        if refresh.former or refresh.reread or refresh.database:
            return
        for name in self.target.databases():
            sources = mapping.source_databases(name)
            if any(map(policy.takes_database, sources)) and self.origins.is_ours(self.target.database(name)):
                of_database = replace(refresh, database=name, source_database="", present=())
                within = replace(self, refresh=of_database, left_out=[])
                yield from within._drop_tables(name, within._tables_for(name))

    def _resent(self) -> Iterator[Operation]:
        """Apply the home's answer, and pass it on; a request is only passed on, to the home."""
        refresh, old, new = self.refresh, self.refresh.source_table, self.refresh.table
        if not refresh.database:
            yield from self.origins.request_reread(refresh.home, "")
            return
        if old is not None and new is not None:
            at_source, there = self.source.table(old.database, old.table), self.target.table(new)
        else:
            at_source, there = self.source.database(refresh.source_database), self.target.database(refresh.database)
        home = self.origins.home(at_source, there)
        if self.origins.brings_state_of(home):
            yield from self._table(old, new) if old is not None and new is not None else self._one(at_source, there)
            home = self.origins.state_home(at_source, home) if new is not None else home
        table = "" if new is None else new.table
        yield from self.origins.request_reread(home, refresh.database, table=table, function=refresh.function)

    def _one(self, at_source: Any, there: Any) -> Iterator[Operation]:
        """The function that a re-read request names, or the definition of the database."""
        if self.refresh.function:
            yield from self._functions(at_source, there)
        elif at_source is not None:
            yield from self._definition(at_source, there)
        elif there is not None:
            yield DropDatabase(database=self.refresh.database, **self.origins.of(None, there))

    # --- databases

    def _databases(self) -> Iterator[Operation]:
        """Drop databases that came from the source and are gone there; first their tables, which count for the brake.

        A database that was created there again since is emptied: its tables at the target are from before. Without
        `cascade` the tables stay, as they do after an event of the drop, and the target refuses the drop.
        """
        mapping = self.translator.mapping
        listed = set(map(mapping.database, self.refresh.present))
        now = set(map(mapping.database, self.source.databases()))
        refusable: list[Operation] = []  # drops that may be refused: they come last, so that they hold up no other
        for name in self.target.databases():
            taken = any(map(self.translator.policy.takes_database, mapping.source_databases(name)))
            # What is not in scope is not looked at, be it ours or not: `out_of_scope` decides about it.
            if name in listed or not taken:
                continue
            there = self.target.database(name)
            if self._has_left_scope(name, there):
                continue
            if self.origins.is_ours(there):
                gone = DropDatabase(database=name, **self.origins.of(None, there)) if name not in now else None
                if gone is not None and not self.translator.policy.cascade and self.target.tables(name):
                    refusable.append(gone)
                    continue
                yield from self._drop_tables(name, self._tables_for(name))
                if gone is not None:
                    yield gone
            elif name not in now:
                yield from self._request_reread(name, there)
        yield from refusable

    def _request_reread(self, name: str, there: Any) -> Iterator[Operation]:
        """Ask for everything in a database that is gone at the source, but that the source may not drop."""
        yield from self.origins.request_reread(self.origins.home(None, there), name)
        within = replace(self.refresh, database=name, source_database=self.translator.mapping.source_database(name))
        yield from replace(self, refresh=within)._functions(None, there)
        yield from self._drop_tables(name, set())

    def _database(self) -> Iterator[Operation]:
        refresh = self.refresh
        at_source = self.source.database(refresh.source_database)
        if at_source is None:
            return
        there = self.target.database(refresh.database) if self.translator.policy.direction.shares_databases else None
        yield from self._definition(at_source, there)
        if not refresh.needed and not refresh.event_id:
            yield from self._functions(at_source, there)
            yield from self._drop_tables(refresh.database, self._tables_for(refresh.database))

    def _definition(self, at_source: Any, there: Any) -> Iterator[Operation]:
        """The definition of a database of the source."""
        if self._comes_from_target(at_source, self.refresh.database):
            return
        name, home, origin = self.refresh.database, self.origins.home(at_source, there), self.origins.of(at_source)
        self.translator.mapping.apply_to(at_source)
        if self.refresh.needed or self.origins.brings_state_of(home):
            yield PutDatabase(database=name, definition=at_source, event_id=self.refresh.event_id, **origin)
        elif self.target.differences(at_source, there):
            yield from self.origins.request_reread(home, name)

    def _functions(self, at_source: Any, there: Any) -> Iterator[Operation]:
        return Functions(self.source, self.target, self.translator, self.refresh, at_source, there).operations()

    def _tables_for(self, database: str) -> set[str]:
        """The tables that any database of the source has for this database of the target, in scope or not."""
        mapping = self.translator.mapping
        # Also those that were there when the refresh was queued, and are gone now: their own events will drop them.
        listed = {TableName(self.refresh.source_database, table) for table in self.refresh.present}
        leading = (name for name in self.source.databases() if mapping.renames.leads(name, database))
        names = {TableName(name, table) for name in leading for table in self.source.tables(name)}
        names = listed | {name for name in names - listed if not self._was_created_again(name)}
        return {new.table for new in map(mapping.table, names) if new.database == database}

    def _was_created_again(self, name: TableName) -> bool:
        """Whether the target has a table that was gone when the refresh was queued, and was created again since."""
        if self.refresh.source_database not in {"", name.database}:
            return False
        at_source = self.source.table(name.database, name.table)
        return at_source is not None and self._has_another(self.translator.mapping.table(name), at_source.createTime)

    def _has_another(self, name: TableName, *created: int) -> bool:
        """Whether the target's table came from the source, and is none of those created there at these times (s)."""
        return all(created) and self._creation(name) not in {0, *created}

    def _creation(self, name: TableName) -> int:
        """When the target's table was created at the source (s); 0 if that is not known.

        Of a table that was born elsewhere it is not: the source's replica was created after its original.
        """
        there = self.target.table(name)
        mark = Mark.read(there.parameters) if there is not None else None
        return mark.created if mark is not None and mark.source == self.origins.source else 0

    def _drop_tables(self, database: str, wanted: set[str]) -> Iterator[Operation]:
        mapping, mark = self.translator.mapping, self.refresh.mark
        # Nothing at the source has the name now, so whichever object the target's mark names is gone.
        of_any = replace(self, refresh=replace(self.refresh, mark=replace(mark, object="", formerly="")))
        for table in self.target.tables(database):
            name = TableName(database, table)
            if table not in wanted and any(map(self.translator.policy.takes_table, mapping.sources_of(name))):
                yield from of_any._drop(name)

    def _drop(self, name: TableName) -> Iterator[Operation]:
        """Drop a table that is gone at the source. Both ways, if the source may not say so, the home is asked."""
        there = self.target.table(name)
        if self._has_left_scope(name, there):
            return
        if self.origins.is_ours(there):
            yield DropTable(table=name, **self.origins.of(None, there))
        elif there is not None:
            yield from self.origins.request_reread(self.origins.home(None, there), name.database, table=name.table)

    def _has_left_scope(self, name: TableName | str, there: Any) -> bool:
        """Whether the target's object is a copy of one that does not get this name, and so of one out of scope."""
        mark = None if there is None else Mark.read(there.parameters)
        return bool(Extent(self.translator.policy, self.translator.mapping).former_object(name, mark))

    # --- tables

    def _table(self, old: TableName, new: TableName) -> Iterator[Operation]:
        at_source = self.source.table(old.database, old.table)
        if at_source is None or self.refresh.created not in {0, at_source.createTime}:
            # The target may have a third table: the rename that took it away was lost, and no event reports it again.
            now = () if at_source is None else (at_source.createTime,)
            if self.refresh.absent or self._has_another(new, self.refresh.created, *now):
                yield from self._drop(new)
            elif at_source is None:
                yield from self._pass_on(new)
            return
        if self._is_left_out(at_source, new):
            return (yield from self._leave(at_source, new))
        there, home = self.target.table(new), self.origins.home(at_source, None)
        if self.origins.is_over(at_source, there):
            yield DropTable(table=new, **self.origins.of(None, there))
            there = None
        is_state = self.refresh.needed or self.origins.brings_state_of(home)
        if not is_state and (there is None or not self.origins.concerns_target(home)):
            return (yield from self.origins.request_reread(home, new.database, table=new.table))
        # Some partitions only make sense in a table that is there: else all of it is brought.
        if self.refresh.partitions and (there is None or keys_of(there) != keys_of(at_source)):
            yield from replace(self, refresh=replace(self.refresh, partitions=()))._table(old, new)
            return
        contents = Contents(self.source, self.target, self.translator, self.refresh)
        # Read before `at_source` is rewritten in place: the source knows only its own names.
        constraints = {} if self.refresh.partitions else contents.constraints(at_source)
        origin, frame = self.origins.of(at_source), self.translator.mapping.frame(at_source)
        snapshot = self._snapshot(old) if frame.transactional and self.translator.mapping.snapshots else None
        files = self.translator.mapping.apply_to(at_source)
        sources = {location: it.at(snapshot) for location, it in files.items()}
        table = TableAtSource(old, new, at_source, frame, origin, snapshot)
        if self.translator.policy.direction.shares_databases:
            yield from self._place(old.database, new.database)
        if is_in_the_way(there, at_source):
            yield DropTable(table=new, **self.origins.of(None))
            there = None
        yield PutTable(table=new, definition=at_source, is_current=True, sources=sources, **origin)
        if at_source.partitionKeys:
            yield from contents.partitions(table, fresh=there is None)
        yield from contents.bring_constraints(table, constraints, there)
        if wants_statistics(self.target) and self.origins.brings_state_of(home):
            yield from self._counts(old, new, at_source, origin).everything(self.refresh.partitions)

    def _snapshot(self, name: TableName) -> Snapshot:
        """Which rows of a transactional table count now. Raises Rejected where its metastore cannot say so."""
        try:
            snapshot = self.source.snapshots([name])[name]
        except (MetastoreUnsupported, KeyError) as error:
            raise Rejected(
                f"nobody says which transactions of {name} are committed: its Hive is older than 3, or this is a dump",
                "make the table external, or exclude it (docs/acid.md)",
            ) from error
        self.snapshots[name] = snapshot
        return snapshot

    def _is_left_out(self, at_source: Any, new: TableName) -> bool:
        """Whether the target does not take this table, although it takes one of this name."""
        is_out = self.translator.policy.rule_against_definition(at_source) is not None
        return is_out or self._comes_from_target(at_source, str(new)) or is_index(at_source)

    def _comes_from_target(self, at_source: Any, name: str) -> bool:
        comes = self.origins.comes_from_target(at_source)
        if comes:
            self.left_out.append(name)
        return comes

    def _leave(self, at_source: Any, new: TableName) -> Iterator[Operation]:
        """Drop a table that has left the scope by its definition, if the settings say so."""
        is_ours = not self.origins.comes_from_target(at_source) and not is_index(at_source)
        if is_ours and self.translator.policy.drops_leavers:
            yield from self._drop(new)

    def _pass_on(self, name: TableName) -> Iterator[Operation]:
        """Let the next clusters of a ring read a table again that is gone, and that the target never had.

        A replica renamed it, its home did so, too, and dropped it. The target changes nothing, so no event of the
        target says that to the others.
        """
        others = set(self.refresh.visited) - {self.origins.source, self.origins.cluster}
        if self.refresh.needed and others and self.target.table(name) is None:
            yield from self.origins.request_reread(self.refresh.mark.source, name.database, table=name.table)

    def _place(self, old: str, new: str) -> Iterator[Operation]:
        """The database of a table, both ways: no event may say that it was born at both ends."""
        at_source = self.source.database(old)
        if at_source is None or self.translator.mapping.database(old) != new:
            return
        if self.refresh.needed or self.origins.brings_state_of(self.origins.home(at_source, None)):
            origin = self.origins.of(at_source)
            self.translator.mapping.apply_to(at_source)
            yield PutDatabase(database=new, definition=at_source, **origin)

    def _statistics(self, old: TableName, new: TableName) -> Iterator[Operation]:
        """The statistics that have changed. If the table was renamed or dropped since, a later refresh finds them."""
        at_source = self.source.table(old.database, old.table)
        if (
            at_source is None
            or self.origins.comes_from_target(at_source)
            or self.translator.policy.rule_against_definition(at_source)
        ):
            return iter(())
        return self._counts(old, new, at_source, self.origins.of(at_source)).changed(self.refresh.partitions)

    def _counts(self, old: TableName, new: TableName, at_source: Any, origin: dict[str, Any]) -> StatisticsAtSource:
        takes = partial(self.translator.policy.takes_partition, old, typed_keys(at_source))
        return replace(StatisticsAtSource.of(self.source, old, new, at_source, origin), takes=takes)


def there_again(source: Reads, translator: Translator, database: str) -> set[str]:
    """What the source has for a database of the target, in scope, by the names at the target: the database itself,
    tables, and functions `db.function()`.
    """
    mapping, policy, names = translator.mapping, translator.policy, set[str]()
    for name in source.databases():
        if not mapping.renames.leads(name, database):
            continue
        if mapping.database(name) == database and policy.takes_database(name):
            names |= {database, *(f"{database}.{normalized(it.functionName)}()" for it in source.functions(name))}
        names |= {str(mapping.table(it)) for it in _tables_in_scope(source, policy, name)}
    return {it for it in names if it.partition(".")[0] == database}


def _tables_in_scope(source: Reads, policy: Policy, database: str) -> list[TableName]:
    """The tables of a database of the source in scope: by their definitions, too, if the policy asks for these."""
    names = [it for it in source.tables(database) if policy.takes_table(TableName(database, it))]
    if not policy.asks_no_traits:
        groups = (names[at : at + _READ_TOGETHER] for at in range(0, len(names), _READ_TOGETHER))
        tables = (table for group in groups for table in source.tables_by_name(database, group))
        names = [it.tableName for it in tables if policy.rule_against_definition(it) is None]
    return [TableName(database, it) for it in names]


def partitions_again(source: Reads, translator: Translator, table: TableName) -> set[str]:
    """The names of the partitions, in scope, that the source has for a table of the target."""
    names = set[str]()
    for old in translator.mapping.sources_of(table):
        definition = source.table(old.database, old.table)
        if definition is not None and definition.partitionKeys:
            keys = typed_keys(definition)
            every = source.partition_names(old.database, old.table)
            names |= {it for it in every if translator.policy.takes_partition(old, keys, partition_values(it))}
    return names
