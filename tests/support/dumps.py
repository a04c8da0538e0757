"""Two metastores that cannot see each other, each with a configuration of its own; dumps go between them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.config import Config, load_config
from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.show import compare
from pysync.metastore.client import Metastore
from pysync.verify.compare import EQUAL
from tests.support import partition, table
from tests.support.sidecars import command

DAY = [("day", "string")]
SECONDS = 120.0

_CONFIG = """\
[source]
name = "onprem"
{source}
[queue]
directory = "{queue}"
min_free_mb = 0
[[targets]]
name = "dr"
kind = "hms"
metastore = "{target}"
locations = {{ "file:{here}" = "file:{there}" }}
{more}
"""

_KILLED = """\
import os, signal, sys
from pysync.dump import pieces
from pysync.cli import main
pieces.PIECE_BYTES = 4000
done = pieces.Pieces._done
def dies(self, piece):
    done(self, piece)
    if piece.name.endswith("-00000{number}.records"):
        os.kill(os.getpid(), signal.SIGKILL)
pieces.Pieces._done = dies
sys.argv = ["pysync", *sys.argv[1:]]
main()
"""
"""A program that is pysync, but that it dies once that file of the dump is there."""


_KILLED_WITH_FILES = """\
import os, signal, sys
from pysync.jobs import dump_carrying as carrying
from pysync.cli import main
same = carrying._assert_same
left = [{after}]
def dies(directory, found):
    same(directory, found)
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
carrying._assert_same = dies
sys.argv = ["pysync", *sys.argv[1:]]
main()
"""
"""The same, dying once the files of so many directories are in the dump, and those of another are copied."""


class Ends:
    """A source and a target; `here` is the configuration beside the source, `there` the one beside the target."""

    def __init__(self, directory: Path, source: EmbeddedMetastore, target: EmbeddedMetastore) -> None:
        self.directory, self.source, self.target = directory, source, target
        self.here, self.there = directory / "here.toml", directory / "there.toml"
        self.write()

    def write(self, more: str = "") -> None:
        """Write the configurations; `more` are lines of the target."""
        warehouses = {"here": self.source.warehouse, "there": self.target.warehouse, "more": more}
        away = {"source": f'metastore = "{self.source.uri}"', "target": "thrift://127.0.0.1:1"}
        self.here.write_text(_CONFIG.format(queue=self.directory / "none", **away, **warehouses))
        near = {"source": "", "target": self.target.uri}
        self.there.write_text(_CONFIG.format(queue=self.directory / "queue", **near, **warehouses))

    @property
    def config(self) -> Config:
        return load_config(self.here)

    def pysync(self, *arguments: object, crash: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYSYNC_CRASH": crash}
        return subprocess.run(
            command(arguments), env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    def dump(self, directory: Path, *arguments: object) -> dict[str, Any]:
        return _told(self.pysync("dump", "-c", self.here, directory, "--json", *arguments))

    def load(self, directory: Path, *arguments: object) -> dict[str, Any]:
        return _told(self.pysync("load", "-c", self.there, directory, "--json", *arguments))

    def dump_killed(self, directory: Path, number: int) -> None:
        """Have a dump die when its file of that number is there."""
        self._dump_killed(_KILLED.replace("{number}", str(number)), directory)

    def dump_killed_with_files(self, directory: Path, after: int) -> None:
        """Have a dump with data files die when those of so many directories are there."""
        self._dump_killed(_KILLED_WITH_FILES.replace("{after}", str(after)), directory, "--files", "copy")

    def _dump_killed(self, program: str, directory: Path, *options: str) -> None:
        arguments = [sys.executable, "-c", program, "dump", "-c", str(self.here), str(directory), *options]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr

    def unequal(self) -> list[Any]:
        settings = load_config(self.there).targets[0]
        found = compare(self.source.uri, self.target.uri, settings, "onprem")
        return [item for item in found if item.result != EQUAL]


def fill(uri: str, database: str, tables: int, large: int, *, key: bool = True) -> None:
    """A database with a function, a table without partitions, one with many, and so many with two; one has a key."""
    with closing(Metastore(uri)) as source:
        made = hive.Database(name=database, description="a test's é", parameters={"who": "me"})
        source.call(lambda client: client.create_database(made))
        uri_of = [hive.ResourceUri(hive.ResourceType.JAR, "file:/x.jar")]
        function = hive.Function("f", database, "org.example.F", "me", hive.PrincipalType.USER, 0, 1, uri_of)
        source.call(lambda client: client.create_function(function))
        create(source, database, "plain", 0)
        create(source, database, "large", large)
        for number in range(tables):
            create(source, database, f"t{number:03}", 2)
        if key:
            made = hive.SQLPrimaryKey(database, "plain", "id", 1, f"pk_{database}", False, False, True)
            source.call(lambda client: client.add_primary_key(hive.AddPrimaryKeyRequest([made])))


def create(source: Metastore, database: str, name: str, days: int) -> None:
    made = table(database, name, partition_keys=DAY if days else ())
    source.call(lambda client: client.create_table(made))
    if days:
        there = source.table(database, name)
        parts = [partition(there, [str(day)]) for day in range(days)]
        request = hive.AddPartitionsRequest(database, name, parts, True, False)
        source.call(lambda client: client.add_partitions_req(request))


def _told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found
