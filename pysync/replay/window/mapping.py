"""Mapping: changes names, locations and parameters on the way to a target. Pure, but alters objects in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.hiveql.new_names import NewNames
from pysync.model import idl
from pysync.model.change import Change
from pysync.model.data_versions import leave_version
from pysync.model.definition import PURGE, without_vain_purge
from pysync.model.event import Event, Kind
from pysync.model.locations import Form, SourceFiles
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.reencoding import Frame, alter, form_of, frame_of
from pysync.model.table_formats import data_location, is_location_key
from pysync.replay.window.direction import Direction
from pysync.replay.window.locations import Locations, plain
from pysync.replay.window.policy import Policy
from pysync.replay.window.renames import Renames, RenameSettings
from pysync.replay.window.view_names import log, rename_in_view
from pysync.targets.settings import PolicySettings, TargetSettings


def _log_vain_purge(item: Any) -> None:
    """Say that a property is left out: the source ignores it, and a Hive 4 would delete files that the source keeps."""
    if isinstance(item, hive.Table) and PURGE in (item.parameters or {}) and PURGE not in without_vain_purge(item):
        log.info("parameter_omitted", table=f"{item.dbName}.{item.tableName}", parameter=PURGE)


_UNKNOWN = Frame(plain=False)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What one policy makes of locations and parameters, and whether copied files go that the source has removed."""

    locations: Locations = field(default_factory=Locations)
    parameters: Mapping[str, str] = field(default_factory=dict)
    drop_parameters: tuple[str, ...] = ()
    removes_extras: bool = True

    @classmethod
    def of(cls, settings: PolicySettings) -> Rewriting:
        """From the settings."""
        removes_extras = settings.drops != "suppress"
        return cls(Locations.of(settings.locations), settings.parameters, settings.drop_parameters, removes_extras)

    def table_parameters(self, parameters: dict[str, str]) -> dict[str, str]:
        """The parameters of a table."""
        wanted = {k: v for k, v in parameters.items() if not any(fnmatchcase(k, p) for p in self.drop_parameters)}
        return {**self.located(wanted), **self.parameters}

    def located(self, parameters: dict[str, str]) -> dict[str, str]:
        """Parameters with their locations mapped."""
        return {k: (self.locations.map(v) or v) if is_location_key(k) else v for k, v in parameters.items()}

    def place(self, storage: Any) -> None:
        """Map the locations of a storage descriptor, in place."""
        if storage is None:  # a view of Hive has none of its own
            return
        storage.location = self.locations.map(storage.location)
        places = storage.skewedInfo and storage.skewedInfo.skewedColValueLocationMaps
        if places:
            storage.skewedInfo.skewedColValueLocationMaps = {k: self.locations.map(v) for k, v in places.items()}
        for described in (storage, storage.serdeInfo):
            if described is not None and described.parameters:
                described.parameters = self.located(described.parameters)


@dataclass(frozen=True, slots=True)
class NameMapping:
    """What happens to objects on the way to one target."""

    renames: Renames = field(default_factory=Renames)
    rewritings: tuple[Rewriting, ...] = (Rewriting(),)
    """Of each policy, and last of what no policy takes; `renames.index` gives the policy of an object."""
    copies: bool = False  # whether the locations of the files at the source are kept
    rewrite_format: str | None = None  # the format of re-encoding, if any
    snapshots: bool = False  # whether transactional tables are re-encoded, too
    names_objects: bool = False
    """Whether changes have the names of their objects at the source, so that the marks hold them."""

    @classmethod
    def of(cls, settings: TargetSettings) -> NameMapping:
        """The mapping of a target. Raises UsageError that names a rename or pattern which cannot be read."""
        each = [it for _, it in settings.each_policy()]
        if settings.policies:
            each.append(settings)
        names = tuple(RenameSettings.of(it.databases, it.tables) for it in each)
        renames = Renames(names, Policy.of(settings).index_of) if settings.policies else Renames(names)
        return cls(
            renames=renames,
            rewritings=tuple(map(Rewriting.of, each)),
            copies=settings.copy_files is not None,
            rewrite_format=settings.copy_files.rewrite if settings.copy_files else None,
            snapshots=settings.transactional == "snapshot",
            names_objects=Direction.of(settings).names_objects,
        )

    def rewriting(self, name: TableName | str) -> Rewriting:
        """How an object of the source with this name is rewritten; a function as its database."""
        return self.rewritings[self.renames.index(name)]

    def database(self, name: str) -> str:
        """The database's name at the target."""
        return self.renames.database(name)

    def table(self, name: TableName) -> TableName:
        """The table's name at the target; a rename of the table takes precedence over one of its database."""
        return self.renames.table(name)

    def key(self, name: str) -> str:
        """The name at the target of `db`, `db.table`, `db.function()`, or `db.*`, everything in a database."""
        database, dot, rest = name.partition(".")
        if not dot or rest == "*" or rest.endswith("()"):
            return f"{self.database(database)}{dot}{rest}"
        return str(self.table(TableName(database, rest)))

    def order_key(self, name: TableName) -> str:
        """The key of a table of the source by which its changes are ordered, and wait behind a refused one.

        It is the name at the target. A table that does not have this name by right (another name of the source comes
        first, if there is such a table) has a key of its own, so that it holds up no changes of that one.
        """
        new = self.table(name)
        if not self.names_objects or self.source_table(new) == name:
            return str(new)
        return f"{new}@{name.database}/{name.table}"

    def source_of(self, key: str) -> TableName:
        """The table of the source that has this order key."""
        at = key.find("@", 1)  # a first one is of a catalog
        return self.source_table(TableName.parse(key)) if at < 0 else TableName(*key[at + 1 :].split("/"))

    def databases_of(self, sources: Iterable[str]) -> set[str]:
        """The target's databases that anything in these databases of the source is mapped to."""
        return self.renames.databases_of(sources)

    def source_database(self, name: str) -> str:
        """The name at the source of a database of the target."""
        return next(iter(self.renames.source_databases(name)), name)

    def source_table(self, name: TableName, mark: Mark | None = None) -> TableName:
        """The name at the source of a table of the target; of several names the one in the mark, if there is one."""
        if mark is not None and "." in mark.object:
            return TableName.parse(mark.object)
        source = next(iter(self.renames.sources_of(name)), None)
        return source or TableName(self.source_database(name.database), name.table)

    def source_databases(self, name: str) -> list[str]:
        """The names at the source that map to this database of the target, whether they exist or not."""
        return self.renames.source_databases(name)

    def sources_of(self, name: TableName) -> list[TableName]:
        """The names at the source that map to this table of the target, whether they exist or not."""
        return self.renames.sources_of(name)

    def rivals_of(self, name: TableName | str) -> list[TableName | str]:
        """The other names at the source that get the same name at the target, whether they exist or not."""
        if not self.names_objects:
            return []
        sources = (
            self.source_databases(self.database(name)) if isinstance(name, str) else self.sources_of(self.table(name))
        )
        return [it for it in sources if it != name]

    def apply(self, change: Change, table: Any = None) -> Change:
        """The same change, altered in place: its objects as the target shall have them.

        `table` may be shared, and is rewritten already.
        """
        frame = self.frame(change.table) if change.table is not None else _UNKNOWN
        for item in change.before:
            self._apply_to(item, frame)
        sources: dict[str, SourceFiles] = {}
        for item in change.after:
            _log_vain_purge(item)
            sources.update(self._apply_to(item, frame))
        change.event, change.table, change.sources = self._event(change.event), table, sources
        change.then = self.apply(change.then) if change.then is not None else None
        change.read_names()
        return change

    def _event(self, event: Event) -> Event:
        """The event, with the names in its attributes mapped: inserts, dropped constraints and refreshes have them
        there.
        """
        if event.kind is Kind.REFRESH:
            return replace(event, attributes=self._refreshed(event.attributes))
        if "table" not in event.attributes:
            return event
        name = self.table(TableName.of(event.attributes["database"], event.attributes["table"]))
        return replace(event, attributes={**event.attributes, "database": name.database, "table": name.table})

    def _refreshed(self, names: Mapping[str, str]) -> dict[str, str]:
        """The attributes with the target's names; those of the source are kept beside them if they differ."""
        new: dict[str, str] = {}
        if "table" in names:
            name = self.table(TableName.of(names["database"], names["table"]))
            new = {"database": name.database, "table": name.table}
        elif "database" in names:
            new = {"database": self.database(names["database"])}
        old = {} if new.items() <= names.items() else {f"source_{key}": names[key] for key in new}
        return {**names, **new, **old}

    def frame(self, table: Any) -> Frame:
        """What a table says about the files of its partitions. It must be the source's table, not yet rewritten."""
        return frame_of(table) if self.rewrite_format else _UNKNOWN

    def apply_to(self, item: Any) -> dict[str, SourceFiles]:
        """Rewrite one metastore object, but no partition, for the target, in place.

        Returns its new location with its files at the source, if files are copied.
        """
        if isinstance(item, hive.Partition):
            raise TypeError("a partition is rewritten with the frame of its table")
        _log_vain_purge(item)
        return self._apply_to(item, _UNKNOWN)

    def apply_to_partition(self, partition: Any, frame: Frame) -> dict[str, SourceFiles]:
        """Rewrite a partition of a table with this frame, which says what the partition does not."""
        return self._apply_to(partition, frame)

    def _apply_to(self, item: Any, frame: Frame) -> dict[str, SourceFiles]:
        before = data_location(item) if self.copies and isinstance(item, hive.Table | hive.Partition) else ""
        source_location = item.sd.location if before and item.sd is not None else ""
        # Before the item is altered: these depend on its name, location and parameters at the source.
        files = self._files(item, before, frame) if before else None
        self._alter(item)
        if files is None:
            return {}
        if item.sd is not None and item.sd.location != source_location:
            leave_version(item)
        if files.form is not None:
            alter(item, files.form)
        return {data_location(item): files}

    def _files(self, item: Any, location: str, frame: Frame) -> SourceFiles:
        """The files of a table or partition of the source, which are at `location`."""
        how = self.rewriting(TableName(item.dbName, item.tableName))
        return SourceFiles(location, self._form(item, how, frame), how.removes_extras)

    def _form(self, item: Any, how: Rewriting, frame: Frame) -> Form | None:
        """How its files are re-encoded; None if they are not, or if both ends use the same files."""
        location = data_location(item)
        moved = plain(how.locations.map(location) or "").rstrip("/") != plain(location).rstrip("/")
        # The files of an archive are Hadoop's, whatever the format of the partition is.
        is_archive = isinstance(item, hive.Partition) and location != item.sd.location
        if not self.rewrite_format or not moved or is_archive:
            return None
        of_table = frame_of(item) if isinstance(item, hive.Table) else frame
        return form_of(item.sd, item.parameters, of_table, self.rewrite_format, snapshots=self.snapshots)

    def _alter(self, item: Any) -> None:
        kind = type(item)
        if kind is hive.Database:
            locations = self.rewriting(item.name).locations
            item.name = self.database(item.name)
            item.locationUri = locations.map(item.locationUri)
            if item.managedLocationUri:
                item.managedLocationUri = locations.map(item.managedLocationUri)
        elif kind is hive.Function:
            self._function(item)
        elif kind in idl.ANY_CONSTRAINT:
            self._constraint(item)
        else:
            self._table(item)

    def _table(self, item: Any) -> None:
        """A table or a partition."""
        database, old = item.dbName, TableName(item.dbName, item.tableName)
        how, name = self.rewriting(old), self.table(old)
        item.dbName, item.tableName = name.database, name.table
        how.place(item.sd)
        if type(item) is hive.Partition and item.parameters:
            item.parameters = how.located(item.parameters)
        if type(item) is hive.Table:
            item.parameters = how.table_parameters(without_vain_purge(item))
            if item.id is not None:
                item.id = None  # the target has its own
            self._sources(item)
            if self.renames:
                rename_in_view(item, database, NewNames(self.table, self.database))

    def _rename(self, item: Any, database: str, table: str) -> None:
        name = self.table(TableName.of(getattr(item, database), getattr(item, table)))
        setattr(item, database, name.database)
        setattr(item, table, name.table)

    def _sources(self, view: Any) -> None:
        """Rename the tables that a materialized view is made of."""
        made = view.creationMetadata
        if made is not None:
            made.dbName, made.tblName = view.dbName, view.tableName
            # A name may have the catalog in front.
            used = (TableName.of(*name.split(".")[-2:]) for name in made.tablesUsed or ())
            made.tablesUsed = {str(self.table(name)) for name in used}
            for source in made.sourceTables or ():
                self._rename(source.table, "dbName", "tableName")

    def _constraint(self, item: Any) -> None:
        if isinstance(item, hive.SQLForeignKey):
            self._rename(item, "fktable_db", "fktable_name")
            self._rename(item, "pktable_db", "pktable_name")
        else:
            self._rename(item, "table_db", "table_name")

    def _function(self, item: Any) -> None:
        locations = self.rewriting(item.dbName).locations
        item.dbName = self.database(item.dbName)
        for resource in item.resourceUris or ():
            resource.uri = locations.map(resource.uri)
