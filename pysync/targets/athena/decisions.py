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
from pysync.targets.athena.statements import UnsayableError, hive_type, identifier, is_readable_as, place, same_type

# Decision: which statements bring an object to what it should be, and what is left over for the Glue API.


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


# Tables and databases: the decision that brings what is there, if anything, to what is wanted. Pure.


_REPLACING_SERDES = frozenset({"org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"})
"""The serdes for which Athena documents REPLACE COLUMNS."""

# The serde's own, which Hive adds to every table that is created without it.
_DEFAULT_FORMAT = ("serialization.format", "1")


def decide_database(wanted: Any, there: Any | None) -> Decision:
    """CREATE or ALTER DATABASE. Removed properties, another comment or location are left over.

    The owner, for whom a catalog has no field, is among the properties.
    """
    if there is None:
        pairs = sayable(wanted.parameters)
        return said(lambda: [ddl.create_database(wanted.name, wanted.description, wanted.locationUri, pairs)])
    properties = Properties.between(wanted.parameters, there.parameters)
    found = properties.leftovers()
    found += [Leftover("the comment")] if wanted.description and wanted.description != there.description else []
    found += [Leftover("the location")] if not same_location(wanted.locationUri, there.locationUri) else []
    if not properties.changed and has_mark_of(wanted.parameters, there.parameters):
        return Decision((), tuple(found))
    altered = said(lambda: [ddl.set_database_properties(wanted.name, properties.to_set(wanted.parameters))])
    return Decision(altered.statements, (*altered.leftovers, *found))


def decide_table(wanted: Any, there: Any | None) -> Decision:
    """CREATE TABLE, or the ALTERs that lead from `there` to `wanted`; with other partition keys, DROP and CREATE.

    Where `unsayable` gives a reason, everything is left over.
    """
    reason = unsayable(wanted) or (unsayable(there) if there is not None else None)
    if reason is not None:
        return Decision((), (Leftover(reason),))
    if there is None:
        return _create(wanted)
    if not same_keys(wanted, there):
        created = _create(wanted)
        # Nothing is dropped that no statement could create again.
        dropped = (ddl.drop_table(name_of(wanted)),) if created.statements else ()
        return Decision((*dropped, *created.statements), created.leftovers)
    return _alter(wanted, there)


def unsayable(table: Any) -> str | None:
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
    except UnsayableError as error:
        return str(error)
    if not (storage.location or "").startswith(ddl.S3):
        return f"the location {storage.location!r:.200}, which does not begin with {ddl.S3}"
    return None


def name_of(table: Any) -> TableName:
    """The table's name."""
    return TableName.of(table.dbName, table.tableName)


def same_columns(wanted: Sequence[Any] | None, there: Sequence[Any] | None) -> bool:
    """Whether two lists of columns are the same, with their comments."""
    mine, its = list(wanted or ()), list(there or ())
    return len(mine) == len(its) and all(map(_same_column, mine, its))


def same_location(wanted: str | None, there: str | None) -> bool:
    """Whether two locations are one. A slash at the end does not count; where none is wanted, any will do."""
    return not wanted or wanted.rstrip("/") == (there or "").rstrip("/")


def same_format(wanted: Any, there: Any) -> bool:
    """Whether two storages have the same serde, with its parameters, and formats."""
    mine, its = wanted.serdeInfo, there.serdeInfo
    if (mine and mine.serializationLib) != (its and its.serializationLib):
        return False
    if (wanted.inputFormat, wanted.outputFormat) != (there.inputFormat, there.outputFormat):
        return False
    given, found = dict((mine and mine.parameters) or {}), dict((its and its.parameters) or {})
    key, default = _DEFAULT_FORMAT
    return {key: default, **given} == {key: default, **found}


def _create(wanted: Any) -> Decision:
    made = _as_created(wanted)
    created = said(lambda: [ddl.create_table(wanted, sayable(wanted.parameters))])
    left = (*created.leftovers, *Properties.between(wanted.parameters, made.parameters).leftovers())
    return Decision(created.statements, (*left, *_beyond(wanted, made)))


def _alter(wanted: Any, there: Any) -> Decision:
    columns = _columns(wanted, there)
    moved = NOTHING
    if not same_location(wanted.sd.location, there.sd.location):
        moved = said(lambda: [ddl.set_location(wanted)])
    properties = Properties.between(wanted.parameters, there.parameters)
    written = columns.statements or moved.statements or properties.changed
    marked = NOTHING
    if written or not has_mark_of(wanted.parameters, there.parameters):
        marked = said(lambda: [ddl.set_properties(wanted, properties.to_set(wanted.parameters))])
    # The mark last: an alter that is cut short is not taken for done.
    parts = (columns, moved, marked)
    left = [leftover for part in parts for leftover in part.leftovers]
    left += [*properties.leftovers(), *_beyond(wanted, there)]
    return Decision(tuple(statement for part in parts for statement in part.statements), tuple(left))


def _columns(wanted: Any, there: Any) -> Decision:
    mine, its = wanted.sd.cols, there.sd.cols
    if same_columns(mine, its):
        return NOTHING
    added = mine[len(its) :]
    if len(mine) > len(its) and same_columns(mine[: len(its)], its):
        return Decision((), (_DATES,)) if _has_dates(added) else said(lambda: [ddl.add_columns(wanted, added)])
    serde = wanted.sd.serdeInfo and wanted.sd.serdeInfo.serializationLib
    if serde not in _REPLACING_SERDES or not same_format(wanted.sd, there.sd):
        return Decision((), (Leftover(f"columns of a table with the serde {serde}"),))
    if not all(is_readable_as(old.type, new.type) for old, new in zip(its, mine)):  # noqa: B905, as far as both reach
        return Decision((), (Leftover("a column type that cannot read the old type"),))
    return Decision((), (_DATES,)) if _has_dates(mine) else said(lambda: [ddl.replace_columns(wanted)])


_DATES = Leftover("columns of type date, which Athena can neither add nor replace")


def _has_dates(columns: Sequence[Any]) -> bool:
    return any(same_type(column.type, "date") for column in columns)


def _same_column(wanted: Any, there: Any) -> bool:
    return (
        wanted.name.lower() == there.name.lower()
        and same_type(wanted.type, there.type)
        and (wanted.comment or "") == (there.comment or "")
    )


def same_keys(wanted: Any, there: Any) -> bool:
    """Whether two tables have partition keys of the same names. With other keys it is another table."""
    mine, its = wanted.partitionKeys or (), there.partitionKeys or ()
    return [key.name.lower() for key in mine] == [key.name.lower() for key in its]


def _same_key_types(wanted: Any, there: Any) -> bool:
    pairs = zip(wanted.partitionKeys or (), there.partitionKeys or (), strict=True)
    return all(same_type(one.type, other.type) for one, other in pairs)


def _as_created(wanted: Any) -> Any:
    """The table as a CREATE of it leaves it: without what the statement does not say."""
    made = deepcopy(wanted)
    made.owner, made.retention = None, 0
    made.parameters = {key: value for key, value in (wanted.parameters or {}).items() if key not in STATISTICS}
    made.sd.compressed, made.sd.parameters, made.sd.storedAsSubDirectories = False, {}, False
    made.sd.sortCols, made.sd.skewedInfo = [], None
    made.sd.serdeInfo.name = None
    return made


def _beyond(wanted: Any, there: Any) -> Iterator[Leftover]:
    """What differs and is in no statement on a table that exists; properties are not looked at."""
    yield from _owner(wanted.owner, there.owner)
    if not same_format(wanted.sd, there.sd):
        yield Leftover("a new serde or format")
    if not _same_key_types(wanted, there):
        yield Leftover("the type of a partition key")
    elif not same_columns(wanted.partitionKeys, there.partitionKeys):
        yield Leftover("the comment of a partition key", harmless=True)
    # A retention that is not set at the source may be anything at the target.
    if wanted.retention and wanted.retention != there.retention:
        yield Leftover("the retention", harmless=True)
    yield from storage_leftovers(wanted.sd, there.sd)


def storage_leftovers(wanted: Any, there: Any) -> Iterator[Leftover]:
    """How two storages differ beyond columns, location and format, which no statement on an existing object says.

    What a reader would take for true of files of which it is not is not harmless. A partition that a statement adds has
    all of it from its table.
    """
    if _buckets(wanted) != _buckets(there):
        yield Leftover("buckets")
    of_files = {
        "the sort order in buckets": (wanted.sortCols, there.sortCols),
        "skewed values": (_skew(wanted), _skew(there)),
        "stored as subdirectories": (wanted.storedAsSubDirectories, there.storedAsSubDirectories),
    }
    others = {
        "compressed": (wanted.compressed, there.compressed),
        "storage parameters": (wanted.parameters, there.parameters),
        "the name of the serde": (wanted.serdeInfo.name, there.serdeInfo.name),
    }
    for what, (mine, its) in {**of_files, **others}.items():
        if (mine or None) != (its or None):
            yield Leftover(what, harmless=what in others or not its)


def _owner(wanted: str | None, there: str | None) -> list[Leftover]:
    return [Leftover("the owner", harmless=True)] if wanted and wanted != there else []


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


def decide_put(table: Any, wanted: Sequence[Any], there: Mapping[_Values, Any], *, only_ddl: bool) -> Decision:
    """ADD what is absent, SET LOCATION where only that differs; all other differences are left over.

    `table` is the table at the target, `there` its partitions by their values. With `only_ddl` every location is set,
    however many there are, and even where more than the location differs.
    """
    absent = [item for item in wanted if tuple(item.values) not in there]
    present = [item for item in wanted if tuple(item.values) in there]
    added, left = _sayable(absent, lambda item: next(ddl.add_partitions(table, [item])))
    moved, stay = _moves(table, present, there, only_ddl=only_ddl)
    left += [what for item in added for what in _beyond_partition(item, table.sd, {})]
    left += stay
    return Decision((*ddl.add_partitions(table, added), *moved), _told(left))


def decide_drop(table: Any, there: Iterable[_Values]) -> Decision:
    """DROP the partitions that are there; one with a value that Hive would read as another is left over."""
    dropped, left = _sayable(list(there), lambda values: next(ddl.drop_partitions(table, [values])))
    return Decision(tuple(ddl.drop_partitions(table, dropped)), _told(left))


def _moves(
    table: Any, present: Sequence[Any], there: Mapping[_Values, Any], *, only_ddl: bool
) -> tuple[list[str], list[Leftover]]:
    statements: list[str] = []
    left: list[Leftover] = []
    for item in present:
        its = there[tuple(item.values)]
        beyond = list(_beyond_partition(item, its.sd, its.parameters))
        if same_location(item.sd.location, its.sd.location) or (beyond and not only_ddl):
            left += beyond
            continue
        try:
            statements.append(ddl.set_partition_location(table, item))
        except UnsayableError as error:
            beyond.append(Leftover(str(error)))
        left += beyond
    if len(statements) > MOST_MOVES and not only_ddl:
        return [], [*left, *([Leftover("another location")] * len(statements))]
    return statements, left


def _beyond_partition(item: Any, storage: Any, parameters: Mapping[str, str]) -> Iterator[Leftover]:
    """How a partition differs from this storage and these parameters in what no statement can say."""
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


def _sayable(items: Sequence[Any], say: Callable[[Any], str]) -> tuple[list[Any], list[Leftover]]:
    """The items that a statement can say, and why the others cannot be said."""
    found: list[Any] = []
    left: list[Leftover] = []
    for item in items:
        try:
            say(item)
        except UnsayableError as error:
            left.append(Leftover(str(error)))
        else:
            found.append(item)
    return found, left


def _told(left: Iterable[Leftover]) -> tuple[Leftover, ...]:
    """Each leftover once, with the number of partitions that it is about."""
    return tuple(
        Leftover(f"{leftover.what} (partitions: {count})", harmless=leftover.harmless)
        for leftover, count in Counter(left).items()
    )


# The decision of an Athena target about an object that is compared. Pure.


def decision_of(
    kept: Any, there: Any | None, table: Any | None, with_owner: Callable[[Any | None], Any | None]
) -> Decision:
    """What it would do to bring the object that is `there` to `kept`, whoever owns it."""
    if isinstance(kept, hive.Function):
        return Decision((), (Leftover("a Hive function"),))
    if isinstance(kept, hive.Database):
        return decide_database(_marked(with_owner(kept), there), with_owner(there))
    if isinstance(kept, hive.Table):
        return decide_table(_marked(kept, there), there)
    reason = unsayable(table)
    if reason is not None:
        return Decision((), (Leftover(reason),))
    return decide_put(table, [kept], {tuple(kept.values): there} if there is not None else {}, only_ddl=True)


def _marked(wanted: Any, there: Any | None) -> Any:
    """The wanted object with the mark of the one at the target, so that marks make no difference."""
    if there is None:
        return wanted
    found = copy(wanted)
    found.parameters = {**(wanted.parameters or {}), **marks(there.parameters)}
    return found
