"""Files that a target lacks, or has too many: which of it is drift, and how it is said."""

from __future__ import annotations

from dataclasses import replace

from pysync.model.file_differences import FileDifference, FileStatus, Pair
from pysync.model.names import TableName
from pysync.verify.files import compared_files
from pysync.verify.findings import DIFFERENT, EQUAL, MOST_FIELDS, ComparedObject

T = TableName.of("db", "t")
PAIR = Pair("hdfs://a/t", "s3a://b/t", removes_extras=True)
SUPPRESSED = replace(PAIR, removes_extras=False)


def compared(*differences: FileDifference) -> ComparedObject:
    (found,) = compared_files([(T, differences)], {"db.t": "copy.t"})
    return found


def lacking(name: str, *, replaces: bool = False) -> FileDifference:
    return FileDifference(PAIR, exists=True, copies=[FileStatus(PAIR, name, 1234, 5, replaces)])


def having(pair: Pair, extra: str) -> FileDifference:
    return FileDifference(pair, exists=True, extras=[FileStatus(pair, extra, 1, 0)])


def test_a_table_whose_files_are_all_there_is_equal():
    found = compared(FileDifference(PAIR, exists=True, same=3))
    assert found == ComparedObject("files", "copy.t", EQUAL, source="db.t")
    assert not found.drift


def test_files_that_are_missing_or_differ_are_drift_and_named_with_their_size():
    found = compared(lacking("day=1/a"), lacking("b", replaces=True))
    assert found.drift
    assert found.fields == (
        "s3a://b/t/day=1/a is missing (1,234 bytes at the source)",
        "s3a://b/t/b differs (1,234 bytes at the source)",
    )


def test_extra_files_are_drift_if_drops_are_applied_and_told_if_they_are_suppressed():
    assert compared(having(PAIR, "old")).drift
    reported = compared(having(SUPPRESSED, "old"))
    assert (reported.result, reported.drift, reported.excuse) == (DIFFERENT, False, "drops are suppressed")
    assert reported.fields == ("s3a://b/t/old is extra",)


def test_a_directory_that_the_source_does_not_have_is_told_and_takes_nothing_away():
    found = compared(FileDifference(PAIR, exists=False, extras=[FileStatus(PAIR, "old", 1, 0)]))
    assert (found.drift, found.excuse) == (False, "a directory is missing at the source")
    assert found.fields == ("hdfs://a/t is missing at the source",)


def test_what_is_told_does_not_hide_drift():
    found = compared(having(SUPPRESSED, "old"), lacking("a"))
    assert found.drift
    assert found.fields == ("s3a://b/t/a is missing (1,234 bytes at the source)",)


def test_batches_of_one_table_are_one_line_and_other_tables_have_their_own():
    other = TableName.of("db", "u")
    batches = [
        (T, [lacking("a")]),
        (T, [FileDifference(PAIR, exists=True)]),
        (other, [FileDifference(PAIR, exists=True)]),
    ]
    first, second = compared_files(batches, {})
    assert (first.name, first.result) == ("db.t", DIFFERENT)
    assert (second.name, second.result) == ("db.u", EQUAL)


def test_of_many_files_some_are_named_and_all_are_counted():
    found = compared(*(lacking(f"f{number:03}") for number in range(MOST_FIELDS + 5)))
    assert len(found.fields) == MOST_FIELDS + 1
    assert found.fields[-1] == "and 5 more"
