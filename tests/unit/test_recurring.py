"""The timers that have tables refreshed whose schema is in a log, or whose filter is relative to today."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.model.table_formats import is_delta
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from pysync.replay.window.policy import Policy
from pysync.resync.recurring import Occasion, Recurring, log_schemas, partition_filters
from pysync.resync.refreshes import EVERYTHING, Refreshes, chosen
from pysync.targets.glue.settings import GlueSettings
from tests.support import table
from tests.support.queues import Reopener
from tests.support.refreshing import Hms

DELTA = {"spark.sql.sources.provider": "DELTA"}


@pytest.fixture
def source() -> Hms:
    found = Hms()
    found.add("sales.plain")
    found.add("sales.delta", parameters=DELTA)
    found.add("web.delta", parameters=DELTA)
    return found


class Timer:
    """A timer for a target, whose clock stands still until it is set."""

    def __init__(self, queue: EventQueue, source: Hms | None, now: list[float], **values: Any) -> None:
        settings = GlueSettings(name="lake", kind="glue", region="eu-west-1", **values)
        policy = Policy.of(settings)
        queue.target("lake").register()
        self.queue = queue
        occasion: Occasion = partition_filters(settings, policy) if "where" in str(values) else log_schemas(settings)
        self.recurring = Recurring(
            queue,
            Refreshes(queue, "demo"),
            policy,
            occasion,
            source=None if source is None else lambda: source,
            tables_per_second=1e9,
            clock=lambda: now[0],
        )

    def asked(self) -> list[dict[str, str]]:
        """The refreshes that are in the queue."""
        return [decode_event(it.data).attributes for it in self.queue.target("lake").window(1000, 10**9)]


@pytest.mark.parametrize("provider", ["delta", "DELTA", "Delta"])
def test_sparks_parameter_makes_a_delta_table(provider: str) -> None:
    assert is_delta(table("db", "t", parameters={"spark.sql.sources.provider": provider}))


@pytest.mark.parametrize("parameters", [{}, {"spark.sql.sources.provider": "parquet"}, {"provider": "delta"}])
def test_other_tables_are_none(parameters: dict[str, str]) -> None:
    assert not is_delta(table("db", "t", parameters=parameters))


def test_tables_are_chosen_by_their_definitions_in_scope(source: Hms) -> None:
    names = [(it["database"], it["table"]) for it in chosen(source, EVERYTHING, is_delta)]
    assert names == [("sales", "delta"), ("web", "delta")]


def test_every_delta_table_in_scope_is_refreshed_for_the_target_only(reopen: Reopener, source: Hms) -> None:
    timer = Timer(reopen(), source, [0.0], log_schemas_every="1h", exclude=("web",))
    timer.recurring.turn()
    assert timer.asked() == [{"database": "sales", "table": "delta", "created": "100", "targets": "lake"}]


def test_they_are_refreshed_again_when_the_time_has_come(reopen: Reopener, source: Hms) -> None:
    now = [5000.0]
    timer = Timer(reopen(), source, now, log_schemas_every="1h")
    timer.recurring.turn()
    now[0] += 3599
    timer.recurring.turn()
    assert len(timer.asked()) == 2
    now[0] += 1
    timer.recurring.turn()
    assert len(timer.asked()) == 4


def test_a_restart_does_not_begin_anew(reopen: Reopener, source: Hms) -> None:
    Timer(reopen(), source, [5000.0], log_schemas_every="1h").recurring.turn()
    again = Timer(reopen(), source, [5001.0], log_schemas_every="1h")
    again.recurring.turn()
    assert len(again.asked()) == 2


def test_a_source_that_cannot_be_read_is_asked_again_at_the_next_look(reopen: Reopener, source: Hms) -> None:
    timer = Timer(reopen(), source, [0.0], log_schemas_every="1h")
    source.tables_by_name = _fails  # type: ignore[method-assign]
    with pytest.raises(PysyncError, match="away"):
        timer.recurring.turn()
    del source.tables_by_name
    timer.recurring.turn()
    assert len(timer.asked()) == 2


def _fails(*_: object) -> Any:
    raise PysyncError("the source is away")


def test_without_a_source_it_says_what_is_missing(reopen: Reopener) -> None:
    timer = Timer(reopen(), None, [0.0], log_schemas_every="1h")
    with pytest.raises(PysyncError, match=r"\[source\] metastore is not set"):
        timer.recurring.turn()


def test_a_target_without_the_setting_has_no_timer(reopen: Reopener, source: Hms) -> None:
    timer = Timer(reopen(), source, [0.0])
    timer.recurring.start()
    assert not timer.recurring.worker.started


# --- filters on partitions

LAST_90_DAYS = "day >= current_date - 90 days"
NOON = datetime(2026, 4, 1, 12).timestamp()


@pytest.fixture
def keyed() -> Hms:
    found = Hms()
    found.add("sales.keyed", "2026-01-01")
    found.add("web.keyed", "2026-01-01")
    found.add("sales.plain")
    return found


def test_tables_with_the_keys_of_a_relative_filter_are_refreshed_once_a_day(reopen: Reopener, keyed: Hms) -> None:
    now = [NOON]
    policies = [{"name": "a", "include": ["sales"], "where": LAST_90_DAYS}, {"name": "b", "include": ["web"]}]
    timer = Timer(reopen(), keyed, now, policies=policies)
    wanted = {"database": "sales", "table": "keyed", "created": "100", "targets": "lake"}
    timer.recurring.turn()
    now[0] += 11 * 3600
    timer.recurring.turn()
    assert timer.asked() == [wanted]
    now[0] += 2 * 3600
    timer.recurring.turn()
    assert timer.asked() == [wanted, wanted]


@pytest.mark.parametrize(("where", "applies"), [(LAST_90_DAYS, True), ("day >= '2026-01-01'", False), (None, False)])
def test_only_a_relative_filter_has_a_timer(where: str | None, applies: bool) -> None:
    settings = GlueSettings(name="lake", kind="glue", region="eu-west-1", where=where)
    assert partition_filters(settings, Policy.of(settings)).applies is applies
