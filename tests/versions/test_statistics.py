"""Column statistics between released metastores: by the events of Hive 4, and by refreshes where there are none.

What is written and left out is in tests/integration/test_statistics.py, which the suite versions runs on these, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from tests.support import new_database, partition, table, wait_until
from tests.support.stages import wait_until_compared
from tests.support.statistics import columns, delete, of_columns, of_timestamps, plain, read, write, write_all
from tests.versions.body import version_of
from tests.versions.conftest import Report
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need, settle

FIRST, SECOND = "k=1", "k=2"


@dataclass(slots=True)
class Ends:
    """A table with two partitions, which is at both ends."""

    stage: Stage
    source: Metastore
    target: Metastore
    name: TableName

    def wait(self, wanted: dict[str, Any], what: str) -> None:
        wait_until(lambda: read(self.target, self.name, FIRST, SECOND) == wanted, seconds=60, what=what)

    def refresh(self) -> None:
        ask(self.stage.config.queue.directory, "refresh", databases=[], tables=[str(self.name)])
        settle(self.stage)


@contextmanager
def ends(directory: Path, source: str, target: str) -> Iterator[Ends]:
    made = {"source": metastore_of(source), "target": metastore_of(target)}
    with Stage(directory, options='statistics = "columns"\n', **made) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as at_source, Metastore(stage.target.uri) as at_target:
            name = TableName(new_database(at_source), "t")
            new = table(name.database, "t", partition_keys=[("k", "string")])
            new.sd.cols = columns()
            at_source.call(lambda client: client.create_table(new))
            new = at_source.table(name.database, "t")
            at_source.call(lambda client: client.add_partitions([partition(new, ["1"]), partition(new, ["2"])]))
            settle(stage)
            wait_until_compared(stage)  # which would bring them, too
            yield Ends(stage, at_source, at_target, name)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("source", "target"), [("4.0.1", "4.1.0"), ("4.1.0", "2.3.10"), ("4.2.0", "4.2.0")])
def test_events_of_hive_4_bring_them(source: str, target: str, tmp_path: Path, report: Report) -> None:
    need(report, source, target)
    with ends(tmp_path, source, target) as found:
        all_of_them = [*of_columns(1), of_timestamps()]
        write(found.source, found.name, all_of_them)
        write(found.source, found.name, of_columns(2), FIRST)
        held = all_of_them if version_of(target) >= (4, 0) else of_columns(1)
        wanted = {"": plain(held), FIRST: plain(of_columns(2)), SECOND: {}}
        found.wait(wanted, "writing them")
        write_all(found.source, found.name, {FIRST: of_columns(3), SECOND: of_columns(4)})
        wanted |= {FIRST: plain(of_columns(3)), SECOND: plain(of_columns(4))}
        found.wait(wanted, "writing those of several partitions at once")
        delete(found.source, found.name, "id")
        delete(found.source, found.name, "sum", SECOND)
        del wanted[""]["id"], wanted[SECOND]["sum"]
        if version_of(source) > (4, 0):  # it tells transactional listeners twice, and others never
            found.refresh()
        found.wait(wanted, "deleting some")
        status = found.stage.status()["targets"][0]
        assert (status["parked"], status["counts"].get("unsupported", 0)) == (0, 0), status


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("source", "target"), [("3.1.3", "4.1.0"), ("2.3.10", "3.1.3")])
def test_of_older_hives_a_refresh_does(source: str, target: str, tmp_path: Path, report: Report) -> None:
    need(report, source, target)
    with ends(tmp_path, source, target) as found:
        write(found.source, found.name, of_columns(1))
        write(found.source, found.name, of_columns(2), FIRST)
        settle(found.stage)
        assert not any(read(found.target, found.name, FIRST, SECOND).values()), "nobody told of them"
        found.refresh()
        assert read(found.target, found.name, FIRST, SECOND) == {
            "": plain(of_columns(1)),
            FIRST: plain(of_columns(2)),
            SECOND: {},
        }
