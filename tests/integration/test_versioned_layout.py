"""A reader that looks at the target all the time, while the files of the source are overwritten, sees one version.

PYSYNC_OVERWRITES is how many there are (12 unless given).
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.data_versions import version_in
from tests.support import new_database, partition, table, wait_for_value, wait_until
from tests.support.sidecars import assert_one_line, pysync
from tests.support.stages import wait_until_compared

pytestmark = pytest.mark.spark

FILES = 20
OVERWRITES = int(os.environ.get("PYSYNC_OVERWRITES", "12"))
OPTIONS = """\
copy = { layout = "versioned", settle_seconds = 0.2 }
[spark]
settings = { "spark.driver.defaultJavaOptions" = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1" }
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("versions"), options=OPTIONS) as running:
        running.target.start()
        running.source.start()
        running.start_sidecar()
        wait_until_compared(running)
        yield running


def path_of(item: Any) -> Path:
    return Path(unquote(urlsplit(item.sd.location).path))


class Overwritten:
    """A table, or the one partition of a table, whose files are all replaced again and again."""

    def __init__(self, stage: Stage, name: str, *, by_partition: bool) -> None:
        self.stage, self.name, self.by_partition = stage, name, by_partition
        self.number, self.looks = 0, Counter[str]()
        with closing(Metastore(stage.source.uri)) as source:
            self.database = new_database(source)
            made = table(self.database, name, partition_keys=[("k", "string")] if by_partition else ())
            source.call(lambda client: client.create_table(made))
            made = source.table(self.database, name)
            self.directory = path_of(made) / "k=1" if by_partition else path_of(made)
            self.directory.mkdir(exist_ok=True)
            if by_partition:
                part = partition(made, ["1"])
                part.sd.location = f"file:{self.directory}"
                source.call(lambda client: client.add_partition(part))

    def overwrite(self) -> None:
        """As a job does it: other names for new files, then an alter."""
        self.number += 1
        old = list(self.directory.glob("[!.]*"))
        for at in range(FILES):
            (self.directory / f".{self.number}-{at}").write_text(str(self.number))
        for at in range(FILES):
            (self.directory / f".{self.number}-{at}").rename(self.directory / f"part-{self.number}-{at}")
        for file in old:
            file.unlink()
        with closing(Metastore(self.stage.source.uri)) as source:
            item = self.item(source)
            item.parameters = {**item.parameters, "written": str(self.number)}
            if self.by_partition:
                source.call(lambda client: client.alter_partition(self.database, self.name, item))
            else:
                source.call(lambda client: client.alter_table(self.database, self.name, item))

    def item(self, metastore: Metastore) -> Any:
        if self.by_partition:
            return metastore.partitions_by_name(self.database, self.name, ["k=1"])[0]
        return metastore.table(self.database, self.name)

    def read(self, target: Metastore) -> list[str]:
        """The contents of the files that are listed at the target, one by one as a query reads them."""
        return [it.read_text() for it in sorted(path_of(self.item(target)).glob("[!._]*"))]

    def watch(self, over: threading.Event) -> None:
        with closing(Metastore(self.stage.target.uri)) as target:
            while not over.is_set():
                try:
                    found = self.read(target)
                except FileNotFoundError:
                    self.looks["a file was gone"] += 1
                    continue
                whole = len(found) == FILES and len(set(found)) == 1
                self.looks["one version" if whole else f"{len(found)} files of {sorted(set(found))}"] += 1


@pytest.mark.timeout(120 + 20 * OVERWRITES)
@pytest.mark.parametrize("by_partition", [False, True])
def test_a_reader_sees_one_version_however_often_it_looks(stage: Stage, by_partition: bool) -> None:
    made = Overwritten(stage, "parted" if by_partition else "plain", by_partition=by_partition)
    made.overwrite()
    over = threading.Event()
    reader = threading.Thread(target=made.watch, args=(over,))
    with closing(Metastore(stage.target.uri)) as target:

        def arrived() -> list[str]:
            with suppress(FileNotFoundError, AttributeError, IndexError):
                return made.read(target)
            return []

        wait_for_value(arrived, ["1"] * FILES, seconds=120, what="the first version")
        reader.start()
        try:
            for number in range(2, OVERWRITES + 2):
                made.overwrite()
                wait_for_value(arrived, [str(number)] * FILES, seconds=60, what=f"version {number}")
        finally:
            over.set()
            reader.join()
    assert set(made.looks) == {"one version"}, made.looks


def test_verify_knows_versions_and_repairs_their_files(stage: Stage) -> None:
    made = Overwritten(stage, "repaired", by_partition=False)
    made.overwrite()
    with closing(Metastore(stage.target.uri)) as target:
        wait_until(lambda: made.item(target) is not None and len(made.read(target)) == FILES, seconds=60, what="it")
        before = made.item(target).sd.location
        assert version_in(before)
        compared = pysync("verify", made.database, "--data", "-c", stage.config_file, seconds=180)
        assert compared.returncode == 0, compared.stdout
        next(path_of(made.item(target)).glob("part-*")).unlink()
        mended = pysync("verify", made.database, "--data", "--repair", "--json", "-c", stage.config_file, seconds=180)
        assert json.loads(mended.stdout)["drift"] == 0, mended.stdout
        assert len(made.read(target)) == FILES
        assert made.item(target).sd.location == before, "a file was added"
    refused = pysync("copy", f"{made.database}.repaired", "-c", stage.config_file, seconds=60)
    assert_one_line(refused, 2, "layout = versioned")
