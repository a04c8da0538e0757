"""One run of the corpus: a metastore with the listener, a sidecar, three targets on AWS, and what boto3 sees there.

`ddl` has every table, by statements alone; `lake` those that statements cannot say or Athena refuses, and the Glue API
for that; `api` every table, by the Glue API.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support.corpus import Case, cases, expected
from tests.support.corpus.case import Play
from tests.support.corpus.texts import NASTY
from tests.support.glue import every

TARGETS = ("ddl", "lake", "api")
DATABASE = "corpus"
# They share a catalog, so each says what is its own: a comparison would drop what it takes and the source has not.
_KINDS = {
    "ddl": 'kind = "athena"\nglue_api = "never"\n',
    "lake": 'kind = "athena"\n',
    "api": 'kind = "glue"\n',
}


class Place(Protocol):
    """The AWS that the targets are on; a Lake, to the stage."""

    bucket: str  # and a prefix, without a slash at the end
    prefix: str  # of the names of databases
    seconds: float  # the longest wait for the targets

    def client(self, service: str) -> Any:
        """A boto3 client."""

    def settings(self, *, athena: bool) -> str:
        """The lines of TOML that say where it is."""


@dataclass(slots=True)
class Findings:
    """What was there in the end."""

    source: dict[str, Any] = field(default_factory=dict)
    """Databases and tables by their names at the source, as hmsclient's structs."""
    partitions: dict[str, dict[tuple[str, ...], Any]] = field(default_factory=dict)
    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For each target, databases and tables by their names at the source, as boto3 gives them."""
    target_partitions: dict[str, dict[str, dict[tuple[str, ...], Any]]] = field(default_factory=dict)
    parked: dict[str, dict[str, str]] = field(default_factory=dict)
    """For each target, the reasons of the tables that are parked."""
    names: dict[str, str] = field(default_factory=dict)
    """The tables of the cases, by their titles."""
    location: str = ""

    def located(self, bucket: str) -> expected.Located:
        """Where something of the source lies at the targets."""
        return lambda location: location.replace(self.location, f"s3://{bucket}", 1)


class CorpusLake:
    """The targets, as a stage wants them."""

    def __init__(self, place: Place, databases: list[str]) -> None:
        self._place, self._databases = place, databases

    def lines(self, warehouse: Path) -> str:
        tables = [self._lines(name, warehouse) for name in TARGETS]
        return "[[targets]]\n".join(tables)

    def _lines(self, name: str, warehouse: Path) -> str:
        renames = ", ".join(f'{it} = "{self._place.prefix}_{name}_{it}"' for it in self._databases)
        # By name: what one target takes and does not rename is never a name of another.
        taken = [f"{DATABASE}.odd_*" if (it, name) == (DATABASE, "lake") else it for it in self._databases]
        return (
            f'name = "{name}"\n{_KINDS[name]}{self._place.settings(athena=name != "api")}'
            f'databases = {{ {renames} }}\nlocations = {{ "file:{warehouse}" = "s3://{self._place.bucket}" }}\n'
            f"include = {taken}\nparked_retry_seconds = 0\n"
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._place, name)  # start, stop, environment


class Run:
    """A run on a place; `findings` are there after `play`."""

    def __init__(self, directory: Path, place: Place) -> None:
        self._place = place
        self.cases = cases()
        self.databases = [hive.Database(f"{DATABASE}_d{number}") for number in range(6)]
        self._steps = 1 + max(len(case.steps) for case in self.cases)
        marks = [f"{DATABASE}_m{number}" for number in range(self._steps)]
        names = [DATABASE, *(it.name for it in self.databases), *marks]
        self.stage = Stage(directory, lake=CorpusLake(place, names))  # type: ignore[arg-type]
        self.findings = Findings(location=f"file:{self.stage.source.warehouse}")

    def play(self) -> Findings:
        """All cases, step by step; then what all sides have."""
        self.stage.source.start()
        self.stage.start_sidecar()
        with closing(Metastore(self.stage.source.uri)) as metastore:
            self._create_databases(metastore)
            root = f"{self.findings.location}/tables"
            plays = [(case, Play(metastore, DATABASE, _name(at, case), root)) for at, case in enumerate(self.cases)]
            for step in range(self._steps):
                for case, play in plays:
                    _step(case, play, step)
                self._wait(metastore, step)
            self.findings.names = {case.title: play.name for case, play in plays}
            self._look(metastore)
        return self.findings

    def _create_databases(self, metastore: Metastore) -> None:
        metastore.call(lambda client: client.create_database(hive.Database(DATABASE)))
        for number, item in enumerate(self.databases):
            texts = NASTY[number::6]
            item.description = " ".join(text for text in texts if text.isprintable() and len(text) < 100)
            item.parameters = {f"p{at}": text for at, text in enumerate(texts)}
            item.ownerName = "it's ann"
            item.locationUri = f"{self.findings.location}/it's ${{{number}}} ü"
            metastore.call(lambda client, it=item: client.create_database(it))

    def _wait(self, metastore: Metastore, step: int) -> None:
        """Until the targets have everything up to now: what comes last is a database for each step."""
        mark = f"{DATABASE}_m{step}"
        metastore.call(lambda client: client.create_database(hive.Database(mark)))
        until = time.monotonic() + self._place.seconds
        while not self._has_come(mark):
            assert time.monotonic() < until, f"step {step} has not come: {self.stage.status()}"
            time.sleep(0.2)

    def _has_come(self, mark: str) -> bool:
        status = self.stage.status()
        if any(target["queued"] for target in status["targets"]) or any(
            it["state"] != "closed" for it in status["gaps"]
        ):
            return False
        glue = self._place.client("glue")
        wanted = {f"{self._place.prefix}_{target}_{mark}" for target in TARGETS}
        return wanted <= {it["Name"] for it in every(glue, "get_databases", "DatabaseList")}

    def _look(self, metastore: Metastore) -> None:
        found = self.findings
        for item in self.databases:
            found.source[item.name] = metastore.database(item.name)
        for name in metastore.tables(DATABASE):
            found.source[name] = metastore.table(DATABASE, name)
            found.partitions[name] = {tuple(it.values): it for it in metastore.partitions(DATABASE, name)}
        for target in TARGETS:
            found.targets[target], found.target_partitions[target] = self._look_at(target)
            found.parked[target] = dict(self._parked(target))

    def _look_at(self, target: str) -> tuple[dict[str, Any], dict[str, dict[tuple[str, ...], Any]]]:
        glue, start = self._place.client("glue"), f"{self._place.prefix}_{target}_"
        databases = every(glue, "get_databases", "DatabaseList")
        ours = [it for it in databases if it["Name"].startswith(f"{start}{DATABASE}_d")]
        objects = {it["Name"].removeprefix(start): it for it in ours}
        place = {"DatabaseName": start + DATABASE}
        tables = every(glue, "get_tables", "TableList", **place)
        parts = {}
        for table in (it for it in tables if it.get("PartitionKeys")):
            partitions = every(glue, "get_partitions", "Partitions", **place, TableName=table["Name"])
            parts[table["Name"]] = {tuple(it["Values"]): it for it in partitions}
        return {**objects, **{it["Name"]: it for it in tables}}, parts

    def _parked(self, target: str) -> Iterator[tuple[str, str]]:
        answer = ask(self.stage.config.queue.directory, "parked list", target=target)
        for item in answer["tables"]:
            yield item["table"].rpartition(".")[2], item["reason"]


def _name(number: int, case: Case) -> str:
    return f"{'said' if case.said and not case.refused else 'odd'}_{number:03}"


def _step(case: Case, play: Play, step: int) -> None:
    try:
        if step == 0:
            play.create(case.make, case.keys)
        elif step <= len(case.steps):
            case.steps[step - 1](play)
    except Exception as error:
        raise AssertionError(f"the source does not take step {step} of {case.title!r}: {error}") from error
