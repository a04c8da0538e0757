"""An example of a target kind of somebody else's: databases, tables and functions as files in a directory.

    DATABASE/database                        a Database, its thrift bytes; so are the other files
    DATABASE/functions/NAME                  a Function
    DATABASE/tables/NAME/table               a Table
    DATABASE/tables/NAME/partitions/DIGEST   a Partition, by its values
    .aside/…                                 what is being written, or removed

What is there is there as a whole: a file comes to its name when it is complete, and a directory leaves it in one step.
Nothing is flushed to the disk: what a power cut takes is for `pysync verify --repair` to bring again.
"""

from __future__ import annotations

import errno
import hashlib
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import quote, unquote

from hmsclient.genthrift.hive_metastore import ttypes as hive
from pydantic import Field

from pysync.lab.memory.column_types import is_type
from pysync.model.names import DEFAULT_PARTITION, TableName, partition_values
from pysync.model.struct_copies import filled
from pysync.model.wire import decode, encode
from pysync.targets.answers import Answer, answer
from pysync.targets.base import Forbidden, MissingDatabase, OutcomeUnknown, Rejected, Unavailable
from pysync.targets.hive import name_of
from pysync.targets.kinds import TargetKind
from pysync.targets.settings import TargetSettings
from pysync.targets.store import Capability, HasFunctions, Store, Written
from pysync.targets.target import StoreTarget

_ANSWERS: Sequence[Answer[OSError]] = (
    Answer(lambda it: isinstance(it, PermissionError), Forbidden, "grant pysync permission to write there"),
    Answer(lambda it: it.errno == errno.ENAMETOOLONG, Rejected, "exclude the table"),
    Answer(lambda _: True, OutcomeUnknown),
)


class DirectorySettings(TargetSettings):
    """A `[[targets]]` table of `kind = "directory"`."""

    kind: Literal["directory"]
    directory: Path = Field(description="Directory of the target. It must exist.")


class DirectoryStore(Store, HasFunctions):
    """A directory, which several processes may use at once."""

    lacks: ClassVar[Mapping[Capability, str]] = {
        Capability.CONSTRAINTS: "the directory has no file for constraints",
        Capability.COLUMN_STATISTICS: "the directory has no file for statistics",
        Capability.RENAMES: "a table and its partitions cannot get other locations in one step",
    }

    def __init__(self, settings: DirectorySettings) -> None:
        super().__init__(settings, f"target {settings.name!r} in {settings.directory}")
        self._root = settings.directory

    @contextmanager
    def classified(self, what: str, *, reading: bool = False) -> Iterator[None]:
        """Sort the errors of the operating system; the errors of pysync pass as they are."""
        if not self._root.is_dir():  # one that is not mounted must not be taken for an empty one
            raise Unavailable(f"{what}: {self._root} does not exist")
        try:
            yield
        except OSError as error:
            raise answer(_ANSWERS, error).error(what, error, reading=reading) from error

    def is_race(self, error: Exception) -> bool:
        """Somebody has removed what we were about to write into."""
        return isinstance(error, FileNotFoundError)

    def check(self) -> str:
        return f"{len(self.databases())} databases in {self._root}"

    def databases(self) -> list[str]:
        return [unquote(path.name) for path in _listed(self._root) if (path / "database").exists()]

    def database(self, name: str) -> Any | None:
        return _read(hive.Database, self._at(name, "database"))

    def table_names(self, database: str) -> list[str]:
        return [unquote(path.name) for path in _listed(self._at(database, "tables")) if (path / "table").exists()]

    def table(self, name: TableName) -> Any | None:
        return _read(hive.Table, self._table(name) / "table")

    def partitions(self, name: TableName) -> Iterator[Any]:
        return _read_all(hive.Partition, _listed(self._table(name) / "partitions"))

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        return list(_read_all(hive.Partition, (self._partition(name, partition_values(it)) for it in names)))

    def functions(self, database: str) -> list[Any]:
        return list(_read_all(hive.Function, _listed(self._at(database, "functions"))))

    def as_stored(self, item: Any, table: Any | None = None) -> Any:
        """As it is. A type that no Hive has is a mistake, which whoever reads the directory would stumble over."""
        for column in item.sd.cols or () if isinstance(item, hive.Table) else ():
            if not is_type(column.type):
                raise Rejected(f"table {name_of(item)}: {column.type[:80]!r} is not a type")
        return super().as_stored(item, table)

    def create_database(self, wanted: Any) -> None:
        self._at(wanted.name, "functions").mkdir(parents=True, exist_ok=True)
        self._write(self._at(wanted.name, "database"), wanted)

    def alter_database(self, wanted: Any, existing: Any) -> bool:
        return self._write(self._at(existing.name, "database"), filled(wanted, existing))

    def drop_database(self, name: str) -> None:
        self._remove(self._at(name))

    def create_function(self, wanted: Any) -> None:
        self._expect(wanted.dbName)
        self._write(self._at(wanted.dbName, "functions", wanted.functionName), wanted)

    def alter_function(self, wanted: Any, existing: Any) -> None:
        self._write(self._at(existing.dbName, "functions", existing.functionName), filled(wanted, existing))

    def drop_function(self, database: str, name: str) -> None:
        self._at(database, "functions", name).unlink(missing_ok=True)

    def create_table(self, wanted: Any) -> None:
        self._expect(wanted.dbName)
        (self._table(name_of(wanted)) / "partitions").mkdir(parents=True, exist_ok=True)
        self._write(self._table(name_of(wanted)) / "table", wanted)

    def alter_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> bool:  # noqa: ARG002
        return self._write(self._table(name_of(existing)) / "table", filled(wanted, existing))

    def drop_tables(self, tables: Sequence[Any], *, delete_data: bool) -> None:  # noqa: ARG002
        for table in tables:
            self._remove(self._table(name_of(table)))

    def put_partitions(self, table: Any, absent: Sequence[Any], changed: Sequence[tuple[Any, Any]]) -> Written:
        for item in (*absent, *(filled(wanted, existing) for wanted, existing in changed)):
            self._write(self._partition(name_of(table), item.values), item)  # whether it is there by now or not
        return Written(any=True)

    def drop_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:  # noqa: ARG002
        for item in existing:
            self._partition(name_of(table), item.values).unlink(missing_ok=True)

    def _at(self, *names: str) -> Path:
        return self._root.joinpath(*(quote(name, safe="") for name in names))

    def _table(self, name: TableName) -> Path:
        return self._at(name.database, "tables", name.table)

    def _partition(self, name: TableName, values: Sequence[str]) -> Path:
        """Values may be longer than the name of a file."""
        reported = "/".join(quote(value or DEFAULT_PARTITION, safe="") for value in values)
        return self._table(name) / "partitions" / hashlib.sha256(reported.encode()).hexdigest()

    def _expect(self, database: str) -> None:
        if self.database(database) is None:
            raise MissingDatabase.of_target(self.settings.name, f"database {database}")

    def _write(self, path: Path, struct: Any) -> bool:
        new = self._aside()
        new.write_bytes(encode(struct))
        new.replace(path)
        return True

    def _remove(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(path.rename(self._aside()))

    def _aside(self) -> Path:
        self._at(".aside").mkdir(exist_ok=True)
        return self._at(".aside", secrets.token_hex(8))


def _read(kind: type[Any], path: Path) -> Any | None:
    with suppress(FileNotFoundError, NotADirectoryError):
        return decode(kind, path.read_bytes())
    return None


def _listed(path: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return sorted(path.iterdir())
    return []


def _read_all(kind: type[Any], paths: Iterable[Path]) -> Iterator[Any]:
    return (item for path in paths if (item := _read(kind, path)) is not None)


KIND = TargetKind(settings=DirectorySettings, open=lambda settings: StoreTarget(DirectoryStore(settings)))
