"""Data files: what a survey found of the directories of tables becomes a line of the report. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from pysync.base.text import count
from pysync.model.file_differences import FileDifference
from pysync.model.names import TableName
from pysync.verify.findings import DIFFERENT, EQUAL, ComparedObject, listed

KIND = "files"


def compared_files(
    by_table: Iterable[tuple[TableName, Sequence[FileDifference]]], names: Mapping[str, str]
) -> Iterator[ComparedObject]:
    """One finding for each table, which may come in several consecutive batches.

    `names` maps names at the source to those at the target. A copied file that the source no longer has is reported,
    but is no drift where nothing would remove it (`Pair.removes_extras`). A directory that is missing at the source is
    no drift, either: nothing is copied for it.
    """
    for table, batches in groupby(by_table, key=itemgetter(0)):
        differences = [it for _, batch in batches for it in batch]
        yield _compared(table, names.get(str(table), str(table)), differences)


def _compared(table: TableName, name: str, differences: Sequence[FileDifference]) -> ComparedObject:
    lacking = [line for it in differences for line in _lacking(it)]
    extra = list(_extra(differences, removes=True))
    protected = list(_extra(differences, removes=False))
    foreign = [f"{file.target} was not copied by pysync" for it in differences for file in it.foreign]
    lost = [f"{it.pair.source} is missing at the source" for it in differences if not it.exists]
    links = [f"{link} is a symbolic link and was skipped" for it in differences for link in it.links]
    drift = lacking + extra
    notes = lost + links + foreign + protected
    result = DIFFERENT if drift or notes else EQUAL
    return ComparedObject(
        KIND,
        name,
        result,
        parts=0,
        fields=listed(drift or notes),
        excuse="" if drift or not notes else _why(lost, links, foreign),
        source=str(table),
    )


def _lacking(difference: FileDifference) -> Iterator[str]:
    for file in sorted(difference.copies, key=lambda it: it.name):
        how = "differs" if file.replaces else "is missing"
        yield f"{file.target} {how} ({count(file.size, 'byte')} at the source)"
    yield from difference.rows


def _extra(differences: Sequence[FileDifference], *, removes: bool) -> Iterator[str]:
    """The copied files that the source no longer has, where they are removed, or where they are not."""
    found = (it for it in differences if it.exists and it.pair.removes_extras is removes)
    return (f"{file.target} is extra" for it in found for file in it.extras)


def _why(lost: Sequence[str], links: Sequence[str], foreign: Sequence[str]) -> str:
    if lost:
        return "a directory is missing at the source"
    if links:
        return "symbolic links are not followed"
    return "files that pysync did not copy are left as they are" if foreign else "drops are suppressed"
