"""Dumping: everything in scope of a living source, written down in a directory, with its data files (docs/dump.md)."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from thrift.Thrift import TException

from pysync.base.errors import PysyncError, UsageError
from pysync.config import Config
from pysync.copy.copier import Copier
from pysync.copy.copies import Copies
from pysync.copy.run import RECORD, Copied, Difference, Pair, Removed
from pysync.dump.data import DATA, PART, PageLine, last_page, place_of, stored, to_bytes
from pysync.dump.index import FILES, KIND, SUFFIX, Dump, indexed
from pysync.dump.manifest import Counts, Manifest, Within, needs_definitions, scope_of
from pysync.dump.pieces import Pieces, opened, read_piece
from pysync.dump.read import DumpReader
from pysync.dump.record import HEAD, Recorder
from pysync.dump.write import Selection, Writing, changes_since, newest, newest_within, touched_tables
from pysync.metastore.access import MetastoreRef
from pysync.metastore.client import PARTITIONS_PER_CALL
from pysync.metastore.errors import MetastoreError
from pysync.metastore.reads import Reads
from pysync.model.locations import is_below
from pysync.model.names import TableName
from pysync.model.table_formats import data_location
from pysync.replay.window.repl_text import parse_policy
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.settings import CopySettings, TargetSettings

# The data files of a dump: what Spark finds at the source, and how they get into the dump and out of it.


# --- The list of the data files of a dump: what Spark finds in the directories of its tables and partitions


_NAME = "dump"


@dataclass(frozen=True, slots=True)
class Lister:
    """Lists a directory as the survey of what an empty one lacks."""

    copier: Copier
    empty: str

    @classmethod
    @contextmanager
    def opened(cls, config: Config) -> Iterator[Lister]:
        """With the Spark settings of the first target that copies files. Raises UsageError without pyspark."""
        with opened_copier(config) as (copier, scratch):
            empty = scratch / "empty"
            empty.mkdir()
            yield cls(copier, empty.as_uri())

    def lines(self, name: TableName, locations: Iterable[str]) -> Iterator[tuple[bytes, Counts]]:
        """A line of JSON for each file in these directories of a table. Raises Unavailable and Rejected."""
        for listed in self.copier.survey([Pair(location, self.empty) for location in locations]):
            for file in listed.copies:
                line = {"database": name.database, "table": name.table, "path": file.source}
                whole_line = {**line, "bytes": file.size, "modified_ms": file.time}
                yield json.dumps(whole_line).encode() + b"\n", Counts(files=1)


@contextmanager
def opened_copier(config: Config, **changes: Any) -> Iterator[tuple[Copier, Path]]:
    """A copier with the settings of the first target that copies files and these `changes`, and a scratch directory.

    Raises UsageError without pyspark.
    """
    copies_as = next((it.copy_files for it in config.targets if it.copy_files), CopySettings())
    settings = TargetSettings(name=_NAME, kind=_NAME, copy=copies_as.model_copy(update=changes))
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="pysync-dump-")))
        copies = stack.enter_context(closing(Copies([settings], place)))
        yield copies.copiers[_NAME], place


def listing(
    lister: Lister, source: Reads, tables: Iterable[TableName], on_progress: Callable[[str], None]
) -> Iterator[tuple[bytes, Counts]]:
    """The files of these tables, a page of partitions at a time."""
    for name in tables:
        on_progress(str(name))
        for page in locations(source, name):
            yield from lister.lines(name, page)


def locations(source: Reads, name: TableName) -> Iterator[list[str]]:
    """Where the files of a table are, a page of its partitions at a time. A dump gives the same pages each time."""
    for items in _stored(source, name):
        yield [location for it in items if (location := data_location(it))]


def _stored(source: Reads, name: TableName) -> Iterator[list[Any]]:
    """What has files of its own: the table, or its partitions."""
    table = source.table(name.database, name.table)
    if table is None or not table.partitionKeys:
        yield [table] if table is not None else []
        return
    names = source.partition_names(name.database, name.table)
    for start in range(0, len(names), PARTITIONS_PER_CALL):
        yield source.partitions_by_name(name.database, name.table, names[start : start + PARTITIONS_PER_CALL])


# --- Carrying: data files into a dump and out of it, with the Spark that copies (docs/dump.md)

_TRIES = 5
_ALL_SEE = "use a directory that all hosts of Spark share, or remove master from [targets.copy]"


@dataclass(frozen=True, slots=True)
class Into:
    """Brings directories of the source into the dump in `directory`, if they are below one of the prefixes `under`."""

    copier: Copier
    directory: Path
    under: Sequence[str]

    @classmethod
    @contextmanager
    def opened(cls, config: Config, directory: Path, under: Sequence[str]) -> Iterator[Into]:
        """With the settings of the first target that copies files; what was copied is compared byte for byte.

        Raises UsageError without pyspark.
        """
        with opened_copier(config, compare="checksum") as (copier, _):
            yield cls(copier, directory, under)

    def parts(
        self, source: Reads, tables: Iterator[TableName], after: PageLine | None, on_progress: Callable[[str], None]
    ) -> Iterator[tuple[bytes, Counts]]:
        """The lines of all pages of these tables after `after`, each once its files are in the dump.

        Idempotent. Raises Unavailable and Rejected as the copier does, PysyncError where Spark does not see the dump.
        """
        done = (after.database, after.table, after.page) if after else None
        for name in tables:
            for number, page in enumerate(locations(source, name)):
                if done is None or (name.database, name.table, number) > done:
                    on_progress(str(name))
                    yield self._page(name, number, page)

    def _page(self, name: TableName, number: int, page: Sequence[str]) -> tuple[bytes, Counts]:
        wanted = {it: place_of(self.directory, it) for it in page if _is_under(it, self.under)}
        not_taken = tuple(it for it in page if it not in wanted)
        missing = self._bring({it: place for it, place in wanted.items() if not place.exists()})
        files = [file for it in wanted for file in stored(self.directory, name, it)]
        return to_bytes(PageLine(name.database, name.table, number, tuple(missing), not_taken), files)

    def _bring(self, wanted: dict[str, Path]) -> list[str]:
        """Copy what is not there yet; returns what the source does not have either."""
        pairs = [Pair(it, _location(_unfinished(place))) for it, place in wanted.items()]
        if not pairs:
            return []
        for difference in self._at_rest(pairs):
            place = wanted[difference.pair.source]
            if not difference.exists:
                shutil.rmtree(_unfinished(place), ignore_errors=True)
                continue
            _remove_records(_unfinished(place))
            _assert_same(_unfinished(place), difference)
            # Only now: a place that is there counts as complete when a dump is resumed.
            _unfinished(place).rename(place)
        return [it for it, place in wanted.items() if not place.exists()]

    def _at_rest(self, pairs: Sequence[Pair]) -> list[Difference]:
        """Copy until a second look finds nothing that differs."""
        (self.directory / DATA).mkdir(parents=True, exist_ok=True)
        for _ in range(_TRIES):
            # With delete: a killed run may have left files there that the source has dropped since.
            self.copier.copy(pairs, delete=True)
            differences = self.copier.survey(pairs)
            busy = [it for it in differences if it.exists and (it.copies or it.extras or it.foreign)]
            if not busy:
                return differences
        raise Unavailable(
            f"{busy[0].pair.source} changes faster than pysync can copy it", "run the command again later"
        )


@dataclass(frozen=True, slots=True)
class OutOf:
    """A copier that takes the files of a location of the source from the dump in `directory`, made with `under`."""

    directory: Path
    under: Sequence[str]
    copier: Copier

    def copy(self, pairs: Sequence[Pair], *, delete: bool, removed: Removed = lambda *_: None) -> Copied:
        """As `Copier.copy`. What was missing when the dump was made is missing here.

        Raises as it does, and Rejected for what the dump has left out: there would be a table without its rows.
        """
        refuse_not_taken((it.source for it in pairs), self.under)
        moved = [Pair(_location(place_of(self.directory, it.source)), it.target) for it in pairs]
        done = self.copier.copy(moved, delete=delete, removed=removed)
        # Missing for Spark, but not for us: its executors have other disks.
        unseen = next((it for it in done.missing if _path(it.source).exists()), None)
        if unseen is not None:
            raise Unavailable(f"Spark cannot see the directory of the dump, {_path(unseen.source)}", _ALL_SEE)
        return done


def refuse_not_taken(places: Iterable[str], under: Sequence[str]) -> None:
    """Raise Rejected for a location of the source that a dump with these prefixes has left out."""
    for place in places:
        if not _is_under(place, under):
            raise Rejected(
                f"the data files of {place} are not in the dump, which takes those below {', '.join(under)}",
                "dump them, too (--data-under), or load only the metadata: --files none",
            )


def _is_under(place: str, under: Sequence[str]) -> bool:
    return any(is_below(place, prefix) for prefix in under)


def _unfinished(place: Path) -> Path:
    return place.with_name(place.name + PART)


def _remove_records(directory: Path) -> None:
    """Remove the records of copied files: nothing is copied into a finished place of a dump any more."""
    for record in directory.rglob(RECORD):
        record.unlink()


def _assert_same(directory: Path, difference: Difference) -> None:
    """Raises PysyncError if what Spark has found there is not here: its executors have other disks."""
    here = sum(1 for it in directory.rglob("*") if it.is_file()) if directory.is_dir() else -1
    if here != difference.same:
        raise PysyncError(f"Spark cannot see the directory of the dump, {directory}", _ALL_SEE)


def _location(path: Path) -> str:
    """The path as Hadoop spells it: unlike in `Path.as_uri`, nothing is escaped."""
    return f"file:{path}"


def _path(location: str) -> Path:
    return Path(location.removeprefix("file:"))


# Dumping: everything in scope of a living source, written down in a directory (docs/dump.md).


OnProgress = Callable[[str, Counts, int], None]
"""Called with the current object, what is done, and how many tables there are."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be dumped: `within` (None: what the targets of the configuration take).

    `since`, `to` and `limit` are about notifications: with `since` only what they touched is dumped, and what is not in
    `former`, the scope in place of which this one comes. `limit` counts those about what is to be dumped.
    Data files are taken only below the prefixes `data_under` (none: those that the targets map, keys of `locations`).
    """

    within: Within | None = None
    since: int | None = None
    to: int | None = None
    limit: int | None = None
    files: Literal["copy", "list", "none"] = "none"
    former: Within | None = None
    data_under: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises UsageError for what makes no sense."""
        if self.since is None and (self.to is not None or self.limit is not None):
            raise UsageError("--to and --limit need --from", "give --from the notification to begin after")
        if self.to is not None and self.since is not None and self.to < self.since:
            raise UsageError(f"--to {self.to} is before --from {self.since}", "exchange the two values")
        if self.data_under and self.files != "copy":
            raise UsageError("--data-under needs --files copy", "give both, or neither")
        if self.former is not None and _database(self.within) is None:
            raise UsageError("--replace needs --policy", "give the new policy, too")
        if self.former is not None and _database(self.within) != _database(self.former):
            raise UsageError("a policy can only replace one of the same database", "make a full dump of the new policy")


def _database(within: Within | None) -> str | None:
    """The database of a policy; None without a policy."""
    if within is None or within.policy is None:
        return None
    return parse_policy(within.policy).database.lower()


def dump_once(config: Config, directory: Path, wanted: Wanted, on_progress: OnProgress) -> Manifest:
    """Dump into a directory that is empty or not there, or go on with a dump there that was not finished.

    Raises UsageError for a directory with something else, PysyncError for a source that cannot be read, Unavailable and
    Rejected for data files that cannot be: what is done by then is kept.
    """
    wanted.check()
    where = config.source_access()
    if where is None:
        raise UsageError("[source] metastore is not set", "set it to the address of the source")
    within = _within(config, wanted.within)
    with _reading(where) as source, opened(directory, _new_manifest(config, wanted, within, source)) as pieces:
        dump = indexed(directory, pieces.manifest)
        selection = _selection(source, pieces.manifest)
        # For progress alone: the dump lists them again.
        total = sum(1 for _ in _names(source, selection))
        writing = Writing(source, selection, dump.last, pieces.manifest.counts)
        pieces.write(KIND, SUFFIX, HEAD, writing.parts(lambda name, counts: on_progress(name, counts, total)))
        _add_files(config, wanted, pieces, lambda name: on_progress(f"files of {name}", writing.counts, total))
        upto = pieces.manifest.upto
        changed = None if upto is None else changes_since(source, selection.scope, upto)
        pieces.finish(pieces.manifest.model_copy(update={"finished_at": time.time(), "changed": changed}))
    return pieces.manifest


def _within(config: Config, within: Within | None) -> tuple[Within, ...]:
    if within is not None:
        return (within,)
    each = [settings for target in config.targets for _, settings in target.each_policy()]
    policies = [Within(policy=it.policy, include=it.include, exclude=it.exclude) for it in each]
    return tuple(dict.fromkeys(policies))


def _data_under(config: Config, wanted: Wanted) -> tuple[str, ...]:
    """The prefixes below which data files are taken. Raises UsageError if there are none."""
    if wanted.files != "copy":
        return ()
    each = [settings for target in config.targets for _, settings in target.each_policy()]
    prefixes = wanted.data_under or tuple(dict.fromkeys(prefix for it in each for prefix in it.locations))
    if not prefixes:
        raise UsageError(
            "it is not known which directories of the source have data files to dump",
            "name them: as locations of a target, or with --data-under PREFIX of pysync dump",
        )
    return prefixes


def _new_manifest(config: Config, wanted: Wanted, within: tuple[Within, ...], source: Recorder) -> Manifest:
    """The dump as it begins; the newest notification is asked for before anything is read."""
    replaces = (wanted.former,) if wanted.former is not None else ()
    scope, data_under = scope_of([*within, *replaces]), _data_under(config, wanted)
    if wanted.since is None:
        upto = newest(source)
    else:
        upto = newest_within(source, scope, wanted.since, wanted.to, wanted.limit)
    return Manifest(
        id=uuid.uuid4().hex,
        source=config.source.name,
        within=within,
        replaces=replaces,
        since=wanted.since,
        upto=upto,
        began_at=time.time(),
        files=wanted.files,
        data_under=data_under,
    )


def _selection(source: Recorder, manifest: Manifest) -> Selection:
    replaces = manifest.replaces
    former = scope_of(replaces) if replaces else None
    by_definition = needs_definitions(replaces)
    return Selection(scope_of(manifest.within), _touched(source, manifest), former, by_definition)


def _touched(source: Recorder, manifest: Manifest) -> frozenset[TableName] | None:
    if manifest.since is None or manifest.upto is None:
        return None
    return touched_tables(source, manifest.since, manifest.upto)


def _names(source: Recorder, selection: Selection) -> Iterator[TableName]:
    for database in filter(selection.scope.database, source.databases()):
        names = (TableName(database, table) for table in source.tables(database))
        yield from filter(selection.may_take, names)


def _add_files(config: Config, wanted: Wanted, pieces: Pieces, on_progress: Callable[[str], None]) -> None:
    """The files of all tables of the dump, or a list of them; a dump that was not finished has some already."""
    if wanted.files == "none":
        return
    dump = indexed(pieces.directory, pieces.manifest)
    listed = [it for it in pieces.manifest.pieces if it.name.startswith(f"{FILES}-")]
    last = read_piece(pieces.directory, listed[-1]) if listed else b""
    # The tables of the dump, not of the source, which may have others by now.
    with DumpReader(dump) as reader:
        if wanted.files == "list":
            with Lister.opened(config) as lister:
                pieces.write(FILES, "jsonl", b"", listing(lister, reader, _left(dump, last), on_progress))
            return
        with Into.opened(config, pieces.directory, pieces.manifest.data_under) as into:
            pieces.write(FILES, "jsonl", b"", into.parts(reader, dump.tables(), last_page(last), on_progress))


def _left(dump: Dump, listed: bytes) -> Iterator[TableName]:
    """The tables from the last listed one on, of which not all files may be listed."""
    lines = listed.splitlines()
    last = json.loads(lines[-1]) if lines else {"database": "", "table": ""}
    return (name for name in dump.tables() if name >= TableName(last["database"], last["table"]))


@contextmanager
def _reading(where: MetastoreRef) -> Iterator[Recorder]:
    try:
        with Recorder(where) as source:
            yield source
    except (MetastoreError, TException) as error:
        raise PysyncError(f"cannot read the source at {where}: {error}", "run the command again to continue") from error
