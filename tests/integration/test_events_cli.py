"""`pysync events` against a real sidecar."""

from __future__ import annotations

import json

import pytest

from pysync.control.client import ask
from tests.support import wait_until
from tests.support.drains import create, create_database, drop
from tests.support.sidecars import FaultyPlace, pysync, send, sidecar


@pytest.fixture
def place(tmp_path):
    place = FaultyPlace(tmp_path)
    place.file.write_text(place.file.read_text().replace("[queue]", '[queue]\nretain = "1h"'))
    return place


def test_what_was_applied_can_be_read_and_nothing_is_said_of_what_it_carried(place):
    with sidecar(place) as running:
        tables = [create(f"db.t{number}") for number in range(1100)]
        send(running, create_database(), *tables, drop("db.t7"))

        def applied():
            return ask(place.queue, "status")["queue"]["history"]["events"] == 1102

        wait_until(applied, seconds=30, what="all events applied")
        everything = place.ask("events", "--limit", 5000)
        assert (everything["first"], everything["last"], everything["next"]) == (1, 1102, None)
        assert [it["position"] for it in everything["events"]] == list(range(1, 1103))
        assert [(it["kind"], it["objects"]) for it in everything["events"][-2:]] == [
            ("CREATE_TABLE", ["db.t1099"]),
            ("DROP_TABLE", ["db.t7"]),
        ]
        assert "location" not in json.dumps(everything).lower()
        of_one = place.ask("events", "--table", "DB.T7")
        assert [it["kind"] for it in of_one["events"]] == ["CREATE_TABLE", "DROP_TABLE"]

        done = pysync("events", "-c", place.file, "--since", 1, "--limit", 2)
        assert (done.returncode, done.stderr) == (0, "")
        assert "the queue holds events 1 to 1102" in done.stdout
        assert "more: --since 3" in done.stdout
        assert "(history: 1,102 of " in pysync("status", "-c", place.file).stdout
