"""`pysync target rename` says what was done: a target that the queue never had was not renamed."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
from typer.testing import CliRunner

from pysync.base.errors import PysyncError
from pysync.cli.app import app
from pysync.journal import Journal, Query, Reader, Record
from pysync.queue import EventQueue
from pysync.sidecar import registry
from tests.support.queues import fill

NAMED = ("dr", "lake")


@pytest.fixture
def queue(reopen) -> EventQueue:
    made = reopen()
    made.target("dr").register()
    fill(made, 1, 6)
    return made


def test_a_target_that_the_queue_never_had_is_not_renamed(queue: EventQueue) -> None:
    """Before: `nope is dr now: 6 events wait for it`, exit code 0."""
    with pytest.raises(PysyncError) as error:
        registry.rename(queue, NAMED, "nope", "dr")
    assert str(error.value) == "the queue has no target 'nope' to rename; its targets: dr"
    assert (error.value.exit_code, queue.notes.acts(), queue.positions()) == (1, [], {"dr": 0})


def test_a_rename_that_is_on_record_may_be_asked_for_again(queue: EventQueue) -> None:
    done = [registry.rename(queue, ("lake",), "dr", "lake") for _ in range(3)]
    assert done == [registry.Backlog("lake", 6, 0, None)] * 3
    assert [(it["act"], it["target"], it["to"]) for it in queue.notes.acts()] == [("renamed", "dr", "lake")]


def test_the_journal_knows_a_target_by_its_new_name_and_who_renamed_it(queue: EventQueue) -> None:
    file = queue.room.file.with_name("journal.db")
    with closing(Journal(file, keep=1e12, max_bytes=10**9)) as journal:
        for target in ("dr", "west"):
            journal.append(Record(at=1.0, operation="PutTable", outcome="applied", target=target, object="db.t"))
    registry.rename(queue, ("lake",), "dr", "lake")
    registry.remove(queue, (), "lake")
    found = [(it.operation, it.target, it.reason) for it in Reader(file).records(Query(), 10)]
    assert found == [
        ("RemoveTarget", "lake", None),
        ("RenameTarget", "lake", "dr"),
        ("PutTable", "west", None),
        ("PutTable", "lake", None),
    ]
    assert {it.who for it in Reader(file).records(Query(outcome="done"), 10)} == {f"uid {os.getuid()} (command line)"}


def test_a_journal_that_cannot_be_written_keeps_no_target_from_being_renamed(queue: EventQueue) -> None:
    queue.room.file.with_name("journal.db").mkdir()
    assert registry.rename(queue, ("lake",), "dr", "lake").target == "lake"


def test_a_later_rename_of_others_does_not_hide_it(queue: EventQueue) -> None:
    queue.target("west").register()
    registry.rename(queue, ("lake", "west"), "dr", "lake")
    registry.rename(queue, ("lake", "east"), "west", "east")
    assert registry.rename(queue, ("lake", "east"), "dr", "lake").target == "lake"


@pytest.mark.parametrize("act", ["removed", "renamed"])
def test_a_rename_on_record_does_not_count_once_its_target_is_another(queue: EventQueue, act: str) -> None:
    registry.rename(queue, ("lake",), "dr", "lake")
    if act == "removed":
        registry.remove(queue, (), "lake")
    else:
        registry.rename(queue, ("west",), "lake", "west")
    queue.target("lake").register()
    with pytest.raises(PysyncError, match="no target 'dr' to rename; its targets: lake"):
        registry.rename(queue, ("lake",), "dr", "lake")


def test_the_command_ends_with_1_and_names_the_targets(reopen, tmp_path) -> None:
    queue = reopen()
    queue.target("dr").register()
    queue.close()
    file = tmp_path / "pysync.toml"
    file.write_text(
        f'[source]\nname = "onprem"\n[queue]\ndirectory = "{tmp_path}"\n[[targets]]\nname = "dr"\nkind = "faulty"\n'
    )
    done = CliRunner().invoke(app, ["target", "rename", "nope", "dr", "-c", str(file)])
    assert isinstance(done.exception, PysyncError)
    assert (done.exception.exit_code, done.output) == (1, "")
    assert "its targets: dr" in str(done.exception)
