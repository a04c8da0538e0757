"""`where` on a real metastore, which is source and target in one, with a sidecar that is reloaded."""

from __future__ import annotations

from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.integration.test_rename_patterns import drift
from tests.integration.test_scope import days, rests, write
from tests.support import partition, table, wait_until
from tests.support.sidecars import pysync

SHOP = ('include = ["shop"]', 'databases = { "shop" = "dr_shop" }', 'out_of_scope = "drop"')


def ago(days: int) -> str:
    return (date.today() - timedelta(days=days)).isoformat()


def last(count: int) -> str:
    return f'where = "day >= current_date - {count} days"'


def add(source: Metastore, *values: str) -> None:
    of = source.table("shop", "t")
    source.call(lambda client: client.add_partitions([partition(of, [it]) for it in values]))


@pytest.mark.crash
def test_the_target_has_the_last_days_only_also_when_they_become_fewer_or_more(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        stage.source.start()
        text = stage.config_file.read_text()
        stage.config_file.write_text(text.replace(stage.target.uri, stage.source.uri))
        write(stage, *SHOP, last(90))
        stage.start_sidecar()
        with closing(Metastore(stage.source.uri)) as source:
            source.call(lambda client: client.create_database(hive.Database(name="shop")))
            for name, key in (("t", "day"), ("whole", "region")):
                made = table("shop", name, partition_keys=[(key, "string")])
                source.call(lambda client, it=made: client.create_table(it))
            whole = partition(source.table("shop", "whole"), ["1999-01-01"])
            source.call(lambda client: client.add_partition(whole))
            add(source, ago(200), ago(50), ago(10))
            recent, wider = [f"day={ago(50)}", f"day={ago(10)}"], [f"day={ago(it)}" for it in (200, 50, 10)]
            wait_until(lambda: days(source, "dr_shop", "t") == recent, seconds=120, what="the last 90 days")
            wait_until(lambda: days(source, "dr_shop", "whole") == ["region=1999-01-01"], what="the other table")
            assert drift(stage) == []

            for count, wanted in ((20, recent[1:]), (300, wider)):
                write(stage, *SHOP, last(count))
                assert pysync("reload", "-c", stage.config_file).returncode == 0
                wait_until(
                    lambda there=wanted: days(source, "dr_shop", "t") == there and rests(stage),
                    seconds=120,
                    what=f"the last {count} days",
                )
                assert drift(stage) == []

            add(source, ago(400))
            source.call(lambda client: client.drop_partition("shop", "t", [ago(200)], False))
            wait_until(lambda: days(source, "dr_shop", "t") == recent, what="the drop")
