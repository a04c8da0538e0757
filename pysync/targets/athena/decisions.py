"""Decisions: which statements bring an object to what it should be, and what is left over for the Glue API. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.definition import STATISTICS, WRITTEN_PARAMETERS_KEY
from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.names import TableName
from pysync.targets.athena import statements as ddl
from pysync.targets.athena.statements import InexpressibleError, hive_type, identifier, is_readable_as, place, same_type

# Decision: which statements bring an object to what it should be, and what is left over for the Glue API.


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


# Tables and databases: the decision that brings what is there, if anything, to what is wanted. Pure.


_REPLACING_SERDES = frozenset({"org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"})
"""The serdes for which Athena documents REPLACE COLUMNS."""

# The serde's own, which Hive adds to every table that is created without it.
_DEFAULT_FORMAT = ("serialization.format", "1")


def decide_database(wanted: Any, existing: Any | None) -> Decision:
    """CREATE or ALTER DATABASE. Removed properties, another comment or location are left over.

    The owner, for whom a catalog has no field, is among the properties. Every source has a database `default`, whose
    place is seldom on S3: nobody misses it.
    """
    is_elsewhere = wanted.name == _DEFAULT and not (wanted.locationUri or ddl.S3).startswith(ddl.S3)
    of_place = [Leftover("the location", harmless=is_elsewhere)]
    if existing is None:
        pairs, location = create_properties(wanted.parameters), None if is_elsewhere else wanted.locationUri
        created = decision_from(lambda: [ddl.create_database(wanted.name, wanted.description, location, pairs)])
        return Decision(created.statements, (*created.leftovers, *(of_place if is_elsewhere else ())))
    properties = Properties.between(wanted.parameters, existing.parameters)
    leftovers = properties.leftovers()
    leftovers += [Leftover("the comment")] if wanted.description and wanted.description != existing.description else []
    leftovers += of_place if not same_location(wanted.locationUri, existing.locationUri) else []
    if not properties.changed and has_mark_of(wanted.parameters, existing.parameters):
        return Decision((), tuple(leftovers))
    altered = decision_from(lambda: [ddl.set_database_properties(wanted.name, properties.to_set(wanted.parameters))])
    return Decision(altered.statements, (*altered.leftovers, *leftovers))


def decide_table(wanted: Any, existing: Any | None) -> Decision:
    """CREATE TABLE, or the ALTERs that lead from `existing` to `wanted`; with other partition keys, DROP and CREATE.

    Where `inexpressible_reason` gives a reason, everything is left over.
    """
    reason = inexpressible_reason(wanted) or (inexpressible_reason(existing) if existing is not None else None)
    if reason is not None:
        return Decision((), (Leftover(reason),))
    if existing is None:
        return _create(wanted)
    if not same_keys(wanted, existing):
        created = _create(wanted)
        # Nothing is dropped that no statement could create again.
        dropped = (ddl.drop_table(name_of(wanted)),) if created.statements else ()
        return Decision((*dropped, *created.statements), created.leftovers)
    return _alter(wanted, existing)


def inexpressible_reason(table: Any) -> str | None:
    """Why no statement may touch this table at all; None if it is a plain external table on S3.

    Athena would not only fail on the others: its DROP of an Iceberg table deletes the files.
    """
    parameters, storage = table.parameters or {}, table.sd
    if table.tableType != "EXTERNAL_TABLE":
        return f"a {(table.tableType or 'table').lower().replace('_', ' ')}"
    for key in ("table_type", "storage_handler"):
        if key in parameters:
            return f"a table with {key} {parameters[key]!r:.80}"
    try:
        place(table.dbName, table.tableName)
        for column in (*storage.cols, *(table.partitionKeys or ())):
            identifier(column.name)
            hive_type(column.type)
    except InexpressibleError as error:
        return str(error)
    if not (storage.location or "").startswith(ddl.S3):
        return f"the location {storage.location!r:.200}, which does not begin with {ddl.S3}"
    return None


def name_of(table: Any) -> TableName:
    """The table's name."""
    return TableName.of(table.dbName, table.tableName)


def same_columns(wanted: Sequence[Any] | None, existing: Sequence[Any] | None) -> bool:
    """Whether two lists of columns are the same, with their comments."""
    new, old = list(wanted or ()), list(existing or ())
    return len(new) == len(old) and all(map(_same_column, new, old))


def same_location(wanted: str | None, existing: str | None) -> bool:
    """Whether two locations are one. A slash at the end does not count; where none is wanted, any will do."""
    return not wanted or wanted.rstrip("/") == (existing or "").rstrip("/")


def same_format(wanted: Any, existing: Any) -> bool:
    """Whether two storages have the same serde, with its parameters, and formats."""
    new, old = wanted.serdeInfo, existing.serdeInfo
    if (new and new.serializationLib) != (old and old.serializationLib):
        return False
    if (wanted.inputFormat, wanted.outputFormat) != (existing.inputFormat, existing.outputFormat):
        return False
    new_parameters, old_parameters = dict((new and new.parameters) or {}), dict((old and old.parameters) or {})
    key, default = _DEFAULT_FORMAT
    return {key: default, **new_parameters} == {key: default, **old_parameters}


def _create(wanted: Any) -> Decision:
    made = _as_created(wanted)
    created = decision_from(lambda: [ddl.create_table(wanted, create_properties(wanted.parameters))])
    leftovers = (*created.leftovers, *Properties.between(wanted.parameters, made.parameters).leftovers())
    return Decision(created.statements, (*leftovers, *_beyond(wanted, made)))


def _alter(wanted: Any, existing: Any) -> Decision:
    columns = _columns(wanted, existing)
    moved = NOTHING
    if not same_location(wanted.sd.location, existing.sd.location):
        moved = decision_from(lambda: [ddl.set_location(wanted)])
    properties = Properties.between(wanted.parameters, existing.parameters)
    written = columns.statements or moved.statements or properties.changed
    marked = NOTHING
    if written or not has_mark_of(wanted.parameters, existing.parameters):
        marked = decision_from(lambda: [ddl.set_properties(wanted, properties.to_set(wanted.parameters))])
    # The mark last: an alter that is cut short is not taken for done.
    parts = (columns, moved, marked)
    leftovers = [leftover for part in parts for leftover in part.leftovers]
    leftovers += [*properties.leftovers(), *_beyond(wanted, existing)]
    return Decision(tuple(statement for part in parts for statement in part.statements), tuple(leftovers))


def _columns(wanted: Any, existing: Any) -> Decision:
    wanted_columns, existing_columns = wanted.sd.cols, existing.sd.cols
    if same_columns(wanted_columns, existing_columns):
        return NOTHING
    added = wanted_columns[len(existing_columns) :]
    if len(wanted_columns) > len(existing_columns) and same_columns(
        wanted_columns[: len(existing_columns)], existing_columns
    ):
        return Decision((), (_DATES,)) if _has_dates(added) else decision_from(lambda: [ddl.add_columns(wanted, added)])
    serde = wanted.sd.serdeInfo and wanted.sd.serdeInfo.serializationLib
    if serde not in _REPLACING_SERDES or not same_format(wanted.sd, existing.sd):
        return Decision((), (Leftover(f"columns of a table with the serde {serde}"),))
    if not all(is_readable_as(old.type, new.type) for old, new in zip(existing_columns, wanted_columns)):  # noqa: B905, as far as both reach
        return Decision((), (Leftover("a column type that cannot read the old type"),))
    return (
        Decision((), (_DATES,)) if _has_dates(wanted_columns) else decision_from(lambda: [ddl.replace_columns(wanted)])
    )


_DATES = Leftover("columns of type date, which Athena can neither add nor replace")


def _has_dates(columns: Sequence[Any]) -> bool:
    return any(same_type(column.type, "date") for column in columns)


def _same_column(wanted: Any, existing: Any) -> bool:
    return (
        wanted.name.lower() == existing.name.lower()
        and same_type(wanted.type, existing.type)
        and (wanted.comment or "") == (existing.comment or "")
    )


def same_keys(wanted: Any, existing: Any) -> bool:
    """Whether two tables have partition keys of the same names. With other keys it is another table."""
    new, old = wanted.partitionKeys or (), existing.partitionKeys or ()
    return [key.name.lower() for key in new] == [key.name.lower() for key in old]


def _same_key_types(wanted: Any, existing: Any) -> bool:
    pairs = zip(wanted.partitionKeys or (), existing.partitionKeys or (), strict=True)
    return all(same_type(one.type, other.type) for one, other in pairs)


def _as_created(wanted: Any) -> Any:
    """The table as a CREATE of it leaves it: without what the statement does not express."""
    made = deepcopy(wanted)
    made.owner, made.retention = None, 0
    made.parameters = {key: value for key, value in (wanted.parameters or {}).items() if key not in STATISTICS}
    made.sd.compressed, made.sd.parameters, made.sd.storedAsSubDirectories = False, {}, False
    made.sd.sortCols, made.sd.skewedInfo = [], None
    made.sd.serdeInfo.name = None
    return made


def _beyond(wanted: Any, existing: Any) -> Iterator[Leftover]:
    """What differs and is in no statement on a table that exists; properties are not looked at."""
    yield from _owner(wanted.owner, existing.owner)
    if not same_format(wanted.sd, existing.sd):
        yield Leftover("a new serde or format")
    if not _same_key_types(wanted, existing):
        yield Leftover("the type of a partition key")
    elif not same_columns(wanted.partitionKeys, existing.partitionKeys):
        yield Leftover("the comment of a partition key", harmless=True)
    # A retention that is not set at the source may be anything at the target.
    if wanted.retention and wanted.retention != existing.retention:
        yield Leftover("the retention", harmless=True)
    yield from storage_leftovers(wanted.sd, existing.sd)


def storage_leftovers(wanted: Any, existing: Any) -> Iterator[Leftover]:
    """How two storages differ beyond columns, location and format, which no statement on an existing object expresses.

    What a reader would take for true of files of which it is not is not harmless. A partition that a statement adds has
    all of it from its table.
    """
    if _buckets(wanted) != _buckets(existing):
        yield Leftover("buckets")
    of_files = {
        "the sort order in buckets": (wanted.sortCols, existing.sortCols),
        "skewed values": (_skew(wanted), _skew(existing)),
        "stored as subdirectories": (wanted.storedAsSubDirectories, existing.storedAsSubDirectories),
    }
    others = {
        "compressed": (wanted.compressed, existing.compressed),
        "storage parameters": (wanted.parameters, existing.parameters),
        "the name of the serde": (wanted.serdeInfo.name, existing.serdeInfo.name),
    }
    for name, (new_value, old_value) in {**of_files, **others}.items():
        if (new_value or None) != (old_value or None):
            yield Leftover(name, harmless=name in others or not old_value)


def _owner(wanted: str | None, existing: str | None) -> list[Leftover]:
    return [Leftover("the owner", harmless=True)] if wanted and wanted != existing else []


def _skew(storage: Any) -> tuple[Any, ...]:
    skew = storage.skewedInfo
    if skew is None or not skew.skewedColNames:
        return ()
    return (skew.skewedColNames, skew.skewedColValues, skew.skewedColValueLocationMaps or {})


def _buckets(storage: Any) -> tuple[int, list[str]]:
    columns = [column.lower() for column in storage.bucketCols or ()]
    return (storage.numBuckets or 0) if columns else 0, columns


# Partitions: the decision that brings those that are there to those that are wanted. Pure.


MOST_MOVES = 10
"""How many locations statements set, one partition each; beyond that the Glue API does a hundred in one call."""

_Values = tuple[str, ...]


def decide_put(table: Any, wanted: Sequence[Any], existing: Mapping[_Values, Any], *, only_ddl: bool) -> Decision:
    """ADD what is absent, SET LOCATION where only that differs; all other differences are left over.

    `table` is the table at the target, `existing` its partitions by their values. With `only_ddl` every
    location is set, however many there are, and even where more than the location differs.
    """
    absent = [item for item in wanted if tuple(item.values) not in existing]
    present = [item for item in wanted if tuple(item.values) in existing]
    added, leftovers = _expressible_items(absent, lambda item: next(ddl.add_partitions(table, [item])))
    moved, stay = _moves(table, present, existing, only_ddl=only_ddl)
    leftovers += [leftover for item in added for leftover in _beyond_partition(item, table.sd, {})]
    leftovers += stay
    return Decision((*ddl.add_partitions(table, added), *moved), _counted(leftovers))


def decide_drop(table: Any, existing: Iterable[_Values]) -> Decision:
    """DROP the partitions that are there; one with a value that Hive would read as another is left over."""
    dropped, leftovers = _expressible_items(list(existing), lambda values: next(ddl.drop_partitions(table, [values])))
    return Decision(tuple(ddl.drop_partitions(table, dropped)), _counted(leftovers))


def _moves(
    table: Any, present: Sequence[Any], existing: Mapping[_Values, Any], *, only_ddl: bool
) -> tuple[list[str], list[Leftover]]:
    statements: list[str] = []
    leftovers: list[Leftover] = []
    for item in present:
        existing_partition = existing[tuple(item.values)]
        beyond = list(_beyond_partition(item, existing_partition.sd, existing_partition.parameters))
        if same_location(item.sd.location, existing_partition.sd.location) or (beyond and not only_ddl):
            leftovers += beyond
            continue
        try:
            statements.append(ddl.set_partition_location(table, item))
        except InexpressibleError as error:
            beyond.append(Leftover(str(error)))
        leftovers += beyond
    if len(statements) > MOST_MOVES and not only_ddl:
        return [], [*leftovers, *([Leftover("another location")] * len(statements))]
    return statements, leftovers


def _beyond_partition(item: Any, storage: Any, parameters: Mapping[str, str]) -> Iterator[Leftover]:
    """How a partition differs from this storage and these parameters in what no statement can express."""
    if not same_columns(item.sd.cols, storage.cols):
        yield Leftover("columns that differ from those of the table")
    if not same_format(item.sd, storage):
        yield Leftover("a serde or format that differs from that of the table")
    yield from storage_leftovers(item.sd, storage)
    properties = Properties.between(item.parameters, parameters)
    if properties.changed or properties.removed:
        yield Leftover("parameters")
    if properties.counted:
        yield Leftover("statistics", harmless=True)


def _expressible_items(items: Sequence[Any], statement_of: Callable[[Any], str]) -> tuple[list[Any], list[Leftover]]:
    """The items that a statement can express, and the reasons for the others."""
    expressible: list[Any] = []
    leftovers: list[Leftover] = []
    for item in items:
        try:
            statement_of(item)
        except InexpressibleError as error:
            leftovers.append(Leftover(str(error)))
        else:
            expressible.append(item)
    return expressible, leftovers


def _counted(leftovers: Iterable[Leftover]) -> tuple[Leftover, ...]:
    """Each leftover once, with the number of partitions that it is about."""
    return tuple(
        Leftover(f"{leftover.description} (partitions: {count})", harmless=leftover.harmless)
        for leftover, count in Counter(leftovers).items()
    )


# The decision of an Athena target about an object that is compared. Pure.


def decision_of(
    expected: Any, existing: Any | None, table: Any | None, with_owner: Callable[[Any | None], Any | None]
) -> Decision:
    """What it would do to bring the object that is `existing` to `expected`, whoever owns it."""
    if isinstance(expected, hive.Function):
        return Decision((), (Leftover("a Hive function"),))
    if isinstance(expected, hive.Database):
        return decide_database(_marked(with_owner(expected), existing), with_owner(existing))
    if isinstance(expected, hive.Table):
        return decide_table(_marked(expected, existing), existing)
    reason = inexpressible_reason(table)
    if reason is not None:
        return Decision((), (Leftover(reason),))
    return decide_put(
        table, [expected], {tuple(expected.values): existing} if existing is not None else {}, only_ddl=True
    )


def _marked(wanted: Any, existing: Any | None) -> Any:
    """The wanted object with the mark of the one at the target, so that marks make no difference."""
    if existing is None:
        return wanted
    marked = copy(wanted)
    marked.parameters = {**(wanted.parameters or {}), **marks(existing.parameters)}
    return marked
