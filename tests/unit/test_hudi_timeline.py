"""The newest schema in a Hudi table's timeline, as Hudi writes it before and since 1.0."""

from __future__ import annotations

import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.targets.aws.delta_log import MOST_BYTES
from pysync.targets.aws.delta_schema import NoSchema
from pysync.targets.aws.hudi_log import newest_schema
from tests.support.hudi import Timeline, schema

OLD, NEW = schema(("a", "int")), schema(("a", "int"), ("b", "string"))


def test_the_last_commit_with_a_schema_counts() -> None:
    """A table service leaves one without; what is under way has none yet."""
    found = Timeline()
    found.commit(1, OLD)
    found.commit(2, NEW, "deltacommit")
    found.commit(3, None, "replacecommit")
    found.commit(4, "", "commit")
    found.files["20260101000000005.commit.inflight"] = b"not finished"
    assert newest_schema(found, Timeline()) == NEW


def test_hudi_1_writes_avro_into_a_directory_below() -> None:
    timeline = Timeline()
    timeline.avro_commit(1, OLD)
    timeline.avro_commit(3, NEW, "deltacommit")
    timeline.avro_commit(5, None, "replacecommit")
    assert newest_schema(Timeline(), timeline) == NEW


def test_a_table_that_was_upgraded_has_both() -> None:
    before, since = Timeline(), Timeline()
    before.commit(1, OLD)
    since.avro_commit(2, NEW)
    assert newest_schema(before, since) == NEW


def test_only_the_newest_commit_is_read_if_it_has_a_schema() -> None:
    found = Timeline()
    for number in range(20):
        found.commit(number, NEW)
    assert newest_schema(found, Timeline()) == NEW
    assert found.opened == ["20260101000000019.commit"]


def test_other_files_are_passed_over() -> None:
    found = Timeline(**{"20260101000000009.clean": b"x", "20260101000000009.rollback": b"x", "metadata": b"x"})
    found.commit(1, OLD)
    assert newest_schema(found, Timeline()) == OLD


def test_a_table_without_commits_has_the_schema_of_its_creation() -> None:
    found = Timeline()
    found.created_with(OLD)
    assert newest_schema(found, Timeline()) == OLD


def test_a_commit_that_is_archived_meanwhile_is_none() -> None:
    class Archiving(Timeline):
        def names(self, after: str) -> list[str]:
            return [*super().names(after), "20260101000000099.commit"]

    found = Archiving()
    found.commit(1, OLD)
    assert newest_schema(found, Timeline()) == OLD


def test_what_has_no_schema_says_so() -> None:
    with pytest.raises(NoSchema, match="it is not there"):
        newest_schema(Timeline(), Timeline())
    empty = Timeline(**{"hoodie.properties": b"hoodie.table.name=t"})
    empty.commit(1)
    with pytest.raises(NoSchema, match="it has no schema"):
        newest_schema(empty, Timeline())


def test_without_the_extra_the_reason_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    timeline = Timeline()
    timeline.avro_commit(1, OLD)
    with pytest.raises(NoSchema, match=r"\[hudi\]"):
        newest_schema(Timeline(), timeline)


def whole() -> bytes:
    timeline = Timeline()
    timeline.avro_commit(1, OLD)
    return next(iter(timeline.files.values()))


@given(st.binary(max_size=60) | st.integers(0, len(whole())).map(lambda cut: whole()[:cut]))
def test_garbage_is_no_schema(content: bytes) -> None:
    """Nothing but NoSchema comes of it: a damaged table must not stop a target."""
    with suppress(NoSchema):
        newest_schema(Timeline(**{"20260101000000001.commit": content}), Timeline())


@given(st.integers(0, len(whole()) - 1), st.integers(0, 255))
def test_a_flipped_byte_is_no_fault(at: int, value: int) -> None:
    content = bytearray(whole())
    content[at] = value
    with suppress(NoSchema):
        newest_schema(Timeline(**{"20260101000000001.commit": bytes(content)}), Timeline())


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_either_codec_of_a_commit_is_read(codec: str) -> None:
    timeline = Timeline()
    timeline.avro_commit(1, NEW, codec=codec)
    assert newest_schema(Timeline(), timeline) == NEW


def test_a_commit_that_is_large_once_it_is_decompressed_is_told() -> None:
    """Before: 1.9 MB became 3.8 GB."""
    timeline = Timeline()
    timeline.avro_commit(1, "x" * (MOST_BYTES + 1), codec="deflate")
    assert max(map(len, timeline.files.values())) < 100_000
    with pytest.raises(NoSchema, match="once it is decompressed"):
        newest_schema(Timeline(), timeline)


def test_a_commit_that_is_too_large_is_told() -> None:
    timeline = Timeline(**{"20260101000000001.commit": b" " * (MOST_BYTES + 1)})
    with pytest.raises(NoSchema, match="is too large"):
        newest_schema(timeline, Timeline())
