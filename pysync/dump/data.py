"""Data: the data files in a dump, where they are, the lines that list them, and whether they are what was written.

The files of a location of the source are in one directory, whose name follows from the location alone: so a load finds
them without a list. The directory gets that name once all its files are there, and does not change after that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pysync.base.text import error_text, quoted
from pysync.dump.manifest import DumpCounts
from pysync.dump.record import DumpDamaged
from pysync.dump.safe_files import contents, reading
from pysync.model.names import TableName

DATA = "data"
PART = ".part"
_THREADS = 4
_AT_ONCE = 1000  # files: `pool.map` makes a future of each at once
_BLOCK = 1024 * 1024
_DIGITS = 40
_PLACE_PARTS = 3
_PLACED = re.compile(rf"{DATA}/[0-9a-f]{{2}}/[0-9a-f]{{{_DIGITS}}}({re.escape(PART)})?/.", re.DOTALL)
_OTHER = "a directory of a dump contains nothing else: move the file away, or copy the dump again"


@dataclass(frozen=True, slots=True)
class PageLine:
    """Comes before the files of a page of partitions, or of a table without partitions.

    `missing` are locations that the source does not have, `not_taken` those that are not below the dump's prefixes.
    """

    database: str
    table: str
    page: int
    missing: tuple[str, ...] = ()
    not_taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileLine:
    """A file: `path` is where the source had it, `data` where it is in the dump; `modified_ms` since 1970."""

    database: str
    table: str
    path: str
    bytes: int
    modified_ms: int
    data: str
    sha256: str


_LINES: TypeAdapter[PageLine | FileLine] = TypeAdapter(PageLine | FileLine)


def place_of(directory: Path, location: str) -> Path:
    """Where the files of a location of the source are, in the dump in `directory`. Pure."""
    digest = hashlib.sha256(location.rstrip("/").encode(errors="surrogateescape")).hexdigest()
    # Two levels: a dump may have more locations than one directory holds well.
    return directory.absolute() / DATA / digest[:2] / digest[:_DIGITS]


def stored(directory: Path, name: TableName, location: str) -> list[FileLine]:
    """The files of a location that are in the dump. They are on disk (fsync) and read to their end on return."""
    place = place_of(directory, location)
    files = sorted(Path(at) / file for at, _, names in os.walk(place) for file in names)
    line_of = partial(_line, directory.absolute(), place, name, location.rstrip("/"))
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(line_of, files))


def to_bytes(page: PageLine, files: Sequence[FileLine]) -> tuple[bytes, DumpCounts]:
    """A page as lines of JSON, and what is in it."""
    lines = [json.dumps(asdict(page)), *(json.dumps(asdict(it)) for it in files)]
    data_bytes, not_taken = sum(it.bytes for it in files), len(page.not_taken)
    counts = DumpCounts(files=len(files), data_bytes=data_bytes, missing=len(page.missing), not_taken=not_taken)
    return "".join(f"{line}\n" for line in lines).encode(), counts


def lines_of(data: bytes) -> Iterator[PageLine | FileLine]:
    """The lines in a file of the list. Raises DumpDamaged."""
    for line in data.splitlines():
        try:
            yield _LINES.validate_json(line)
        except ValidationError as error:
            text = quoted(line.decode(errors="backslashreplace"))
            raise DumpDamaged(f"cannot read a line of the list of data files: {text}") from error


def last_page(data: bytes) -> PageLine | None:
    """The last page in a file of the list."""
    pages = [it for it in lines_of(data) if isinstance(it, PageLine)]
    return pages[-1] if pages else None


def check(directory: Path, files: Sequence[FileLine], on_progress: Callable[[int], None]) -> None:
    """Read every one of these files. Raises DumpDamaged, which names the first that is not what was written.

    Nor is one that is outside of the dump, or that is no regular file: it is not read.

    `on_progress` gets the bytes of each when it is read.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        for start in range(0, len(files), _AT_ONCE):
            some = files[start : start + _AT_ONCE]
            for file, fault in zip(some, pool.map(partial(_fault, directory.absolute()), some), strict=True):
                if fault is not None:
                    raise DumpDamaged(f"the dump file {directory / file.data} {fault}", "copy the dump again")
                on_progress(file.bytes)


def places_of(files: Sequence[FileLine]) -> dict[str, int]:
    """The places of these files in the dump, each with the number of its files. Raises DumpDamaged as `check`."""
    return dict(Counter(_place(it.data) for it in {it.data: it for it in files}.values()))


def refuse_unlisted(directory: Path, names: Collection[str], places: Mapping[str, int]) -> None:
    """Raise DumpDamaged for a file that has none of these names and is in none of these places.

    Also for more files in a place than it has, and for a link, FIFO, socket or device anywhere. Reads no file.
    """
    numbers: Counter[str] = Counter()
    try:
        for path in contents(directory):
            parts = path.relative_to(directory).parts
            if len(parts) == 1 and parts[0] in names:
                continue
            place = "/".join(parts[:_PLACE_PARTS])
            numbers[place] += 1
            if numbers[place] > places.get(place, 0):
                beside = ", or a file beside it," if place in places else ""
                raise DumpDamaged(f"{path}{beside} is not part of the dump", _OTHER)
    except OSError as error:
        raise DumpDamaged(f"cannot read the directory of the dump: {error_text(error)}") from error


def is_data_file(path: str) -> bool:
    """Whether a dump, finished or not, may have a data file here; `path` is relative to it."""
    return _PLACED.match(path) is not None


def _place(data: str) -> str:
    """The place in which a listed file is. Raises DumpDamaged for one that is in none."""
    parts = data.split("/")
    # A list that was tampered with must not have us read files outside of the dump.
    if not is_data_file(data) or not {"", ".", ".."}.isdisjoint(parts):
        raise DumpDamaged(f"the data file {quoted(data)} is outside of the dump", "copy the dump again")
    return "/".join(parts[:_PLACE_PARTS])


def _fault(directory: Path, file: FileLine) -> str | None:
    """What is wrong with a file; None if nothing is."""
    _place(file.data)
    try:
        size, digest = _summed(directory / file.data)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if (size, digest) == (file.bytes, file.sha256) else "is damaged: its checksum is wrong"


def _line(directory: Path, place: Path, name: TableName, location: str, path: Path) -> FileLine:
    # Spark does not flush what it writes. Linux flushes a file by any of its descriptors.
    with reading(path) as file:
        os.fsync(file.fileno())
    size, digest = _summed(path)
    return FileLine(
        name.database,
        name.table,
        path=f"{location}/{path.relative_to(place).as_posix()}",
        bytes=size,
        modified_ms=path.stat().st_mtime_ns // 1_000_000,
        data=path.relative_to(directory).as_posix(),
        sha256=digest,
    )


def _summed(path: Path) -> tuple[int, str]:
    """The size of a file, in bytes, and its SHA-256."""
    digest, size = hashlib.sha256(), 0
    with reading(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()
