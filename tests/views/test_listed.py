"""`pysync views` on the ordinary views: a process on a real metastore says what becomes of each, and what helps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from pysync.lab import EmbeddedMetastore
from pysync.lab.aws.hive import HiveRefused
from pysync.metastore.client import Metastore
from tests.support.docworlds import Shell, alone
from tests.views.hive import Hive
from tests.views.ordinary.tables import tables
from tests.views.ordinary.views import VIEWS, named

_LAKE = 'name = "lake"\nkind = "glue"\nregion = "eu-west-1"\nendpoint_url = "http://127.0.0.1:1"\ndatabases = {}\n'
_KNOWN = '[source]\nhive_version = "2.3"\nhive_time_zone = "Europe/Berlin"\n'


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """A metastore with the tables and views as Hive 2.3 has registered them."""
    directory = tmp_path_factory.mktemp("listed")
    with (
        closing(Hive("2.3.10", directory / "hive", "Europe/Berlin")) as engine,
        EmbeddedMetastore(directory / "hms") as server,
        Metastore(server.uri) as hms,
    ):
        engine.rows("default", "create database dw")
        hms.call(lambda client: client.create_database(ttypes.Database("dw", "", None, {})))
        views = [it for category in VIEWS for it in named(category)]
        for name, statement in [*tables(directory), *((name, f"create view {name} as {it}") for name, it in views)]:
            try:
                engine.rows("dw", statement)
            except HiveRefused:  # no view in this Hive
                continue
            made = engine.table("dw", name)
            hms.call(lambda client, made=made: client.create_table(made))
        yield server


def listed(source: EmbeddedMetastore, directory: Path, known: str) -> tuple[Shell, dict[str, Any]]:
    place = alone(directory, source.uri, _LAKE)
    place.config.write_text(place.config.read_text().replace("[source]\n", known, 1))
    done = place.run("pysync views --json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return place, found


def test_all_ordinary_views_are_listed_with_what_helps(source: EmbeddedMetastore, tmp_path: Path) -> None:
    place, found = listed(source, tmp_path, _KNOWN)
    (summary,) = found["targets"]
    assert summary["views"] == len(found["views"]) > 200
    assert summary["refused"] <= summary["views"] // 10
    refused = [it for it in found["views"] if it["state"] == "refused"]
    assert [it for it in refused if not (it["reason"] and it["helps"])] == []
    done = place.run("pysync views")
    assert (done.returncode, done.stderr) == (0, "")
    print(done.stdout)
    assert f"lake: {summary['views']} views: {summary['translated']} translated, " in done.stdout


def test_the_setting_that_brings_most_comes_first(source: EmbeddedMetastore, tmp_path: Path) -> None:
    _, unknown = listed(source, tmp_path, "[source]\n")
    print(json.dumps(unknown["targets"], indent=1))
    settings = unknown["targets"][0]["settings"]
    assert settings[0]["setting"].startswith("[source] hive_version = ")
    assert [it["views"] for it in settings] == sorted((it["views"] for it in settings), reverse=True)
    assert "[source] hive_time_zone" in {it["setting"] for it in settings}
