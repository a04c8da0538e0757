"""`pysync trash` against a real sidecar whose target is a metastore in memory; HMS itself: tests/conformance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import wait_for_value, wait_until
from tests.support.drains import create, create_database, drop
from tests.support.sidecars import FaultyPlace, assert_one_line, pysync_here, send, sidecar, wait_for

pytestmark = pytest.mark.smoke


@pytest.fixture
def place(tmp_path: Path) -> FaultyPlace:
    made = FaultyPlace(tmp_path)
    made.write(more='drops = "trash"\n')
    return made


def tables(place: FaultyPlace) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = place.ask("trash", "list", "try")["tables"]
    return found


def test_dropped_tables_are_listed_restored_and_removed(place: FaultyPlace) -> None:
    with sidecar(place) as running:
        names = ("db.a", "db.b", "db.c")
        send(running, create_database(), *map(create, names))
        wait_for(running, queued=0)
        send(running, *map(drop, names), first=5)
        wait_for_value(
            lambda: sorted(it["table"] for it in tables(place)), [*names], seconds=30, what="the tables in the trash"
        )
        workers = {it["name"]: it["state"] for it in running.status()["workers"]}
        assert workers["trash-try"] in {"starting", "running"}
        kept = {it["table"]: it["name"] for it in tables(place)}
        assert all(it["expires_at"] - it["at"] == 7 * 86400 for it in tables(place))

        def why(table: str) -> dict[str, Any]:
            reason: dict[str, Any] = place.ask("why", table)["targets"][0]["reasons"][0]
            return reason

        wait_until(
            lambda: why("db.b")["code"] == "dropped", seconds=30, what="the end of the comparison of a new target"
        )
        assert why("db.b")["hint"] == f"pysync trash restore try {kept['db.b']}"
        assert "db.a" in pysync_here("trash", "list", "try", "-c", place.file).stdout
        moved = f"table db.a moved to the trash as {kept['db.a']}"
        wait_until(
            lambda: moved in pysync_here("actions", "-c", place.file).stdout, seconds=30, what="the move in the journal"
        )
        assert place.ask("trash", "restore", "try", kept["db.a"])["restored"] == "db.a"
        wait_until(lambda: "it was restored at" in why("db.a")["text"], seconds=30, what="the act in the journal")
        assert why("db.a")["hint"] is None, "a person has it already"
        saved = pysync_here("trash", "restore", "try", kept["db.b"], "--as", "db.saved", "-c", place.file)
        assert saved.stdout == "restored: db.saved\n"
        refused = pysync_here("trash", "restore", "try", kept["db.b"], "-c", place.file)
        assert_one_line(refused, 1, f"the trash has no table {kept['db.b']}", "pysync trash list try")
        assert place.ask("trash", "empty", "try", "--older-than", "1h", "--yes")["removed"] == 0
        assert place.ask("trash", "empty", "try", "--yes")["removed"] == 1
        assert tables(place) == []

        def acts() -> list[tuple[str, str, str]]:
            records = place.ask("actions", "--target", "try")["records"]
            return [(it["operation"], it["outcome"], it["reason"]) for it in records if it["who"]]

        wanted = [
            ("EmptyTrash", "done", "1 removed"),
            ("EmptyTrash", "done", "0 removed"),
            ("RestoreTrash", "refused", f"the trash has no table {kept['db.b']}"),
            ("RestoreTrash", "done", f"{kept['db.b']} is db.saved again"),
            ("RestoreTrash", "done", f"{kept['db.a']} is db.a again"),
        ]
        wait_for_value(acts, wanted, seconds=30, what="the acts in the journal")  # written half a second later


def test_without_a_sidecar_this_process_does_it_and_the_journal_knows(place: FaultyPlace) -> None:
    place.queue.mkdir(mode=0o700)
    assert tables(place) == []
    assert place.ask("trash", "empty", "try", "--yes") == {"target": "try", "removed": 0}
    assert_one_line(pysync_here("trash", "restore", "try", "t1", "-c", place.file), 1, "the trash has no table t1")
    acts = place.ask("actions")["records"]
    assert [(it["operation"], it["outcome"]) for it in acts] == [("RestoreTrash", "refused"), ("EmptyTrash", "done")]
    assert all(it["who"].endswith("(command line)") for it in acts)
    assert_one_line(pysync_here("trash", "list", "nope", "-c", place.file), 2, "has no target 'nope'")
