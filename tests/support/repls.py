"""REPL commands in this process, from a real metastore with a notification log to another, or to another name in it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.capture.notifications.reader import LOOK_BACK
from pysync.config import Config, load_config
from pysync.dump.index import open_dump
from pysync.dump.manifest import Manifest
from pysync.jobs.loading import Loaded, load_once
from pysync.jobs.repl import assert_loads_into, repl_dump, repl_status
from pysync.metastore.client import Metastore
from pysync.replay.window.repl_statement import ReplDump, ReplLoad, ReplStatus, parse_statement
from tests.support import partition, table
from tests.support.logged import LoggedMetastore

NEWEST = 200
_CONFIG = """\
[source]
name = "onprem"
{source}
[queue]
directory = "{queue}"
min_free_mb = 0
[dump]
root = "{root}"
[[targets]]
name = "dr"
kind = "hms"
metastore = "{target}"
databases = {{ {name} = "{there}" }}
{more}
"""


@dataclass(frozen=True, slots=True)
class Dumped:
    """What came of a REPL DUMP."""

    directory: Path
    manifest: Manifest


class Repl:
    """A database `sales` (by another name) with what the examples name, a log of it, and commands on it.

    `{db}` in a text is the database at the source, `{there}` the one at the target. A source that has a log of its own
    is `logged`.
    """

    def __init__(self, directory: Path, uri: str, target: str | None = None, *, logged: bool = False) -> None:
        self.directory, self.root = directory, directory / "root"
        self.db = f"sales_{uuid.uuid4().hex[:8]}"
        self.there = f"{self.db}_two"
        self.hms, self.target = Metastore(uri), Metastore(target or uri)
        self.log = LoggedMetastore(uri, NEWEST)
        self._logged = logged
        self.write()
        self._fill()

    def close(self) -> None:
        self.hms.close()
        self.target.close()
        self.log.close()

    def write(self, more: str = "", queue: str = "queue") -> None:
        """Write the configurations; `more` are lines of the target, and a new `queue` knows nothing of the old."""
        values = {"root": self.root, "name": self.db, "there": self.there, "more": more}
        far = {
            "source": f'metastore = "{self.hms.uri if self._logged else self.log.uri}"',
            "target": "thrift://127.0.0.1:1",
        }
        near = {"source": "", "target": self.target.uri}
        for name, its in (("here", far), ("there", near)):
            text = _CONFIG.format(queue=self.directory / queue, **its, **values)
            (self.directory / f"{name}.toml").write_text(text)

    def _fill(self) -> None:
        self.hms.call(lambda client: client.create_database(hive.Database(name=self.db)))
        function = hive.Function("f", self.db, "org.example.F", "me", hive.PrincipalType.USER, 0, 1, [])
        self.hms.call(lambda client: client.create_function(function))
        for name in ("orders", "stores", "t3", "t400", "q4", "q5"):
            self.create(name)

    # --- at the source

    def create(self, name: str, *, managed: bool = False, **fields: Any) -> None:
        made = table(self.db, name, **fields)
        if managed:
            made.tableType, made.parameters = "MANAGED_TABLE", {}
        self.hms.call(lambda client: client.create_table(made))
        self.log.touch(self.db, name)

    def change(self, name: str, value: str) -> None:
        """Alter a parameter of a table."""
        there = self.hms.table(self.db, name)
        there.parameters["changed"] = value
        self.hms.call(lambda client: client.alter_table(self.db, name, there))
        self.log.touch(self.db, name)

    def rename(self, old: str, new: str) -> None:
        there = self.hms.table(self.db, old)
        there.tableName = new
        self.hms.call(lambda client: client.alter_table(self.db, old, there))
        self.log.touch(self.db, old)
        self.log.touch(self.db, new)

    def add_day(self, name: str, day: str) -> None:
        of = self.hms.table(self.db, name)
        self.hms.call(lambda client: client.add_partition(partition(of, [day])))
        self.log.touch(self.db, name)

    def move_on(self) -> None:
        """Events of another database: more than a dump looks back, as entries of a log may come late."""
        for _ in range(LOOK_BACK + 1):
            self.log.touch("elsewhere", "x")

    # --- the commands

    @property
    def here_config(self) -> Config:
        return load_config(self.directory / "here.toml")

    @property
    def there_config(self) -> Config:
        return load_config(self.directory / "there.toml", live_source=False)

    def dump(self, text: str) -> Dumped:
        """REPL DUMP, of what follows these words."""
        found = parse_statement(f"REPL DUMP {self._named(text)}")
        assert isinstance(found, ReplDump)
        directory, manifest = repl_dump(self.here_config, found, self.root, lambda *_: None)
        return Dumped(directory, manifest)

    def load(self, directory: Path) -> Loaded:
        found = parse_statement(self._named(f"REPL LOAD {{there}} FROM '{directory}'"))
        assert isinstance(found, ReplLoad)
        dump = open_dump(Path(found.directory))
        assert_loads_into(self.there_config, found, dump, ["dr"])
        return load_once(self.there_config, dump, ["dr"], lambda _: None)

    def status(self, text: str = "{there}") -> int | None:
        found = parse_statement(f"REPL STATUS {self._named(text)}")
        assert isinstance(found, ReplStatus)
        return repl_status(self.there_config, found, ["dr"])["dr"]

    def dump_and_load(self, text: str) -> Dumped:
        """Both; nothing may be parked."""
        done = self.dump(text)
        assert self.load(done.directory).parked == {"dr": []}
        return done

    def _named(self, text: str) -> str:
        return text.replace("{db}", self.db).replace("{there}", self.there)

    # --- what came of them

    def tables(self) -> list[str]:
        """The tables at the target."""
        return sorted(self.target.tables(self.there))

    def functions(self) -> list[str]:
        return [it.functionName for it in self.target.functions(self.there)]

    def parameter(self, name: str) -> str | None:
        """The parameter that `change` sets, at the target."""
        value: str | None = self.target.table(self.there, name).parameters.get("changed")
        return value


def tables_of(done: Dumped) -> list[str]:
    """The tables that a dump holds, and not just their names."""
    return [it.table for it in open_dump(done.directory).tables()]
