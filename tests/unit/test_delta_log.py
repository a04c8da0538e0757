"""The newest schema in a Delta log: commits, checksums and checkpoints, in any mixture."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.targets.aws.delta_log import MOST_BYTES, newest_schema
from pysync.targets.aws.delta_schema import NoSchema
from tests.support.delta import DeltaLog


def test_the_last_commit_that_has_a_schema_counts() -> None:
    log = DeltaLog()
    log.commit(0, "old")
    log.commit(1, "new")
    log.commit(2)
    assert newest_schema(log) == "new"


def test_a_checksum_of_the_newest_version_is_all_that_is_read() -> None:
    log = DeltaLog()
    for version in range(50):
        log.commit(version, "old" if version == 0 else None)
    log.checksum(49, "new")
    assert newest_schema(log) == "new"
    assert log.opened == ["_last_checkpoint", f"{49:020}.crc"]


def test_a_checksum_without_the_metadata_is_passed_over() -> None:
    log = DeltaLog()
    log.commit(0, "schema")
    log.files[f"{0:020}.crc"] = b'{"numMetadata": 1}'
    assert newest_schema(log) == "schema"


@pytest.mark.parametrize(
    "name",
    [
        "checkpoint.parquet",
        "checkpoint.0000000001.0000000002.parquet",
        "checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet",
    ],
)
def test_older_commits_are_gone_and_the_checkpoint_has_the_schema(name: str) -> None:
    log = DeltaLog()
    log.checkpoint(10, "schema", name)
    log.commit(10)
    log.commit(11)
    assert newest_schema(log) == "schema"


def test_a_checkpoint_of_json_has_the_schema() -> None:
    log = DeltaLog()
    log.commit(10, "schema")
    log.files[f"{10:020}.checkpoint.80a083e8.json"] = log.files.pop(f"{10:020}.json")
    log.commit(11)
    assert newest_schema(log) == "schema"


def test_a_commit_after_the_checkpoint_is_newer() -> None:
    log = DeltaLog()
    log.checkpoint(10, "old")
    log.commit(11, "new")
    assert newest_schema(log) == "new"


def test_what_is_older_than_the_checkpoint_is_not_listed() -> None:
    log = DeltaLog()
    log.commit(0, "old")
    log.checkpoint(3, "new")
    assert newest_schema(log) == "new"
    assert f"{0:020}.json" not in log.opened


def test_a_checkpoint_that_nobody_points_to_is_found() -> None:
    log = DeltaLog()
    log.checkpoint(10, "schema", pointer=False)
    log.commit(11)
    assert newest_schema(log) == "schema"


def test_compacted_commits_and_other_files_are_passed_over() -> None:
    log = DeltaLog()
    log.commit(0, "schema")
    log.files |= {f"{0:020}.{1:020}.compacted.json": b"x", ".0.json.crc": b"x", f"{5:020}.tmp": b"x"}
    assert newest_schema(log) == "schema"


def test_a_file_that_is_removed_meanwhile_is_passed_over() -> None:
    log = DeltaLog()
    log.commit(0, "schema")
    log.names = lambda _: [f"{0:020}.json", f"{1:020}.json"]  # type: ignore[method-assign]
    assert newest_schema(log) == "schema"


def test_no_log_is_told() -> None:
    with pytest.raises(NoSchema, match="it is not there"):
        newest_schema(DeltaLog())


def test_a_log_without_a_schema_is_told() -> None:
    log = DeltaLog()
    log.commit(3)
    with pytest.raises(NoSchema, match="it has no schema"):
        newest_schema(log)


@pytest.mark.parametrize("name", ["_last_checkpoint", f"{9:020}.json", f"{9:020}.crc", f"{9:020}.checkpoint.parquet"])
@settings(max_examples=20)
@given(content=st.binary(max_size=40) | st.just(b'{"metaData": 1}') | st.just(b'{"version": "x"}'))
def test_a_damaged_file_is_told_or_does_no_harm(name: str, content: bytes) -> None:
    log = DeltaLog()
    log.commit(0, "schema")
    log.files[name] = content
    try:
        assert newest_schema(log) == "schema"
    except NoSchema as error:
        assert "damaged" in str(error) or "no schema" in str(error) or "not there" in str(error)  # noqa: PT017


@settings(max_examples=20)  # each is a process
@given(at=st.integers(min_value=0), byte=st.integers(min_value=0, max_value=255))
def test_a_checkpoint_with_a_wrong_byte_is_told_or_read(at: int, byte: int) -> None:
    """Before, the reader of Parquet aborted the process for some bytes."""
    log = DeltaLog()
    log.checkpoint(9, "schema" * 100)
    name = f"{9:020}.checkpoint.parquet"
    content = bytearray(log.files[name])
    content[at % len(content)] = byte
    log.files[name] = bytes(content)
    with suppress(NoSchema):
        newest_schema(log)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["schema", "commit", "checksum", "checkpoint"]), min_size=1, max_size=8))
def test_any_history_gives_its_last_schema(history: list[str]) -> None:
    log, newest = DeltaLog(), "0"
    log.commit(0, newest)
    for version, what in enumerate(history, 1):
        newest = str(version) if what == "schema" else newest
        log.commit(version, newest if what == "schema" else None)
        if what == "checksum":
            log.checksum(version, newest)
        elif what == "checkpoint":
            log.checkpoint(version, newest)
    assert newest_schema(log) == newest


# --- files that are too large


def peak(read: Callable[[], object]) -> int:
    """The most bytes that objects of Python needed at once for a call."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_checkpoint_that_repeats_its_schema_is_in_memory_once() -> None:
    """Before: 2 KiB became 470 MB."""
    log = DeltaLog()
    log.checkpoint(10, "x" * 7000, rows=65_536)
    assert len(log.files[f"{10:020}.checkpoint.parquet"]) < 4096
    assert newest_schema(log) == "x" * 7000
    assert peak(lambda: newest_schema(log)) < 16e6


def test_a_checkpoint_that_is_large_once_it_is_decompressed_is_told() -> None:
    log = DeltaLog()
    log.checkpoint(10, "x" * 100_000_000, compression="zstd")
    assert len(log.files[f"{10:020}.checkpoint.parquet"]) < 100_000
    with pytest.raises(NoSchema, match="is too large"):
        newest_schema(log)


def test_no_checkpoint_has_the_sidecar_read_more_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysync.targets.aws.checkpoint.MOST_REQUESTED", 100)
    log = DeltaLog()
    log.checkpoint(9, "schema")
    with pytest.raises(NoSchema, match="is damaged"):
        newest_schema(log)


class Endless(io.RawIOBase):
    """A file with so many bytes and no line feed, of which nothing is read."""

    def __init__(self, size: int) -> None:
        self.size, self.at, self.fetched = size, 0, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset + (self.size if whence == io.SEEK_END else 0)
        return self.at

    def readinto(self, buffer: Any) -> int:
        self.fetched += len(buffer)
        buffer[:] = b"x" * len(buffer)
        return len(buffer)


@pytest.mark.parametrize("size", [20 * 10**9, 400 * 10**6])
def test_a_commit_of_20_gb_is_not_read_and_of_an_endless_line_only_its_beginning(size: int) -> None:
    log, file = DeltaLog(), Endless(size)
    log.commit(0)
    log.open = lambda name: None if name.startswith("_") else io.BufferedReader(file)  # type: ignore[method-assign]
    with pytest.raises(NoSchema, match="is too large"):
        newest_schema(log)
    assert file.fetched < MOST_BYTES * 2
    assert (file.fetched == 0) is (size > 10**9)


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"NaN"])
def test_a_number_that_is_none_is_damage(number: bytes) -> None:
    log = DeltaLog(_last_checkpoint=b'{"version": ' + number + b"}")
    with pytest.raises(NoSchema, match="damaged"):
        newest_schema(log)
