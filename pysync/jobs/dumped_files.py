"""The data files of a dump: what Spark finds at the source, and how they get into the dump and out of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pysync.config import Config
from pysync.copy.copier import Copier
from pysync.copy.copies import Copies
from pysync.copy.run import RECORD, Copied, Difference, Pair, Removed
from pysync.dump.data import DATA, PART, PageLine, place_of, stored, to_bytes
from pysync.dump.manifest import Counts
from pysync.errors import PysyncError
from pysync.install import listener_jar
from pysync.metastore.client import PARTITIONS_PER_CALL, Reads
from pysync.model.names import TableName
from pysync.model.places import is_below
from pysync.model.table_formats import data_location
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.settings import CopySettings, TargetSettings

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
        for found in self.copier.survey([Pair(location, self.empty) for location in locations]):
            for file in found.copies:
                told = {"database": name.database, "table": name.table, "path": file.source}
                told_all = {**told, "bytes": file.size, "modified_ms": file.time}
                yield json.dumps(told_all).encode() + b"\n", Counts(files=1)


@contextmanager
def opened_copier(config: Config, **changes: Any) -> Iterator[tuple[Copier, Path]]:
    """A copier with the settings of the first target that copies files and these `changes`, and a scratch directory.

    Raises UsageError without pyspark.
    """
    copies_as = next((it.copy_files for it in config.targets if it.copy_files), CopySettings())
    settings = TargetSettings(name=_NAME, kind=_NAME, copy=copies_as.model_copy(update=changes))
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="pysync-dump-")))
        copies = stack.enter_context(closing(Copies([settings], listener_jar, place)))
        yield copies.copiers[_NAME], place


def listing(
    lister: Lister, source: Reads, tables: Iterable[TableName], tell: Callable[[str], None]
) -> Iterator[tuple[bytes, Counts]]:
    """The files of these tables, a page of partitions at a time."""
    for name in tables:
        tell(str(name))
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
        self, source: Reads, tables: Iterator[TableName], after: PageLine | None, tell: Callable[[str], None]
    ) -> Iterator[tuple[bytes, Counts]]:
        """The lines of all pages of these tables after `after`, each once its files are in the dump.

        Idempotent. Raises Unavailable and Rejected as the copier does, PysyncError where Spark does not see the dump.
        """
        done = (after.database, after.table, after.page) if after else None
        for name in tables:
            for number, page in enumerate(locations(source, name)):
                if done is None or (name.database, name.table, number) > done:
                    tell(str(name))
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
        for found in self._at_rest(pairs):
            place = wanted[found.pair.source]
            if not found.exists:
                shutil.rmtree(_unfinished(place), ignore_errors=True)
                continue
            _remove_records(_unfinished(place))
            _assert_same(_unfinished(place), found)
            # Only now: a place that is there counts as complete when a dump is resumed.
            _unfinished(place).rename(place)
        return [it for it, place in wanted.items() if not place.exists()]

    def _at_rest(self, pairs: Sequence[Pair]) -> list[Difference]:
        """Copy until a second look finds nothing that differs."""
        (self.directory / DATA).mkdir(parents=True, exist_ok=True)
        for _ in range(_TRIES):
            # With delete: a killed run may have left files there that the source has dropped since.
            self.copier.copy(pairs, delete=True)
            found = self.copier.survey(pairs)
            busy = [it for it in found if it.exists and (it.copies or it.extras or it.foreign)]
            if not busy:
                return found
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


def _assert_same(directory: Path, found: Difference) -> None:
    """Raises PysyncError if what Spark has found there is not here: its executors have other disks."""
    here = sum(1 for it in directory.rglob("*") if it.is_file()) if directory.is_dir() else -1
    if here != found.same:
        raise PysyncError(f"Spark cannot see the directory of the dump, {directory}", _ALL_SEE)


def _location(path: Path) -> str:
    """The path as Hadoop spells it: unlike in `Path.as_uri`, nothing is escaped."""
    return f"file:{path}"


def _path(location: str) -> Path:
    return Path(location.removeprefix("file:"))
