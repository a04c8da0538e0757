"""Views at Glue follow the tables that they read: from a real metastore, through a sidecar that is killed once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.config import load_config
from pysync.lab.demo.lake import Lake
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.sidecar.verifying import comparison
from pysync.verify.findings import ComparedObject
from tests.conformance.objects import columns, table, view
from tests.support import wait_until
from tests.support.presto_views import decoded

pytestmark = pytest.mark.crash

BASE, NEAR, FAR = TableName("web", "visits"), TableName("web", "recent"), TableName("app", "report")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path, lake=Lake(tmp_path / "aws", "glue"), database="disk") as found:
        found.start_target()
        found.source.start()
        found.start_sidecar()
        yield found


@pytest.fixture
def source(stage: Stage) -> Iterator[Metastore]:
    with Metastore(stage.source.uri) as found:
        for name in ("app", "web"):
            found.call(lambda client, name=name: client.create_database(hive.Database(name, "", None, {})))
        yield found


def create(source: Metastore, made: Any) -> None:
    source.call(lambda client: client.create_table(made))


def alter(source: Metastore, name: TableName, *cols: str) -> None:
    changed = source.table(name.database, name.table)
    assert changed is not None
    changed.sd.cols = columns(cols)
    source.call(lambda client: client.alter_table(name.database, name.table, changed))


def base(stage: Stage, *cols: str) -> Any:
    return table(BASE, f"file:{stage.source.warehouse}/visits", cols=cols)


def over(name: TableName, read: TableName) -> Any:
    """A view with the one column `a` of what it reads."""
    made = view(name, f"select `{read.table}`.`a` from `{read.database}`.`{read.table}`")  # noqa: S608
    made.sd.cols = columns(["a:int"])
    return made


def view_in_athena(stage: Stage, name: TableName) -> dict[str, Any] | None:
    """A view as Athena reads it; None while it is HiveQL, with empty texts while it is not there."""
    assert stage.lake is not None
    glue = stage.lake.aws.client("glue")
    with suppress(glue.exceptions.EntityNotFoundException):
        return decoded(glue.get_table(DatabaseName=name.database, Name=name.table)["Table"]["ViewOriginalText"])
    return {"columns": [{"type": ""}], "originalSql": ""}


def column_type(stage: Stage, name: TableName) -> str | None:
    """The type that Athena gives to the column of a view; None while it is HiveQL, "" while it is not there."""
    text = view_in_athena(stage, name)
    return text and text["columns"][0]["type"]


def sql_of(stage: Stage, name: TableName) -> str:
    """Athena's query of a view; "" while it is HiveQL, or not there."""
    return (view_in_athena(stage, name) or {"originalSql": ""})["originalSql"]


def compared(stage: Stage, monkeypatch: pytest.MonkeyPatch, *names: TableName) -> list[ComparedObject]:
    """What a comparison finds of them, where it is not equal."""
    assert stage.lake is not None
    for key, value in stage.lake.aws.environment().items():
        monkeypatch.setenv(key, value)
    config = load_config(stage.config_file)
    (settings,) = config.targets
    found = comparison(config, settings).run(None)
    return [it for it in found if it.result != "equal" and it.name in set(map(str, names))]


def test_views_are_translated_when_their_tables_have_come(stage: Stage, source: Metastore) -> None:
    """The view of a view comes first, then the view, then the table."""
    create(source, over(FAR, NEAR))
    create(source, over(NEAR, BASE))
    wait_until(lambda: column_type(stage, NEAR) is None, what="the view, in HiveQL")
    create(source, base(stage, "a:int"))
    wait_until(lambda: column_type(stage, FAR) == "integer", what="the view of the view, translated")
    assert column_type(stage, NEAR) == "integer"


def test_a_view_is_translated_again_when_its_table_is_altered(
    stage: Stage, source: Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads a column that the table gets later: until then it cannot be translated, and verify says so."""
    create(source, base(stage, "b:string"))
    create(source, over(NEAR, BASE))
    create(source, over(FAR, NEAR))
    wait_until(lambda: column_type(stage, FAR) is None, what="the views, in HiveQL")
    reported = compared(stage, monkeypatch, NEAR, FAR)
    assert [(it.name, it.drift) for it in reported] == [("app.report", False), ("web.recent", False)], reported
    assert "not translated" in json.dumps([it.fields for it in reported])
    stage.kill_sidecar()
    alter(source, BASE, "b:string", "a:int")
    stage.start_sidecar()
    wait_until(lambda: column_type(stage, FAR) == "integer", what="the views, translated")
    assert compared(stage, monkeypatch, NEAR, FAR) == []
    source.call(lambda client: client.drop_table(BASE.database, BASE.table, False))
    wait_until(lambda: column_type(stage, FAR) is None, what="the views, in HiveQL again")
    assert stage.status()["targets"][0]["parked"] == 0


def test_a_view_is_read_by_the_version_that_the_listener_reports(
    stage: Stage, source: Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No setting says it. One that is made later overrides it, and the view follows; so does a command beside it."""
    create(source, base(stage, "a:int", "b:string"))
    text = "select initcap(`visits`.`b`) as `a`, row_number() over (order by `visits`.`a`) as `n` from `web`.`visits`"
    made = view(NEAR, text)
    made.sd.cols = columns(["a:string", "n:int"])
    create(source, made)
    wait_until(lambda: "NULLS FIRST" in sql_of(stage, NEAR), what="the view, by the rules of Hive 2.3")
    status = stage.status()
    assert (status["hive_version"], status["listeners"][0]["hive_version"]) == ("2.3.10", "2.3.10")
    assert compared(stage, monkeypatch, NEAR) == []
    stage.kill_sidecar()
    assert compared(stage, monkeypatch, NEAR) == [], "found in the queue"
    config = stage.config_file.read_text()
    stage.config_file.write_text(config.replace("[source]\n", '[source]\nhive_version = "4"\n', 1))
    stage.start_sidecar()
    wait_until(lambda: "NULLS LAST" in sql_of(stage, NEAR), what="the view, by the rules of Hive 4")
    assert compared(stage, monkeypatch, NEAR) == []
