"""A comparison that is spread over executors finds what one in this process finds; what goes between is text."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.base.errors import PysyncError, UsageError
from pysync.config import Config
from pysync.jobs import executor as spread_task
from pysync.jobs import spreading
from pysync.jobs.executor import ComparisonJob, ItemText, TaskAnswer, TaskRequest, run_work
from pysync.jobs.spreading import Spread, _explained, _spark_request
from pysync.lab.faulty import KIND
from pysync.metastore.errors import MetastoreUnavailable
from pysync.model.names import TableName
from pysync.model.operation import DropPartitions, DropTable
from pysync.sections import SourceConfig
from pysync.targets.base import Unavailable
from pysync.targets.settings import CopySettings, TargetSettings
from pysync.targets.spark_request import SparkConfig
from pysync.verify.comparator import DatabaseItem, ExtraDatabaseItem, TableItem
from pysync.verify.compare import ComparedObject, Comparison
from pysync.verify.pool import WorkerPool
from tests.unit.test_verify import FEW, LATER, Place, anew, function, left_as_they_are, shrink_comparisons

SOURCE = SourceConfig(name="onprem", metastore="thrift://source:9083")


class Executors:
    """Spark's, in this process: each gets a text, and gives one; what they were asked is kept."""

    def __init__(self, place: Place, patch: pytest.MonkeyPatch, slots: int = 2) -> None:
        self.place, self.slots = place, slots
        self.asked: list[TaskRequest] = []
        self.threads: set[str] = set()
        self.do: Callable[[str], str] = run_work
        patch.setattr(spread_task, "Metastore", lambda _: place.source)

    def run(self, work: str) -> str:
        self.asked.append(TaskRequest.model_validate_json(work))
        self.threads.add(threading.current_thread().name)
        return self.do(work)

    def compare(self) -> list[ComparedObject]:
        with ExitStack() as stack:
            comparison = Comparison(
                lambda: self.place.source,
                lambda: KIND.open(self.place.settings),
                self.place.settings,
                "onprem",
                executor=lambda own, _: self.lend(own, stack),
            )
            return list(comparison.run())

    def lend(self, pool: WorkerPool, stack: ExitStack) -> Spread:
        spread = Spread(pool, self.run, ComparisonJob.of(SOURCE, self.place.settings), lambda: self.slots)
        stack.callback(spread.join)
        stack.callback(spread.cancel)
        return spread


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_comparisons(monkeypatch)


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as found:
        yield found


def drifted(*names: str) -> Place:
    """Drift of all results, in databases, tables, partitions and functions."""
    place = Place("db.same", "db.lost", "db.changed", "gone.t", *names)
    place.source.made = [function("f"), function("g")]
    place.source.add("db.days", "1", "2", "3")
    place.sync()
    changed = place.source.found[TableName("db", "changed")]
    changed.parameters["by"] = "hand"
    place.target.apply(DropTable(table=TableName("db", "lost"), mark=LATER))
    place.target.apply(DropPartitions(table=TableName("db", "days"), keys=["day"], values=[["2"]], mark=LATER))
    del place.source.found[TableName("gone", "t")], place.source.bases["gone"], place.source.made[1]
    return place


def test_the_report_is_that_of_a_comparison_in_this_process(patch: pytest.MonkeyPatch) -> None:
    place = drifted(*(f"db.t{number:03}" for number in range(120)))
    executors = Executors(place, patch)
    found = executors.compare()
    assert found == place.compare()
    assert {it.result for it in found} >= {"equal", "missing", "extra", "different"}
    assert len(executors.asked) > executors.slots
    assert max(len(it.items) for it in executors.asked) <= spreading.MOST_ITEMS


@settings(max_examples=25, deadline=None)
@given(
    tables=st.dictionaries(st.integers(0, 60), st.lists(st.integers(0, 9), unique=True, max_size=4), max_size=20),
    lost=st.sets(st.integers(0, 60)),
    slots=st.integers(1, 5),
)
def test_the_report_is_the_same_however_it_is_divided(tables: dict[int, list[int]], lost: set[int], slots: int) -> None:
    place = Place("db.always")
    for number, days in tables.items():
        place.source.add(f"d{number % 3}.t{number}", *map(str, days))
    place.sync()
    for number in lost & tables.keys():
        place.target.apply(DropTable(table=TableName(f"d{number % 3}", f"t{number}"), mark=LATER))
    with pytest.MonkeyPatch.context() as patch:
        assert Executors(place, patch, slots).compare() == place.compare()


def test_a_table_of_many_partitions_is_divided(patch: pytest.MonkeyPatch) -> None:
    place = Place("db.small")
    place.source.add("db.large", *(f"{day:05}" for day in range(2 * FEW + 7)))
    place.sync()
    gone = [["00003"], [f"{2 * FEW:05}"]]
    place.target.apply(DropPartitions(table=TableName("db", "large"), keys=["day"], values=gone, mark=LATER))
    executors = Executors(place, patch)
    found = executors.compare()
    assert found == place.compare()
    (large,) = (it for it in found if it.name == "db.large")
    assert large.parts == 2 * FEW + 7
    assert large.fields == ("partition day=00003: missing", f"partition day={2 * FEW:05}: missing")
    assert len([it for it in executors.asked if it.batches]) == 3


@pytest.mark.parametrize("days", [3, FEW + 3])
def test_files_that_are_written_anew_are_known_there_too(patch: pytest.MonkeyPatch, days: int) -> None:
    """Of partitions their table tells, which goes with no task: whoever compares them looks at it."""
    place = anew(*(f"{day:05}" for day in range(days)))
    executors = Executors(place, patch)
    assert {it.result for it in executors.compare()} == {"equal"}
    assert bool([it for it in executors.asked if it.batches]) == (days > FEW)
    left_as_they_are(place, "00001")
    found = executors.compare()
    assert found == place.compare()
    assert [it.name for it in found if it.drift] == ["db.text"]


def test_what_is_sent_are_names_and_settings_without_those_of_spark(patch: pytest.MonkeyPatch) -> None:
    executors = Executors(drifted(), patch)
    executors.place.settings = executors.place.settings.model_copy(update={"copy_files": CopySettings(rewrite="orc")})
    executors.place.settings.use_spark(SparkConfig(settings={"spark.hadoop.said": "hush"}))
    executors.compare()
    text = executors.asked[0].model_dump_json()
    sent = json.loads(text)
    assert sent.keys() == {"job", "items", "old", "new", "batches"}
    assert sent["job"]["source"]["metastore"] == "thrift://source:9083"
    target = json.loads(sent["job"]["target"])
    assert (target["kind"], target["copy"]) == ("faulty", {"rewrite": "orc"})
    assert "hush" not in text


@pytest.mark.parametrize(
    "item",
    [
        DatabaseItem("new", ("a", "b")),
        ExtraDatabaseItem("new"),
        TableItem(TableName("a", "t"), TableName("b", "t"), extra=True),
    ],
)
def test_items_come_through_text_as_they_are(item: DatabaseItem | ExtraDatabaseItem | TableItem) -> None:
    assert ItemText.model_validate_json(ItemText.of(item).model_dump_json()).item() == item


def test_a_source_that_an_executor_cannot_read_is_told_with_its_host(patch: pytest.MonkeyPatch) -> None:
    executors = Executors(drifted(), patch)

    def nobody(_: object) -> None:
        raise MetastoreUnavailable("nobody there")

    def cut_off(work: str) -> str:
        patch.setattr(spread_task, "Metastore", nobody)
        return run_work(work)

    executors.do = cut_off
    with pytest.raises(Unavailable, match=r"^on \S+: cannot read the source: nobody there"):
        executors.compare()


def test_another_version_there_is_refused(patch: pytest.MonkeyPatch) -> None:
    work = TaskRequest(job=ComparisonJob.of(SOURCE, drifted().settings))
    other = work.model_copy(update={"job": work.job.model_copy(update={"version": "0.0.1"})})
    answer = TaskAnswer.model_validate_json(run_work(other.model_dump_json()))
    assert answer.failed is not None
    assert "the driver has pysync 0.0.1" in answer.failed[0]
    with pytest.raises(PysyncError, match=r"the driver has pysync 0\.0\.1"):
        raise Unavailable(*answer.failed)


def test_what_an_executor_lacks_is_named_with_where(tmp_path) -> None:
    trace = (
        "Lost task 0.3 in stage 0.0 (TID 3) (worker-7 executor 1): org.apache.spark.api.python.PythonException: "
        "Traceback (most recent call last):\nModuleNotFoundError: No module named 'pysync'\n"
    )
    reported = _explained(RuntimeError(trace), tmp_path / "spark.log")
    assert isinstance(reported, UsageError)
    assert reported.message == "the Spark executor on worker-7 has no Python module pysync"
    other = _explained(RuntimeError("Caused by: out of disk"), tmp_path / "spark.log")
    assert isinstance(other, Unavailable)
    assert "out of disk" in str(other)


def test_the_session_is_that_of_its_section_or_of_all_cores_of_this_machine(patch: pytest.MonkeyPatch) -> None:
    patch.delenv("PYSPARK_PYTHON", raising=False)
    target = TargetSettings(name="dr", kind="hms", copy=CopySettings(parallelism=7))
    spark = SparkConfig(master="local[3]", settings={"spark.c": "d"})
    request = _spark_request(Config(source=SOURCE, targets=(target,), spark=spark), target)
    assert (request.master, request.settings) == ("local[3]", (("spark.c", "d"),))
    assert _spark_request(Config(source=SOURCE, targets=(target,)), target).master == "local[*]"
