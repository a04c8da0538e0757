"""The job of a target: what each trigger has it ask for, in which order, and that a stop or a kill loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from structlog.testing import capture_logs

from pysync.base.errors import PysyncError
from pysync.model.names import TableName
from pysync.model.table_formats import is_delta
from pysync.model.wire import decode_event, encode_event
from pysync.queue.queue_file import QueueFile
from pysync.resync.ranges import Range
from pysync.resync.wanted import EVERYTHING, chosen
from tests.support import table
from tests.support.events import create_table
from tests.support.queues import Reopener, park
from tests.support.refreshing import Hms
from tests.support.resyncs import NOON, Away, Bench, add_view, source_with_views

ORDERS, VISITS = TableName("sales", "orders"), TableName("web", "visits")
DELTA = {"spark.sql.sources.provider": "DELTA"}
HOURLY = {"log_schemas_every": "1h"}
LAST_90_DAYS = "day >= current_date - 90 days"


@pytest.fixture
def source() -> Hms:
    found = source_with_views()
    found.add("sales.delta", parameters=DELTA)
    found.add("web.delta", parameters=DELTA)
    found.add("sales.keyed", "2026-01-01")
    found.add("web.keyed", "2026-01-01")
    return found


# --- the table: a trigger, and what it asks for in the next turns, each so many seconds later

POLICIES = [{"name": "a", "include": ["sales"], "where": LAST_90_DAYS}, {"name": "b", "include": ["web"]}]
BOTH_DELTAS = ["sales.delta", "web.delta"]


@pytest.mark.parametrize(
    ("values", "turns"),
    [
        (HOURLY, [(0, BOTH_DELTAS), (3599, []), (1, BOTH_DELTAS)]),
        (HOURLY | {"exclude": ("web",)}, [(0, ["sales.delta"])]),
        ({"policies": POLICIES}, [(0, ["sales.keyed"]), (11 * 3600, []), (2 * 3600, ["sales.keyed"])]),
        ({"where": "day >= '2026-01-01'"}, [(0, []), (48 * 3600, [])]),
        ({}, [(0, []), (48 * 3600, [])]),
    ],
)
def test_some_tables_are_asked_for_when_the_time_has_come(
    reopen: Reopener, source: Hms, values: dict[str, Any], turns: list[tuple[int, list[str]]]
) -> None:
    bench = Bench(reopen(), source, NOON, **values)
    for after, asked in turns:
        assert bench.turn(after) == asked


def test_each_reason_to_read_tables_again_has_a_row_of_its_own(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, NOON, **HOURLY, policies=POLICIES)
    bench.turn()
    assert {it["trigger"]: it["queued"] for it in bench.job.status()} == {"log_schemas": 2, "partition_filters": 1}


SALES = {"include": ["sales.o*"]}
WEB = {"include": ["web.v*"]}
ALL_OF_WEB = ["*", "web", "web.visits"]  # the list of databases comes first, as some may be gone


@pytest.mark.parametrize(
    ("before", "after", "asked"),
    [
        (SALES, SALES, []),
        (SALES, WEB, ["*", "web", *ALL_OF_WEB]),  # a database that is new to the target before everything
        (SALES, WEB | {"out_of_scope": "drop"}, ["*", "web", *ALL_OF_WEB, "*"]),  # the last one drops what has left
        (WEB, {"include": ["web.v*", "web.none"]}, ["*", *ALL_OF_WEB]),
        (SALES, WEB | {"mode": "shadow"}, []),
    ],
)
def test_a_target_with_another_scope_gets_all_of_it(
    reopen: Reopener, source: Hms, before: dict[str, Any], after: dict[str, Any], asked: list[str]
) -> None:
    assert Bench(reopen(), source, **before).turn() == []
    bench = Bench(reopen(), source, **after)
    assert bench.turn() == asked
    assert bench.turn() == []
    bench.queue.gaps.close_passed()
    assert bench.queue.gaps.unclosed() == []


def test_a_scope_that_changes_while_it_is_queued_begins_anew(reopen: Reopener, source: Hms) -> None:
    for number in range(120):
        source.add(f"web.v{number:03}")
    Bench(reopen(), source, **SALES)
    second = Bench(reopen(), source, **WEB)
    second.job.worker.stop()
    assert 0 < len(second.turn()) < 120
    third = Bench(reopen(), source, **SALES, out_of_scope="drop")
    assert third.row("scope")["state"] == "running"
    assert third.turn() == ["*", "sales", "*", "sales", "sales.orders", "*"]


def test_a_gap_of_a_scope_that_opens_again_has_all_of_it_asked_for_again(reopen: Reopener, source: Hms) -> None:
    """As when an event that was parked before it was applied or skipped."""
    Bench(reopen(), source, **SALES)
    bench = Bench(reopen(), source, **WEB)
    bench.pauses = True
    first = bench.turn()
    bench.queue.target("lake").advance(bench.queue.last, [park(1, target="lake")])
    assert bench.queue.gaps.close_passed() == 0
    bench.queue.target("lake").parked.remove_at([1])
    bench.queue.gaps.close_passed()
    assert bench.turn() == first


def test_a_new_target_gets_everything_in_scope_and_that_closes_its_gap_alone(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, **SALES)
    for key in ("new:lake:1:0", "new:other:1:0", "missing:jvm"):
        bench.queue.gaps.open(key, "why")
    assert bench.turn() == ["*", "sales", "sales.orders"]
    bench.queue.gaps.close_passed()
    assert [it.key for it in bench.queue.gaps.unclosed()] == ["new:other:1:0", "missing:jvm"]
    assert bench.turn(100.0) == []


@pytest.mark.parametrize("values", [{"listens": False}, {"settled": False}])
def test_a_new_target_waits_for_older_events_but_not_for_ever(
    reopen: Reopener, source: Hms, values: dict[str, bool]
) -> None:
    bench = Bench(reopen(), source, surroundings=values, **SALES)
    bench.queue.gaps.open("new:lake:1:0", "target lake is new")
    assert bench.turn() == []
    assert bench.turn(60.0) == []
    assert bench.row("new_target")["state"] == "running"
    assert bench.turn(1.0) == ([] if "listens" in values else ["*", "sales", "sales.orders"])


def test_clusters_behind_a_new_target_are_told_of_it(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, surroundings={"relays": True}, **SALES)
    bench.queue.gaps.open("new:lake:1:0", "target lake is new")
    bench.pauses = True
    bench.job.turn()
    waiting = [decode_event(it.data) for it in bench.queue.target("lake").window(100, 10**9)]
    assert [it.attributes.get("home") for it in waiting] == [None, None, None, "demo"]
    (gap,) = bench.queue.gaps.latest()
    assert gap.upto == bench.queue.last


def test_nothing_is_read_while_nothing_is_due(reopen: Reopener) -> None:
    assert Bench(reopen(), Away()).turn(100.0) == []


# --- a kill at any instruction: before or after each of its writes


class Killed(BaseException):
    """The process is gone."""


def dying(write: Callable[[QueueFile], Any], at: int, *, after: bool) -> Callable[[QueueFile], Any]:
    """The transactions of a process that is killed at one of them, before or after its commit."""
    left = iter(range(1, at + 1))

    @contextmanager
    def transaction(file: QueueFile) -> Iterator[Any]:
        number = next(left, None)
        if number is None or (number == at and not after):
            raise Killed
        with write(file) as connection:
            yield connection
        if number == at:
            raise Killed

    return transaction


def begin_history(bench: Bench) -> None:
    bench.resyncs.history.begin(Range(1, 1))


def begin_views(bench: Bench) -> None:
    bench.redefine(ORDERS)


def begin_new(bench: Bench) -> None:
    bench.queue.gaps.open("new:lake:1:0", "target lake is new")


ALL_OF_IT = ["*", "sales", *(f"sales.t{number:03}" for number in range(60))]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(1, 13))
@pytest.mark.parametrize(
    "resync",
    [
        (HOURLY, lambda _: None, ALL_OF_IT[2:]),
        ({}, begin_new, ALL_OF_IT),
        ({}, begin_history, ["sales", "sales.orders"]),
        ({}, begin_views, ["sales.recent"]),
        ({"exclude": ["web"], "out_of_scope": "drop"}, lambda _: None, [*ALL_OF_IT, "*"]),
    ],
)
def test_whatever_a_kill_interrupts_is_asked_for_in_the_end(
    reopen: Reopener,
    monkeypatch: pytest.MonkeyPatch,
    resync: tuple[dict[str, Any], Callable[[Bench], None], list[str]],
    at: int,
    after: bool,
) -> None:
    values, begin, asked = resync
    source = Hms("sales.orders")
    for number in range(60):
        source.add(f"sales.t{number:03}", parameters=DELTA)
    add_view(source, "sales.recent", "select `id` from `sales`.`orders`")
    first = Bench(reopen(), source, **({} if "exclude" in values else values))
    first.queue.intake.append("jvm", 1, "demo", encode_event(create_table("sales.orders")))
    first.turn()
    first = Bench(reopen(), source, NOON, **values)
    first.pauses = True
    begin(first)
    first.now += 7200
    with monkeypatch.context() as patch, suppress(Killed):
        patch.setattr(QueueFile, "transaction", dying(QueueFile.transaction, at, after=after))
        first.job.turn()
    second = Bench(reopen(), source, NOON + 7200, **values)
    second.pauses = True
    second.turn(60.0)
    found = second.asked()
    assert set(asked) <= set(found)
    assert len(found) <= len(asked) + 60, "no more than a chunk comes twice"
    second.queue.target("lake").advance(second.queue.last)
    second.turn()
    second.queue.gaps.close_passed()
    assert second.queue.gaps.unclosed() == []
    assert {it["state"] for it in second.job.status()} <= {"finished"}


# --- what a job does with a resync, whatever has begun it


def test_status_says_what_why_how_far_and_until_when(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, **HOURLY)
    bench.pauses = True
    bench.turn()
    row = bench.row("log_schemas")
    assert (row["reason"], row["state"], row["began_at"]) == (
        "the schemas of Delta and Hudi tables are in logs",
        "running",
        5000.0,
    )
    assert (row["queued"], row["done"], row["upto"], row["ended_at"]) == (2, 0, bench.queue.last, None)
    bench.now += 4
    bench.queue.target("lake").advance(bench.queue.last)
    bench.turn()
    row = bench.row("log_schemas")
    assert (row["state"], row["done"], row["per_second"], row["ended_at"]) == ("finished", 2, 0.5, 5004.0)


def test_it_begins_anew_only_when_the_target_has_what_it_asked_for(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, **HOURLY)
    bench.pauses = True
    assert [len(bench.turn(3600)) for _ in range(3)] == [2, 2, 2]
    bench.queue.target("lake").advance(bench.queue.last)
    assert bench.turn(3600) == BOTH_DELTAS


def test_a_restart_does_not_begin_anew(reopen: Reopener, source: Hms) -> None:
    Bench(reopen(), source, **HOURLY).turn()
    again = Bench(reopen(), source, **HOURLY)
    assert again.turn(1) == []
    row = again.row("log_schemas")
    assert (row["state"], row["queued"], row["done"]) == ("finished", 2, 2)


def test_after_a_stop_it_goes_on_where_it_was(reopen: Reopener) -> None:
    names = [f"sales.t{number:03}" for number in range(120)]
    source = Hms()
    for name in names:
        source.add(name, parameters=DELTA)
    first = Bench(reopen(), source, **HOURLY)
    first.job.worker.stop()
    before = first.turn()
    assert 0 < len(before) < 120
    assert first.row("log_schemas")["state"] == "running"
    assert before + Bench(reopen(), source, **HOURLY).turn() == names


def test_an_urgent_trigger_interrupts_one_that_is_not_and_that_goes_on(reopen: Reopener, source: Hms) -> None:
    names = [f"web.t{number:03}" for number in range(120)]
    for name in names:
        source.add(name, parameters=DELTA)
    bench = Bench(reopen(), source, **HOURLY)
    read = source.tables_by_name

    def redefining(of: str, wanted: list[str]) -> list[Any]:
        if "t000" in wanted and bench.now == 5000.0:
            bench.redefine(ORDERS)
            bench.now += 2
        return read(of, wanted)

    source.tables_by_name = redefining  # type: ignore[method-assign]
    first = bench.turn()
    assert first[0] == "sales.delta"
    assert len(first) < 122
    rest = sorted([*names, "web.delta"])[len(first) - 1 :]
    assert bench.turn() == ["sales.recent", "web.both", *rest]


def test_what_fails_keeps_no_other_trigger_from_its_turn(reopen: Reopener, source: Hms) -> None:
    source.views = _broken  # type: ignore[method-assign]
    bench = Bench(reopen(), source, **HOURLY)
    bench.redefine(ORDERS)
    with pytest.raises(KeyError):
        bench.turn(2.0)
    assert (bench.row("views")["state"], bench.row("views")["obstacle"]) == ("waiting", "'a bug of ours'")
    assert bench.row("log_schemas")["queued"] == 2


def test_what_has_just_failed_interrupts_nothing(reopen: Reopener, source: Hms) -> None:
    for number in range(120):
        source.add(f"web.t{number:03}", parameters=DELTA)
    source.views = _broken  # type: ignore[method-assign]
    bench = Bench(reopen(), source, **HOURLY)
    bench.redefine(ORDERS)
    with pytest.raises(KeyError):
        bench.turn(2.0)
    assert bench.row("log_schemas")["queued"] == 122


def _broken(_: str) -> list[str]:
    raise KeyError("a bug of ours")


@pytest.mark.parametrize("values", [HOURLY, {}])
def test_a_source_that_is_away_is_asked_again(reopen: Reopener, source: Hms, values: dict[str, Any]) -> None:
    bench = Bench(reopen(), Away(), **values)
    bench.redefine(ORDERS)
    with pytest.raises(PysyncError, match="away"):
        bench.turn(2.0)
    bench.source = source
    assert bench.turn(2.0) == ["sales.recent", "web.both", *(BOTH_DELTAS if values else [])]


def test_without_a_source_it_says_what_is_missing_if_it_is_needed(reopen: Reopener) -> None:
    bench = Bench(reopen(), None)
    bench.redefine(ORDERS)
    assert bench.turn(2.0) == []
    with pytest.raises(PysyncError, match=r"\[source\] metastore is not set"):
        Bench(reopen(), None, **HOURLY).turn()


def test_what_begins_by_itself_again_and_again_is_logged_when_it_asks_for_something(
    reopen: Reopener, source: Hms
) -> None:
    bench = Bench(reopen(), source)
    with capture_logs() as logs:
        bench.redefine(TableName("no", "view"))
        bench.turn(2.0)
        bench.redefine(ORDERS)
        bench.turn(2.0)
        bench.turn(2.0)
    assert [(it["event"], it["target"], it["trigger"], it["refreshes"]) for it in logs] == [
        ("resync_queued", "lake", "views", 2)
    ]


# --- which tables have their schemas in a log


@pytest.mark.parametrize("provider", ["delta", "DELTA", "Delta"])
def test_sparks_parameter_makes_a_delta_table(provider: str) -> None:
    assert is_delta(table("db", "t", parameters={"spark.sql.sources.provider": provider}))


@pytest.mark.parametrize("parameters", [{}, {"spark.sql.sources.provider": "parquet"}, {"provider": "delta"}])
def test_other_tables_are_none(parameters: dict[str, str]) -> None:
    assert not is_delta(table("db", "t", parameters=parameters))


def test_tables_are_chosen_by_their_definitions_in_an_order_that_does_not_change(source: Hms) -> None:
    names = [(it["database"], it["table"]) for it in chosen(source, EVERYTHING, is_delta)]
    assert names == [("sales", "delta"), ("web", "delta")]
    (rest,) = chosen(source, EVERYTHING, is_delta, after=TableName("sales", "delta"))
    assert rest["database"] == "web"
