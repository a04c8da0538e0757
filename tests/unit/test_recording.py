"""Recording: what the replay tells the journal of each operation and of each event that it parks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from pysync.journal import Record
from pysync.model.difference import Difference
from pysync.model.event import Kind
from pysync.model.operation import PutTable
from pysync.replay.recording import Recorder
from pysync.replay.window.translate import Translator
from pysync.targets.base import Outcome
from tests.support import partition, table, wait_for_items, wait_until
from tests.support.drains import Bench, create, create_database, drop, rename
from tests.support.events import event, settings
from tests.support.targets import FakeTarget


def recorded(bench: Bench) -> list[tuple[str, str, str]]:
    return [(it.operation, it.object, it.outcome) for it in bench.records]


def test_every_operation_makes_a_record_with_what_is_known_of_it(benches: Any) -> None:
    bench = benches()
    bench.append(create_database("db"), create("db.t"))
    bench.run()
    assert sorted(recorded(bench)) == [("PutDatabase", "db", "applied"), ("PutTable", "db.t", "applied")]
    (found,) = [it for it in bench.records if it.object == "db.t"]
    assert (found.target, found.source_object, found.events) == ("dr", "db.t", 1)
    assert (found.first_position, found.last_position, found.attempts) == (2, 2, 1)
    assert found.milliseconds is not None
    assert found.committed_at is not None
    assert found.captured_at is not None
    assert (found.reason, found.who, found.former, found.differences) == (None, None, "", ())


def test_what_was_folded_is_counted(benches: Any) -> None:
    bench = benches()
    bench.append(create("db.t"), create("db.t"), create("db.t"))
    bench.run()
    (found,) = bench.records
    assert (found.first_position, found.last_position, found.events) == (1, 3, 3)


def test_the_first_partitions_are_named_and_all_are_counted(benches: Any) -> None:
    owner = table("db", "t", partition_keys=[("day", "string")])
    parts = [partition(owner, [str(number)]) for number in range(130)]
    bench = benches()
    bench.append(lambda number: event(Kind.ADD_PARTITION, of=owner, after=parts, sequence=number))
    bench.run()
    (found,) = bench.records
    assert (found.operation, found.partition_count) == ("PutPartitions", 130)
    assert found.partitions == tuple(f"day={number}" for number in range(10))


def test_mapped_names_are_told_at_both_ends(benches: Any) -> None:
    bench = benches(databases={"shop": "dr_shop", "store": "dr_shop"}, tables={"a.b": "c.d"})
    bench.append(create_database("shop"), create("shop.t"), create("store.u"), create("a.b"), drop("shop.t"))
    bench.run()
    names = {(it.operation, it.object, it.source_object) for it in bench.records}
    assert {("PutTable", "dr_shop.u", "store.u"), ("PutTable", "c.d", "a.b")} <= names
    assert {it.source_object for it in bench.records if it.object == "dr_shop.t"} == {"shop.t"}


def test_a_rename_keeps_the_former_names(benches: Any) -> None:
    bench = benches(databases={"shop": "dr_shop"})
    bench.append(create("shop.a"), rename("shop.a", "shop.b"))
    bench.run()
    (found,) = [it for it in bench.records if it.operation == "RenameTable"]
    assert (found.object, found.former) == ("dr_shop.b", "dr_shop.a")
    assert (found.source_object, found.source_former) == ("shop.b", "shop.a")


def test_parked_events_make_records_with_their_reason_and_those_behind_them_one(benches: Any) -> None:
    bench = benches(databases={"db": "there"})
    bench.target.rejects.add("there.t")
    bench.append(create("db.t"))
    bench.run()
    bench.append(create("db.t"), create("db.t"), create("db.u"))
    bench.run()
    found = [it for it in bench.records if it.outcome in {"parked", "waits"}]
    first, *others = sorted(found, key=lambda it: it.outcome)
    assert (first.operation, first.object, first.source_object) == ("CREATE_TABLE", "there.t", "db.t")
    assert "there.t" in str(first.reason)
    assert [(it.outcome, it.object, it.first_position, it.last_position, it.events) for it in others] == [
        ("waits", "there.t", 2, 3, 2)
    ]
    assert "applied" in {it.outcome for it in bench.records if it.object == "there.u"}


def test_an_event_that_cannot_be_read_makes_a_record(benches: Any) -> None:
    bench = benches()
    bench.append(lambda number: replace(event(Kind.CREATE_TABLE, sequence=number), after=(b"no table",)))
    bench.run()
    (found,) = wait_for_items(lambda: bench.records, 1, what="the record, which is made after the position has moved")
    assert (found.operation, found.outcome, found.object) == ("CREATE_TABLE", "parked", "")
    assert found.reason


def test_a_shadow_records_what_it_would_do(benches: Any) -> None:
    bench = benches(mode="shadow")
    bench.append(create("db.t"))
    bench.run()
    (found,) = bench.records
    assert (found.outcome, found.milliseconds) == ("shadowed", None)
    assert str(found.reason).startswith("put table db.t")


class Telling(FakeTarget):
    """Tells of a change for each operation, also for one that it refuses then."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Difference] = []

    def apply(self, operation: Any) -> Outcome:
        self.told.append(Difference("parameters.password", None, f"of {operation.key}"))
        self.told.append(Difference("comment", 5, operation.key))
        return super().apply(operation)

    def take_differences(self) -> list[Difference]:
        found, self.told = self.told, []
        return found


def test_what_a_target_tells_of_its_changes_is_kept_without_secrets(tmp_path: Any) -> None:
    bench = Bench(tmp_path, Telling(), lanes=1)
    bench.target.unavailable = 2
    bench.append(create("db.t"))
    bench.run()
    bench.close()
    changes = (Difference("parameters.password", None, "***"), Difference("comment", "5", "db.t"))
    assert [(it.outcome, it.attempts, it.differences) for it in bench.records] == [
        ("failed", 1, changes),
        ("failed", 2, changes),
        ("applied", 3, changes),
    ]
    assert bench.records[0].reason == "the target is away"


def test_what_was_changed_before_an_event_was_parked_is_recorded(tmp_path: Any) -> None:
    bench = Bench(tmp_path, Telling(), lanes=1)
    bench.target.rejects = {"db.t"}
    bench.append(create("db.t"))
    bench.run()
    bench.close()
    assert [(it.outcome, bool(it.differences)) for it in bench.records] == [("failed", True), ("parked", False)]


def test_a_bug_in_recording_fails_no_operation(benches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object) -> Record:
        raise RuntimeError("no record of this")

    monkeypatch.setattr(Recorder, "_of_applied", stumble)
    bench = benches()
    bench.append(create("db.t"))
    with capture_logs() as logs:
        bench.run()
        wait_until(lambda: bench.position() == 1, what="the event")
    assert (bench.parked(), bench.records) == ([], [])
    assert [it["event"] for it in logs if it["log_level"] == "error"] == ["record_failed"]


def test_without_a_journal_nothing_is_made() -> None:
    recorder = Recorder("dr", Translator.of(settings()).mapping, None)
    recorder.applied(None, PutTable, None)  # type: ignore[arg-type]  # nothing looks at them
    recorder.parked([])
