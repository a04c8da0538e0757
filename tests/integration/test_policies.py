"""Several policies of one target, on real servers: replay, verify and a change of the scope agree on who decides."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.integration.test_rename_patterns import drift
from tests.integration.test_rename_scope import move
from tests.integration.test_scope import days, held, make, rests, scope, write
from tests.support import wait_until
from tests.support.sidecars import pysync

EU = (
    '{ name = "eu", include = ["eu_*", "all.eu_*"], databases = { "eu_*" = "europe_*" }, drops = "suppress", '
    'tables = { "all.eu_*" = "all.tmp_*" }, parameters = { "region" = "eu" } }'
)
REST = '{ name = "rest", include = ["all", "us"], exclude = ["*.tmp_*"], parameters = { "region" = "rest" } }'


def policies(*each: str) -> str:
    return f"policies = [{', '.join(each)}]"


def region(target: Metastore, database: str, name: str) -> str | None:
    found = target.table(database, name)
    return None if found is None else found.parameters.get("region")


@pytest.mark.crash
def test_each_policy_rewrites_what_it_takes_and_their_order_is_part_of_the_scope(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        stage.target.start()
        stage.source.start()
        write(stage, policies(EU, REST))
        stage.start_sidecar()
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            make(source, "eu_a.t", "all.eu_orders", "all.items", "all.tmp_1", "us.t", "hr.t")
            wanted = {"europe_a": ["t"], "all": ["items", "tmp_orders"], "us": ["t"]}
            wait_until(lambda: held(target) == wanted, seconds=120, what="what the policies take")
            assert [region(target, *it) for it in (("all", "tmp_orders"), ("all", "items"))] == ["eu", "rest"]

            move(source, ("us", "t"), ("eu_a", "u"))
            wait_until(lambda: target.tables("europe_a") == ["t", "u"], what="the rename into the other policy")
            wait_until(lambda: days(target, "europe_a", "u") == ["day=1", "day=2"], what="its partitions")
            assert region(target, "europe_a", "u") == "eu"
            for database, name in (("eu_a", "t"), ("all", "items")):
                source.call(lambda c, at=database, it=name: c.drop_table(at, it, False))
            wait_until(lambda: target.tables("all") == ["tmp_orders"], what="the drop of the one policy")
            assert target.tables("europe_a") == ["t", "u"], "the other suppresses drops"
            assert drift(stage) == []

            done = pysync("policy", "test", "all.eu_orders", "-c", stage.config_file, "--json")
            (found,) = json.loads(done.stdout)["objects"][0]["targets"]
            assert (found["policy"], found["name"], found["rule"]) == (
                "eu",
                "all.tmp_orders",
                "policy eu: include 'all.eu_*'",
            )

            write(stage, policies(REST, EU), 'out_of_scope = "drop"')
            plan = scope(stage)
            assert (plan["put"], plan["drop"]) == (["all.eu_orders"], ["all.tmp_orders"])
            assert plan["changes"][0].startswith("policies: include all.eu_*, eu_*, databases eu_* = europe_*")
            assert pysync("reload", "-c", stage.config_file).returncode == 0
            wait_until(
                lambda: target.tables("all") == ["eu_orders"] and rests(stage), seconds=120, what="the other order"
            )
            assert region(target, "all", "eu_orders") == "rest"
            assert target.tables("europe_a") == ["t", "u"]
