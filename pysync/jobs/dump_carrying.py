"""Carrying: data files into a dump and out of it, with the Spark that copies (docs/dump.md)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pysync.base.errors import PysyncError
from pysync.config import Config
from pysync.copy.copier import Copier
from pysync.copy.copy_round import RECORD, Copied, Elsewhere, Removed, nowhere
from pysync.dump.data import DATA, PART, PageLine, place_of, stored, to_bytes
from pysync.dump.manifest import DumpCounts
from pysync.jobs.dump_listing import locations, opened_copier
from pysync.metastore.reads import Reads
from pysync.model.file_differences import FileDifference, Pair
from pysync.model.locations import is_below
from pysync.model.names import TableName
from pysync.targets.base import Rejected, Unavailable

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
    ) -> Iterator[tuple[bytes, DumpCounts]]:
        """The lines of all pages of these tables after `after`, each once its files are in the dump.

        Idempotent. Raises Unavailable and Rejected as the copier does, PysyncError where Spark does not see the dump.
        """
        done = (after.database, after.table, after.page) if after else None
        for name in tables:
            for number, page in enumerate(locations(source, name)):
                if done is None or (name.database, name.table, number) > done:
                    on_progress(str(name))
                    yield self._page(name, number, page)

    def _page(self, name: TableName, number: int, page: Sequence[str]) -> tuple[bytes, DumpCounts]:
        wanted = {it: place_of(self.directory, it) for it in page if _is_under(it, self.under)}
        not_taken = tuple(it for it in page if it not in wanted)
        missing = self._bring({it: place for it, place in wanted.items() if not place.exists()})
        files = [file for it in wanted for file in stored(self.directory, name, it)]
        return to_bytes(PageLine(name.database, name.table, number, tuple(missing), not_taken), files)

    def _bring(self, wanted: dict[str, Path]) -> list[str]:
        """Copy what is not there yet; returns what the source does not have either."""
        # Extras: a killed run may have left files there that the source has dropped since.
        pairs = [Pair(it, _location(_unfinished(place)), removes_extras=True) for it, place in wanted.items()]
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

    def _at_rest(self, pairs: Sequence[Pair]) -> list[FileDifference]:
        """Copy until a second look finds nothing that differs."""
        (self.directory / DATA).mkdir(parents=True, exist_ok=True)
        for _ in range(_TRIES):
            self.copier.copy(pairs)
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

    def copy(
        self, pairs: Sequence[Pair], *, removed: Removed = lambda *_: None, elsewhere: Elsewhere = nowhere
    ) -> Copied:
        """As `Copier.copy`. What was missing when the dump was made is missing here.

        Raises as it does, and Rejected for what the dump has left out: there would be a table without its rows.
        """
        refuse_not_taken((it.source for it in pairs), self.under)
        moved = [replace(it, source=_location(place_of(self.directory, it.source))) for it in pairs]
        done = self.copier.copy(moved, removed=removed, elsewhere=elsewhere)
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


def _assert_same(directory: Path, difference: FileDifference) -> None:
    """Raises PysyncError if what Spark has found there is not here: its executors have other disks."""
    here = sum(1 for it in directory.rglob("*") if it.is_file()) if directory.is_dir() else -1
    if here != difference.same:
        raise PysyncError(f"Spark cannot see the directory of the dump, {directory}", _ALL_SEE)


def _location(path: Path) -> str:
    """The path as Hadoop spells it: unlike in `Path.as_uri`, nothing is escaped."""
    return f"file:{path}"


def _path(location: str) -> Path:
    return Path(location.removeprefix("file:"))
