"""Tables of a real source whose files are not on S3, at a Glue: nobody takes them for replicated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.lab.demo.lake import Lake
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.sidecars import pysync
from tests.support.stages import wait_until_compared

pytestmark = pytest.mark.servers


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """The settings of somebody who has not thought of `locations`."""
    lake = Lake(tmp_path / "aws", "glue")
    for name, value in lake.environment().items():
        monkeypatch.setenv(name, value)
    with Stage(tmp_path, lake=lake) as stage:
        lines = stage.config_file.read_text().splitlines(keepends=True)
        stage.config_file.write_text("".join(it for it in lines if not it.startswith("locations")))
        stage.start_target()
        stage.source.start()
        stage.start_sidecar()
        wait_until_compared(stage)
        yield stage


def test_check_status_and_verify_say_so_until_the_locations_are_mapped(stage: Stage) -> None:
    with Metastore(stage.source.uri) as source:
        name = new_database(source, "lake")
        source.call(lambda client: client.create_table(table(name, "t")))
    wait_until(lambda: stage.status()["targets"][0]["parked"] == 1, what="the table that is parked")
    found = {it["what"]: it for it in json.loads(pysync("check", "-c", stage.config_file, "--json").stdout)}
    assert not found["target replica"]["ok"]
    assert " is not on S3: Athena would read no row" in found["target replica"]["detail"]
    assert "is not on S3" in pysync("parked", "list", "replica", "-c", stage.config_file).stdout
    done = pysync("status", "-c", stage.config_file)
    assert (done.returncode, "target replica has 1 parked event" in done.stdout) == (1, True)
    verified = pysync("verify", "-c", stage.config_file)
    assert (verified.returncode, f"{name}.t" in verified.stdout) == (1, True), verified.stdout

    warehouse = stage.directory / "source" / "warehouse"
    mapped = f'locations = {{ "file:{warehouse}" = "s3://bucket/warehouse" }}\n'
    stage.config_file.write_text(stage.config_file.read_text() + mapped)
    done = pysync("reload", "-c", stage.config_file)
    assert done.returncode == 0, done.stderr
    assert pysync("parked", "retry", "replica", "-c", stage.config_file).returncode == 0
    wait_until(lambda: stage.status()["targets"][0]["parked"] == 0, what="the table")
    assert pysync("check", "-c", stage.config_file).returncode == 0
    assert pysync("verify", "-c", stage.config_file).returncode == 0
