"""Mapping: changes names, locations and parameters on the way to a target. Pure, but alters objects in place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.copy.formats import Frame, alter, form_of, frame_of
from pysync.errors import UsageError
from pysync.model import idl
from pysync.model.change import Change
from pysync.model.event import Event, Kind
from pysync.model.files import Form, SourceFiles
from pysync.model.names import TableName, normalized
from pysync.replay.view_names import rename_in_view
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings

# Parameters of tables and serdes that hold a location: Spark's path, Avro's schema, Iceberg's pointers.
_LOCATION_KEYS = ("path", "avro.schema.url", "metadata_location", "previous_metadata_location")
_UNKNOWN = Frame(plain=False)
_EMPTY_AUTHORITY = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):///")


@dataclass(frozen=True, slots=True)
class Locations:
    """Location prefixes, source to target; they match at path boundaries and the longest wins."""

    prefixes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, mapping: dict[str, str]) -> Locations:
        """From the setting `locations`."""
        # Without a slash at the end, which `map` adds: so prefixes match at path boundaries only.
        pairs = [(_plain(source).rstrip("/"), target.rstrip("/")) for source, target in mapping.items()]
        return cls(tuple(sorted(pairs, key=lambda pair: -len(pair[0]))))

    def map(self, location: str | None) -> str | None:
        """The location at the target; the same if no prefix matches.

        Raises Rejected for a location that leaves its prefix by `..`: nobody has mapped the place that it leads to.
        """
        if not location or not self.prefixes:
            return location
        plain = _plain(location)
        for source, target in self.prefixes:
            if plain == source or plain.startswith(source + "/"):
                below = plain[len(source) :]
                if _climbs(below):
                    raise Rejected(
                        f"the location {location} leaves its prefix {source or '/'} by '..'",
                        "correct the location at the source",
                    )
                return target + below or "/"
        return location


@dataclass(frozen=True, slots=True)
class NameMapping:
    """What becomes of objects on the way to one target."""

    databases: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[TableName, TableName] = field(default_factory=dict)
    locations: Locations = Locations()
    parameters: Mapping[str, str] = field(default_factory=dict)
    drop_parameters: tuple[str, ...] = ()
    copies: bool = False  # whether the locations of the files at the source are kept
    anew: str | None = None  # the format of re-encoding, if any

    @classmethod
    def of(cls, settings: TargetSettings) -> NameMapping:
        """The mapping of a target. Raises UsageError that names a rename which cannot be read."""
        return cls(
            databases={normalized(old): normalized(new) for old, new in settings.databases.items()},
            tables={_name(old): _name(new) for old, new in settings.tables.items()},
            locations=Locations.of(settings.locations),
            parameters=settings.parameters,
            drop_parameters=settings.drop_parameters,
            copies=settings.copy_files is not None,
            anew=settings.copy_files.rewrite if settings.copy_files else None,
        )

    def database(self, name: str) -> str:
        """The database's name at the target."""
        return self.databases.get(normalized(name), normalized(name))

    def table(self, name: TableName) -> TableName:
        """The table's name at the target; a rename of the table takes precedence over one of its database."""
        return self.tables.get(name) or TableName(self.database(name.database), name.table)

    def key(self, name: str) -> str:
        """The name at the target of `db`, `db.table`, `db.function()`, or `db.*`, everything in a database."""
        database, dot, rest = name.partition(".")
        if not dot or rest == "*" or rest.endswith("()"):
            return f"{self.database(database)}{dot}{rest}"
        return str(self.table(TableName(database, rest)))

    def databases_of(self, sources: Iterable[str]) -> set[str]:
        """The target's databases that anything in these databases of the source is mapped to."""
        names = set(sources)
        return {self.database(name) for name in names} | {
            new.database for old, new in self.tables.items() if old.database in names
        }

    def source_database(self, name: str) -> str:
        """The name at the source of a database of the target."""
        return next((old for old, new in self.databases.items() if new == name), name)

    def source_table(self, name: TableName) -> TableName:
        """The name at the source of a table of the target."""
        old = next((old for old, new in self.tables.items() if new == name), None)
        return old or TableName(self.source_database(name.database), name.table)

    def source_databases(self, name: str) -> list[str]:
        """The names at the source that map to this database of the target, whether they exist or not."""
        # A database that is renamed itself leaves its own name to others.
        own = [] if name in self.databases else [name]
        return [*(old for old, new in self.databases.items() if new == name), *own]

    def sources_of(self, name: TableName) -> list[TableName]:
        """The names at the source that map to this table of the target, whether they exist or not."""
        moved = [old for old, new in self.tables.items() if new == name]
        within = (TableName(database, name.table) for database in self.source_databases(name.database))
        return [*moved, *(it for it in within if it not in self.tables)]

    def apply(self, change: Change, table: Any = None) -> Change:
        """The change with its objects as the target shall have them; alters the objects in place.

        `table` may be shared, and is rewritten already.
        """
        frame = self.frame(change.table) if change.table is not None else _UNKNOWN
        for item in change.before:
            self._apply_to(item, frame)
        sources: dict[str, SourceFiles] = {}
        for item in change.after:
            sources.update(self._apply_to(item, frame))
        event = self._event(change.event)
        found = Change(event, change.position, table, change.before, change.after, change.whole, sources)
        found.whose = change.whose
        found.then = self.apply(change.then) if change.then is not None else None
        return found

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
        """What a table tells about the files of its partitions. It must be the source's table, not yet rewritten."""
        return frame_of(table) if self.anew else _UNKNOWN

    def apply_to(self, item: Any) -> dict[str, SourceFiles]:
        """Rewrite one metastore object, but no partition, for the target, in place.

        Returns its new location with its files at the source, if files are copied.
        """
        if isinstance(item, hive.Partition):
            raise TypeError("a partition is rewritten with the frame of its table")
        return self._apply_to(item, _UNKNOWN)

    def apply_to_partition(self, partition: Any, frame: Frame) -> dict[str, SourceFiles]:
        """Rewrite a partition of a table with this frame, which tells what the partition does not."""
        return self._apply_to(partition, frame)

    def _apply_to(self, item: Any, frame: Frame) -> dict[str, SourceFiles]:
        storage = getattr(item, "sd", None) if self.copies else None
        before = storage.location if storage is not None else None
        # Before the item is altered: the form depends on the source's location and parameters.
        form = self._form(item, frame) if before else None
        self._alter(item)
        if form is not None:
            alter(item, form)
        return {storage.location: SourceFiles(before, form)} if storage is not None and before else {}

    def _form(self, item: Any, frame: Frame) -> Form | None:
        """How its files are re-encoded; None if they are not, or if both ends use the same files."""
        location = item.sd.location
        moved = _plain(self.locations.map(location) or "").rstrip("/") != _plain(location).rstrip("/")
        if not self.anew or not moved:
            return None
        return form_of(item.sd, item.parameters, frame_of(item) if isinstance(item, hive.Table) else frame, self.anew)

    def _alter(self, item: Any) -> None:
        kind = type(item)
        if kind is hive.Database:
            item.name = self.database(item.name)
            item.locationUri = self.locations.map(item.locationUri)
            if item.managedLocationUri:
                item.managedLocationUri = self.locations.map(item.managedLocationUri)
        elif kind is hive.Function:
            self._function(item)
        elif kind in idl.ANY_CONSTRAINT:
            self._constraint(item)
        else:
            database, name = item.dbName, self.table(TableName(item.dbName, item.tableName))
            item.dbName, item.tableName = name.database, name.table
            self._storage(item.sd)
        if kind is hive.Table:
            item.parameters = self._parameters(item.parameters or {})
            self._sources(item)
            if self.databases or self.tables:
                rename_in_view(item, database, self.database, self.table)

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
        item.dbName = self.database(item.dbName)
        for resource in item.resourceUris or ():
            resource.uri = self.locations.map(resource.uri)

    def _storage(self, storage: Any) -> None:
        if storage is None:  # a view of Hive has none of its own
            return
        storage.location = self.locations.map(storage.location)
        places = storage.skewedInfo and storage.skewedInfo.skewedColValueLocationMaps
        if places:
            storage.skewedInfo.skewedColValueLocationMaps = {k: self.locations.map(v) for k, v in places.items()}
        serde = storage.serdeInfo
        if serde is not None and serde.parameters:
            serde.parameters = self._located(serde.parameters)

    def _parameters(self, parameters: dict[str, str]) -> dict[str, str]:
        kept = {k: v for k, v in parameters.items() if not any(fnmatchcase(k, p) for p in self.drop_parameters)}
        return {**self._located(kept), **self.parameters}

    def _located(self, parameters: dict[str, str]) -> dict[str, str]:
        return {k: (self.locations.map(v) or v) if k in _LOCATION_KEYS else v for k, v in parameters.items()}


def _climbs(path: str) -> bool:
    """Whether a relative path leaves the place where it begins, at its end or on the way."""
    steps = accumulate(-1 if part == ".." else part not in {"", "."} for part in path.split("/"))
    return min(steps) < 0


def _plain(location: str) -> str:
    """The location without an empty authority: `file:///a` and `file:/a` are the same."""
    return _EMPTY_AUTHORITY.sub(r"\1:/", location)


def _name(text: str) -> TableName:
    parts = text.split(".")
    if len(parts) != 2 or not all(parts):
        raise UsageError(f"{text!r} is not a table name", 'write "db.table" = "db.table"')
    return TableName.of(*parts)
