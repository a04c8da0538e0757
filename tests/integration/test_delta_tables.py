"""A Delta table from a real metastore to Glue by Athena's statements: a commit to its log brings new columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.lake import Lake
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.sidecar.verifying import comparison
from tests.support import wait_until
from tests.support.delta import DeltaLog, registered, schema

pytestmark = pytest.mark.athena

BUCKET, DIRECTORY = "pysync-demo", "warehouse/events"
NAME = TableName("shop", "events")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    lake = Lake(tmp_path / "aws", "athena")
    with Stage(tmp_path, lake=lake, options='log_schemas_every = "1s"\n') as found:
        found.start_target()
        lake.aws.client("s3").create_bucket(Bucket=BUCKET)
        found.source.start()
        found.start_sidecar()
        yield found


def commit(stage: Stage, version: int, *columns: tuple[str, str]) -> None:
    assert stage.lake is not None
    log = DeltaLog()
    log.commit(version, schema(*columns))
    log.upload(stage.lake.aws.client("s3"), BUCKET, DIRECTORY)


def at_glue(stage: Stage) -> dict[str, Any]:
    assert stage.lake is not None
    glue = stage.lake.aws.client("glue")
    try:
        found: dict[str, Any] = glue.get_table(DatabaseName=NAME.database, Name=NAME.table)["Table"]
    except glue.exceptions.EntityNotFoundException:
        return {}
    return found


def columns(stage: Stage) -> list[str]:
    return [it["Name"] for it in at_glue(stage).get("StorageDescriptor", {}).get("Columns", ())]


@pytest.mark.smoke
def test_a_commit_to_the_log_brings_its_columns_and_an_alter_keeps_them(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(stage, 0, ("id", "long"))
    with Metastore(stage.source.uri) as source:
        source.call(lambda client: client.create_database(hive.Database(NAME.database, "", None, {})))
        made = registered(NAME, f"file:{stage.source.warehouse}/events")
        source.call(lambda client: client.create_table(made))
        wait_until(lambda: columns(stage) == ["id"], what="the log's column")
        commit(stage, 1, ("id", "long"), ("kind", "string"))
        wait_until(lambda: columns(stage) == ["id", "kind"], what="the column of the commit")
        changed = source.table(NAME.database, NAME.table)
        assert changed is not None
        changed.parameters["owner_team"] = "etl"
        source.call(lambda client: client.alter_table(NAME.database, NAME.table, changed))
    wait_until(lambda: at_glue(stage)["Parameters"].get("owner_team") == "etl", what="the alter")
    assert columns(stage) == ["id", "kind"]
    assert at_glue(stage)["StorageDescriptor"]["SerdeInfo"]["Parameters"]["path"] == f"s3://{BUCKET}/{DIRECTORY}"
    assert drift(stage, monkeypatch) == []
    assert stage.status()["targets"][0]["parked"] == 0


def drift(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a comparison finds."""
    assert stage.lake is not None
    for key, value in stage.lake.aws.environment().items():
        monkeypatch.setenv(key, value)
    (settings,) = stage.config.targets
    return [json.dumps([it.name, *it.fields]) for it in comparison(stage.config, settings).run(None) if it.drift]
