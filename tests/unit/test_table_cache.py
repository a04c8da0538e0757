"""The cache of tables that events of partitions bring along: bounded by bytes, whatever tables there are."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.event import Event, Kind
from pysync.model.wire import encode, encode_event
from pysync.replay.window import table_cache
from pysync.replay.window.table_cache import TableCache
from pysync.replay.window.translate import Translator
from tests.support import partition, table
from tests.support.events import settings

COLUMNS, TABLES = 500, 60


class Maker:
    """Notes what is made anew."""

    def __init__(self) -> None:
        self.made: list[bytes] = []

    def __call__(self, raw: bytes, catalog: str | None = None) -> Any:
        self.made.append(raw)
        return [raw, catalog]


def test_what_is_known_is_not_made_again_and_catalogs_are_told_apart() -> None:
    make = Maker()
    cache = TableCache(make)
    assert cache(b"t") is cache(b"t")
    assert cache(b"t", "spark") == [b"t", "spark"]
    assert make.made == [b"t", b"t"]


def test_the_latest_are_kept_as_far_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_cache, "_MOST_BYTES", 1000)
    make, cached = Maker(), {}
    cache = TableCache(make)
    chosen = random.Random(1)
    for _ in range(2000):
        raw = bytes([chosen.randrange(40)]) * chosen.choice([1, 10, 300, 700])
        cached[raw] = cache(raw)
        held = vars(cache)["_tables"]
        assert sum(len(it) for it, _ in held) == vars(cache)["_bytes"] <= 1000
        assert cache(raw) is cached[raw], "the last one is there"
    assert len(make.made) < 2000


def test_a_table_that_is_too_large_by_itself_is_kept_while_it_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_cache, "_MOST_BYTES", 10)
    make = Maker()
    cache = TableCache(make)
    large = b"t" * 100
    assert cache(large) is cache(large)
    cache(b"u")
    assert [*vars(cache)["_tables"]] == [(b"u", None)]


def test_tables_of_many_columns_take_no_more_memory_the_more_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: 128 tables for each target, however large: 203 MiB of those with 2,000 columns."""
    monkeypatch.setattr(table_cache, "_MOST_BYTES", 256 * 1024)
    events = [added(number) for number in range(TABLES)]
    translator = Translator.of(settings(databases={"db": "far"}))
    tracemalloc.start()
    try:
        used = []
        for position, data in enumerate(events, 1):
            assert translator.translate(data, position) is not None
            used.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert used[-1] < used[TABLES // 2] * 1.2


def added(number: int) -> bytes:
    """A partition of a table with many columns."""
    wide = table("db", f"t{number}", partition_keys=[("day", "string")])
    wide.sd.cols = [hive.FieldSchema(f"column_{number}_{it}", "string", f"comment {it}") for it in range(COLUMNS)]
    day = partition(wide, ["1"])
    day.sd.cols = wide.sd.cols[:1]
    return encode_event(
        Event(Kind.ADD_PARTITION, "onprem", "jvm", number + 1, 1, table=encode(wide), after=(encode(day),))
    )
