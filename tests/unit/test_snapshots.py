"""Transactional tables that become ordinary ones with the rows of a snapshot: what is read, and what is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pysync.copy.files import FilesFirst
from pysync.model import idl
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutTable
from pysync.model.snapshot import Snapshot, Transactions
from pysync.replay.refresh import Refresher
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.translate import Translator
from pysync.targets.apply.refusals import refuse_transactional
from pysync.targets.base import Incomplete, Rejected
from tests.support import partition, table
from tests.support.data_versions import VersionsInMemory
from tests.support.events import settings
from tests.support.refreshing import Hms, Target, apply, refreshing
from tests.support.targets import FakeTarget

ORC = ("org.apache.hadoop.hive.ql.io.orc.OrcInputFormat", "org.apache.hadoop.hive.ql.io.orc.OrcSerde")
T = TableName("d", "t")
TRANSACTIONS = Transactions(40, open=(38,), aborted=(7,))


VALUES = {"locations": {"file:/here": "file:/there"}, "copy": {"rewrite": "parquet"}, "transactional": "snapshot"}
REFRESH = {"database": "d", "table": "t"}


def snapshots():
    return settings(**VALUES)


def made(properties=None, *days):
    found = table("d", "t", location="file:/here/t", partition_keys=[("day", "string")] if days else [])
    found.tableType, found.parameters = "MANAGED_TABLE", {"transactional": "true", **(properties or {})}
    found.sd.inputFormat, found.sd.serdeInfo.serializationLib = ORC
    found.sd.serdeInfo.parameters = {}
    found.sd.numBuckets, found.sd.bucketCols = 2, ["id"]
    found.parameters |= {"numRows": "7", "bucketing_version": "2", "mine": "1"}
    return found


def test_a_snapshot_needs_files_that_are_written_anew():
    with pytest.raises(ValidationError, match=r"needs copy\.rewrite"):
        settings(transactional="snapshot", copy=True)


def test_what_the_source_says_of_its_transactions_is_read_and_asked_with():
    answer = idl.GetOpenTxnsResponse(txn_high_water_mark=40, open_txns=[7, 38], abortedBits=b"\x01")
    assert Transactions.of(answer) == TRANSACTIONS
    assert TRANSACTIONS.as_text() == "40:38:38:7"
    assert Transactions(3).as_text() == "3:9223372036854775807::"
    found = idl.TableValidWriteIds(writeIdHighWaterMark=9, invalidWriteIds=[2, 4, 9], abortedBits=b"\x03")
    assert Snapshot.of(found, TRANSACTIONS) == Snapshot(9, TRANSACTIONS, open=(9,), aborted=(2, 4))


def test_at_which_snapshot_a_table_was_read_is_remembered():
    source, target = Hms("d.t"), Target()
    source.found[T], source.committed = made(), {T: Snapshot(3, TRANSACTIONS)}
    translator = Translator.of(snapshots())
    refresher = Refresher(lambda: source, translator, lambda *_: None)
    refresher.apply(target, refreshing(REFRESH, translator))
    assert refresher.reads.snapshots == {T: Snapshot(3, TRANSACTIONS)}


@pytest.mark.parametrize("properties", [{}, {"transactional_properties": "insert_only"}])
def test_a_transactional_table_becomes_an_external_one_of_the_other_format(properties):
    source, target = Hms("d.t"), Target()
    source.found[T], source.committed = made(properties), {T: Snapshot(3, TRANSACTIONS)}
    apply(source, target, REFRESH, **VALUES)
    (put,) = target.applied
    definition = put.definition
    assert (definition.tableType, definition.parameters) == ("EXTERNAL_TABLE", {"EXTERNAL": "TRUE", "mine": "1"})
    assert (definition.sd.numBuckets, definition.sd.bucketCols) == (-1, [])
    assert "Parquet" in definition.sd.inputFormat
    form = put.sources["file:/there/t"].form
    kind = "insert_only" if properties else "full"
    assert (form.transactional, form.snapshot, form.by_place) == (kind, Snapshot(3, TRANSACTIONS), False)


def test_the_partitions_are_of_the_same_snapshot_as_the_table():
    source, target = Hms("d.t"), Target()
    source.found[T], source.committed = made({}, "1"), {T: Snapshot(3, TRANSACTIONS)}
    source.parts[T] = [partition(source.found[T], ["1"])]
    apply(source, target, REFRESH, **VALUES)
    files = [it for operation in target.applied for it in operation.sources.values()]
    assert {it.form.snapshot for it in files} == {Snapshot(3, TRANSACTIONS)}
    assert [part.sd.numBuckets for part in target.applied[1].partitions] == [-1]


def test_a_metastore_that_does_not_say_what_is_committed_has_the_table_refused():
    source = Hms("d.t")
    source.found[T] = made()
    with pytest.raises(Rejected, match="older than 3"):
        apply(source, Target(), REFRESH, **VALUES)


def test_an_event_has_the_table_read_at_the_source():
    definition = made()
    sources = NameMapping.of(snapshots()).apply_to(definition)
    put = PutTable(table=T, definition=definition, sources=sources, mark=Mark("here", 1, 7, 100))
    with pytest.raises(Incomplete, match="read at the source"):
        FilesFirst(NoCopier(), snapshots(), VersionsInMemory()).bring(FakeTarget(), put, lambda _: None, lambda _: None)


class NoCopier:
    def copy(self, pairs, *, removed, elsewhere):  # noqa: ARG002
        raise AssertionError(f"{pairs} were copied")


def test_a_table_that_cannot_be_converted_is_refused():
    of = made()
    of.sd.cols[0].type = "uniontype<int,string>"
    assert NameMapping.of(snapshots()).apply_to(of)["file:/there/t"].form is None
    with pytest.raises(Rejected, match="cannot be converted"):
        refuse_transactional(snapshots(), of)


def test_hive_4_reads_columns_by_their_places():
    of = made()
    of.id = 7
    assert NameMapping.of(snapshots()).apply_to(of)["file:/there/t"].form.by_place


@given(st.sets(st.integers(1, 9)), st.sets(st.integers(1, 9)), st.sets(st.integers(1, 9)), st.integers(0, 9))
def test_a_snapshot_is_newer_if_it_has_a_write_that_the_other_has_not(open_, aborted, closed, before):
    new = Snapshot(9, TRANSACTIONS, tuple(open_ - aborted), tuple(aborted))
    old = Snapshot(before, TRANSACTIONS, tuple(sorted((open_ | closed) - aborted)), tuple(aborted))
    has_more = any(new.has(it) and not old.has(it) for it in range(1, 10))
    assert new.is_newer_than(old) == has_more
    assert not old.is_newer_than(new)
