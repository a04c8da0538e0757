"""Who has the token forges events under numbers that are still to come: it is told, and the ends are equal again."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.event import Kind
from pysync.model.wire import encode_event
from tests.support import table, wait_for_items, wait_for_value, wait_until
from tests.support.callers import Caller
from tests.support.events import event
from tests.support.stages import assert_converges

pytestmark = pytest.mark.crash


@contextmanager
def replicated(directory: Path) -> Iterator[tuple[Stage, Metastore, Metastore]]:
    """A stage with its source and its target, which both have the table shop.orders."""
    with Stage(directory) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
            source.call(lambda client: client.create_database(hive.Database(name="shop")))
            source.call(lambda client: client.create_table(table("shop", "orders")))
            wait_until(lambda: target.table("shop", "orders") is not None, what="the table")
            yield stage, source, target


def test_forged_drops_and_tables_are_undone_by_the_comparison(tmp_path: Path) -> None:
    with replicated(tmp_path) as (stage, source, target):
        (listener,) = stage.status()["instances"]
        there, made_up = source.table("shop", "orders"), table("shop", "made_up")
        forge(stage, listener, [(Kind.DROP_TABLE, [there], []), (Kind.CREATE_TABLE, [], [made_up])])
        wait_until(lambda: target.table("shop", "made_up") is not None, what="the forged table")
        for name in ("lines", "customers"):
            source.call(lambda client, name=name: client.create_table(table("shop", name)))
        reported = "arrived again with different content"
        wait_until(lambda: any(reported in gap["reason"] for gap in stage.status()["gaps"]), what="a gap")
        assert_converges(stage)
        assert sorted(target.call(lambda client: client.get_all_tables("shop"))) == ["customers", "lines", "orders"]
        assert stage.status()["bridge"]["differing"] >= 1
        assert "event_differs" in stage.sidecar_log.read_text()


def test_forged_ends_of_metastores_that_never_were_are_compared_and_nothing_changes(tmp_path: Path) -> None:
    with replicated(tmp_path) as (stage, _, target):
        before = target.table("shop", "orders")
        report_ended(stage, [f"made-up-{number}" for number in range(20)])
        wait_for_items(lambda: made_up(stage), 20, what="a gap of each")
        assert_converges(stage)
        assert target.table("shop", "orders") == before
        wait_for_value(lambda: [gap["state"] for gap in made_up(stage)], ["closed"] * 20, what="closing them")


def made_up(stage: Stage) -> list[dict[str, object]]:
    return [gap for gap in stage.status()["gaps"] if "made-up-" in gap["reason"]]


def report_ended(stage: Stage, instances: list[str]) -> None:
    token = stage.config.bridge.token_file.read_text().strip()
    with closing(Caller(stage.config.bridge.port, token)) as caller:
        for name in instances:
            reported = {"instance": name, "sequence": 0, "waiting": 0, "ended": True}
            assert caller.call("report", f"s{json.dumps(reported)}") == "!ysok"


def forge(stage: Stage, listener: dict[str, object], what: list[tuple[Kind, list[object], list[object]]]) -> None:
    """Under the numbers that the listener gives next."""
    token = stage.config.bridge.token_file.read_text().strip()
    with closing(Caller(stage.config.bridge.port, token)) as caller:
        for sequence, (kind, before, after) in enumerate(what, int(str(listener["highest"])) + 1):
            of = {"instance": listener["instance"], "source": listener["source"]}
            forged = event(kind, before=before, after=after, sequence=sequence, **of)
            assert caller.append(base64.b64encode(encode_event(forged)).decode()) == "queued"
