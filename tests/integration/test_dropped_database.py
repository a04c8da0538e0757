"""DROP DATABASE … CASCADE by mistake, on real metastores: it is held, named, and asked about before anything goes."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.sidecars import pysync
from tests.support.stages import wait_until_compared

AT_ONCE = "max_drops_per_window = 20\n"
"""By their number: the share of a database does not count while it is young, as all are that a test makes."""
BRAKE = Path(__file__).parents[2] / "docs" / "brake.md"


@pytest.mark.crash
@pytest.mark.parametrize("options", [AT_ONCE, 'max_drops = "20 per 1h"\n'], ids=["at once", "within an hour"])
def test_a_dropped_database_is_held_by_name_until_somebody_decides(tmp_path: Path, options: str) -> None:
    """Before: 60 and 80 tables went at once, and `plan` said `1 drop`."""
    with Stage(tmp_path, options=options) as stage:
        stage.target.start()
        stage.source.start()
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            kept, gone = made(source, 60), made(source, 80)
            started(stage)
            dropped_and_held(stage, source, target, kept, 60)
            assert pysync("held", "keep", "replica", "-c", stage.config_file).returncode == 0
            wait_until(lambda: stage.status()["targets"][0]["queued"] == 0, what="the end of the queue")
            assert len(target.tables(kept)) == 60
            wait_until(lambda: stage.status()["targets"][0]["parked"] == 0, what="the end of the hold")
            why = " ".join(shown(stage, "why", f"{kept}.t05").split())
            assert "a person has decided that replica keeps it" in why
            verified = pysync("verify", kept, "-c", stage.config_file)
            assert (verified.returncode, "a person has kept it" in verified.stdout) == (0, True)
            dropped_and_held(stage, source, target, gone, 80)
            assert pysync("held", "drop", "replica", "--yes", "-c", stage.config_file).returncode == 0
            wait_until(lambda: gone not in target.databases(), what="the drop")
            assert len(target.tables(kept)) == 60


@pytest.mark.servers
def test_a_database_that_was_kept_is_given_back_to_the_source(tmp_path: Path) -> None:
    """By the configuration that docs/brake.md shows."""
    with Stage(tmp_path, options=AT_ONCE) as stage:
        stage.target.start()
        stage.source.start()
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            name = made(source, 30)
            started(stage)
            dropped_and_held(stage, source, target, name, 30)
            assert pysync("held", "keep", "replica", "-c", stage.config_file).returncode == 0
            wait_until(lambda: stage.status()["targets"][0]["queued"] == 0, what="the end of the queue")
            done = pysync("bootstrap", "-c", rescue(stage, name))
            assert done.returncode == 0, done.stdout + done.stderr
            assert len(source.tables(name)) == 30
            wait_until(lambda: verified(stage, name) == 0, what="no drift")
            source.call(lambda client: client.create_table(table(name, "later")))
            wait_until(lambda: "later" in target.tables(name), what="a later change")
            assert len(target.tables(name)) == 31


def rescue(stage: Stage, name: str) -> Path:
    """The configuration of the page, with the places of the stage."""
    (text,) = (it for it in re.findall(r"```toml\n(.*?)```", BRAKE.read_text(), re.DOTALL) if '"rescue"' in it)
    places = {"thrift://dr-hms:9083": stage.target.uri, "thrift://localhost:9083": stage.source.uri}
    places |= {"/var/lib/pysync/rescue": str(stage.directory / "rescue"), '"hr"': f'"{name}"'}
    warehouses = [(stage.directory / it / "warehouse").as_uri().replace("///", "/") for it in ("target", "source")]
    for shown_, here in {**places, "hdfs://adh2": warehouses[0], "hdfs://adh1": warehouses[1]}.items():
        assert shown_ in text
        text = text.replace(shown_, here)
    file = stage.directory / "rescue.toml"
    file.write_text(text)
    return file


def verified(stage: Stage, name: str) -> int:
    return pysync("verify", name, "-c", stage.config_file).returncode


def made(source: Metastore, tables: int) -> str:
    """A database with so many tables."""
    name = new_database(source, "hr")
    for number in range(tables):
        source.call(lambda client, it=number: client.create_table(table(name, f"t{it:02}")))
    return name


def started(stage: Stage) -> None:
    stage.start_sidecar()
    wait_until_compared(stage)


def dropped_and_held(stage: Stage, source: Metastore, target: Metastore, name: str, tables: int) -> None:
    """Drop a database with so many tables; the drop is held then."""
    wait_until(lambda: len(target.tables(name)) == tables, what="the tables")
    source.call(lambda client: client.drop_database(name, False, True))
    wait_until(lambda: brake(stage) is not None, what="the brake")
    summary = f"database {name} with {tables} tables"
    held = brake(stage)
    assert held is not None
    assert (held["drops"], held["summary"], held["more"]) == (tables + 1, summary, tables - 19)
    assert held["objects"][:2] == [f"database {name}", f"table {name}.t00"]
    for command in (["status"], ["plan"]):
        assert summary in shown(stage, *command), command
    assert f"the drop of {name}.t05 is held" in shown(stage, "why", f"{name}.t05")
    listed = json.loads(shown(stage, "held", "list", "replica", "--json"))["objects"]
    assert [it["object"] for it in listed] == [name, *(f"{name}.t{number:02}" for number in range(tables))]
    assert pysync("held", "drop", "replica", "-c", stage.config_file).returncode == 1, "nobody was asked"
    assert len(target.tables(name)) == tables


def shown(stage: Stage, *arguments: str) -> str:
    return pysync(*arguments, "-c", stage.config_file).stdout


def brake(stage: Stage) -> dict[str, Any] | None:
    found: dict[str, Any] | None = json.loads(shown(stage, "status", "--json"))["targets"][0]["brake"]
    return found
