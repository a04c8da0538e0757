"""The histories of the property tests on two real metastores, while the sidecar is killed again and again."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from pysync.control.client import ask
from pysync.lab.demo.show import compare
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.change import Change
from tests.support import wait_until
from tests.support.model.client import CALLS, HistoryClient, statements
from tests.support.model.source import DATABASES, TABLES, Source, summary
from tests.support.stages import assert_converges, assert_nothing_missing, unequal

HISTORIES = 50


def steps(chance: random.Random) -> bytes:
    """Of two or three of the model's tables: with all six, most steps of so short a history would create one."""
    places = chance.sample(range(len(DATABASES) * len(TABLES)), chance.choice((2, 2, 3)))
    made = (
        (chance.randrange(256), chance.choice(places), chance.randrange(256)) for _ in range(chance.randint(18, 32))
    )
    return bytes(byte for step in made for byte in step)


class History:
    """One history, in databases of its own; `kill` and `start`: before which statement the sidecar goes and comes."""

    def __init__(self, number: int) -> None:
        chance = random.Random(number)
        self.prefix = f"h{number:02}"
        self.source = Source(steps(chance))
        self.statements = statements(self.source.events)
        kills = number % 3 == 2
        self.kill = chance.randrange(len(self.statements)) if kills else None
        self.start = chance.randint(self.kill, len(self.statements)) if self.kill is not None else None

    def run(self, stage: Stage, metastore: Metastore) -> None:
        files = f"file:{stage.source.warehouse}/{self.prefix}_files"
        client = HistoryClient(metastore, self.prefix, files)
        for at, change in enumerate([*self.statements, None]):
            if at == self.kill:
                stage.kill_sidecar()
            if at == self.start:
                stage.start_sidecar()
            if change is not None:
                self._perform(client, change, at)
        astray = client.differences(self.source.world)
        assert not astray, f"{self.prefix} did not do what the model says: {astray}\n{self}"

    def _perform(self, client: HistoryClient, change: Change, at: int) -> None:
        try:
            client.perform(change)
        except Exception as error:
            raise AssertionError(f"the source refused no. {at + 1} of {self}") from error

    def __str__(self) -> str:
        kill = "" if self.kill is None else f", sidecar killed after no. {self.kill}, started after no. {self.start}"
        lines = summary([change.event for change in self.statements])
        return "\n".join([f"{self.prefix} ({len(lines)} statements{kill}):", *lines])


@pytest.mark.timeout(1200)
def test_fifty_histories_on_two_real_metastores_end_equal(tmp_path: Path) -> None:
    histories = [History(number) for number in range(HISTORIES)]
    done = [change for history in histories for change in history.statements]
    assert len(done) > 20 * HISTORIES
    assert {change.kind for change in done} == CALLS.keys()
    assert sum(change.table_name != change.new_table_name for change in done) > HISTORIES, "too few renames"
    with Stage(tmp_path) as stage, closing(Metastore(stage.source.uri, timeout=60)) as metastore:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        for history in histories:
            history.run(stage, metastore)
        try:
            # First: a comparison amid the writes of the replay can deadlock with them in Derby, for 20 s or more.
            wait_until(lambda: stage.status()["targets"][0]["queued"] == 0, seconds=120, what="the end of the queue")
            assert_converges(stage, seconds=60.0)
            assert_nothing_missing(stage)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{guilty(stage, histories)}") from error
        compared = list(compare(stage.source.uri, stage.target.uri, stage.config.targets[0]))
        assert sum(item.kind == "table" for item in compared) > HISTORIES, compared


def guilty(stage: Stage, histories: list[History]) -> str:
    """What is parked, and the histories whose objects differ or are parked."""
    parked = ask(stage.config.queue.directory, "parked list", target=stage.config.targets[0].name)
    names = f"{[item.name for item in unequal(stage)]} {parked}"
    return "\n".join([f"parked: {parked}", *(str(it) for it in histories if f"{it.prefix}_" in names)])
