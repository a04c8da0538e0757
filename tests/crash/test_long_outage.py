"""A sidecar that is away for ten thousand events: when it is back all of them come, in order, by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table
from tests.support.stages import assert_converges, assert_nothing_missing

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]

CLIENTS = 8
PARTITIONS = 250
ROUNDS = 5
WANTED = 10_000


def test_ten_thousand_events_while_the_sidecar_is_away(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        text = stage.config_file.read_text().replace("[queue]", '[queue]\nretain = "1h"')
        stage.config_file.write_text(text)
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as source:
            name = new_database(source, "long")
        assert_converges(stage)
        before = stage.status()["queue"]["history"]["events"]
        stage.kill_sidecar()

        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda number: change(stage, name, number), range(CLIENTS)))
            spooled = sum(file.stat().st_size for file in (tmp_path / "spool").glob("*.spool"))
            stage.start_sidecar()
            list(clients.map(lambda number: rename(stage, name, number), range(CLIENTS)))

        assert_converges(stage, 300)
        assert_nothing_missing(stage)
        came = list(history(stage))[before:]
        expected = CLIENTS * (1 + 1 + ROUNDS * (PARTITIONS + 1) + 1)
        reported = [event for event in came if event["kind"] != "REFRESH"]
        assert len(reported) == expected >= WANTED
        assert spooled > WANTED * 1000, "they were not spooled"
        numbers = sorted(map(sequence, reported))
        assert numbers == list(range(numbers[0], numbers[0] + expected))
        for number in range(CLIENTS):
            of_one = [event for event in reported if f"{name}.t{number}" in event["objects"]]
            assert [event["kind"] for event in of_one] == in_order()
            assert list(map(sequence, of_one)) == sorted(map(sequence, of_one))


def sequence(event: dict[str, Any]) -> int:
    """The number that the listener gave it; it gives them to the calls of one client in their order."""
    return int(event["id"].rpartition(":")[2])


def in_order() -> list[str]:
    """The kinds of one table's events."""
    each = ["ALTER_TABLE", *PARTITIONS * ["ALTER_PARTITION"]]
    return ["CREATE_TABLE", "ADD_PARTITION", *ROUNDS * each, "ALTER_TABLE"]


def change(stage: Stage, database: str, number: int) -> None:
    """One client: a table with partitions, all of which are altered again and again; each alter is an event."""
    with Metastore(stage.source.uri, timeout=300) as source:
        source.call(lambda client: client.create_table(table(database, f"t{number}", partition_keys=[("n", "int")])))
        there = source.table(database, f"t{number}")
        parts = [partition(there, [str(value)]) for value in range(PARTITIONS)]
        request = hive.AddPartitionsRequest(database, f"t{number}", parts, ifNotExists=False, needResult=False)
        source.call(lambda client: client.add_partitions_req(request))
        found = source.call(lambda client: client.get_partitions(database, f"t{number}", -1))
        for round_ in range(ROUNDS):
            for it in (there, *found):
                it.parameters["round"] = str(round_)
            source.call(lambda client: client.alter_table(database, f"t{number}", there))
            source.call(lambda client: client.alter_partitions(database, f"t{number}", found))


def rename(stage: Stage, database: str, number: int) -> None:
    """What comes while the spool is delivered has to wait for it."""
    with Metastore(stage.source.uri, timeout=300) as source:
        there = source.table(database, f"t{number}")
        there.tableName = f"renamed{number}"
        source.call(lambda client: client.alter_table(database, f"t{number}", there))


def history(stage: Stage) -> Iterator[dict[str, Any]]:
    """All events that are in the queue, in order."""
    since: int | None = 1
    while since is not None:
        answer = ask(stage.config.queue.directory, "events", since=since, limit=1000)
        yield from answer["events"]
        since = answer["next"]
