"""Partitions in Glue's batches: sizes, errors of single items, halving, what comes and goes meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pysync.base.text import count
from pysync.model.names import TableName
from pysync.targets.base import Outcome, OutcomeUnknown, Rejected, Unavailable
from pysync.targets.glue.catalog import Catalog
from pysync.targets.glue.partition_columns import columns_for
from tests.conformance.objects import Source, partition, table
from tests.support.delta import registered
from tests.support.glue import Bench, answered, broken_off


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def owner(bench: Bench, source: Source) -> Any:
    """The table of the partitions, at the target already."""
    found = table(TableName(bench.database(), "t"), "s3://b/t", keys=["k"])
    bench.target().apply(source.put_table(found))
    bench.restart()
    return found


def parts(owner: Any, values: list[str], **fields: Any) -> list[Any]:
    return [partition(owner, [value], **fields) for value in values]


def there(bench: Bench, owner: Any) -> list[str]:
    return sorted(part.values[0] for part in bench.target().partitions(TableName(owner.dbName, owner.tableName)))


def sizes(bench: Bench, method: str, argument: str) -> list[int]:
    return [len(arguments[argument]) for called, arguments in bench.calls if called == method]


def refusing(bad: set[str], code: str = "ValidationException", status: int = 400) -> Any:
    """A Glue that refuses a whole call because of some of its values."""

    def script(_: int, method: str, arguments: dict[str, Any]) -> Exception | None:
        items = arguments.get("PartitionInputList") or arguments.get("Entries") or []
        values = {(item.get("Values") or item["PartitionValueList"])[0] for item in items}
        wrong = method in {"batch_create_partition", "batch_update_partition"} and values & bad
        return answered(code, f"Value '{min(wrong)}' is bad", status) if wrong else None

    return script


# --- sizes


def test_batches_are_as_large_as_glue_takes(bench: Bench, source: Source, owner: Any) -> None:
    numbers = [f"{number:04}" for number in range(1030)]
    target = bench.target()
    put = source.put_partitions(owner, *parts(owner, numbers))
    assert target.apply(put) == Outcome.APPLIED
    assert sizes(bench, "batch_get_partition", "PartitionsToGet") == [1000, 30]
    assert sizes(bench, "batch_create_partition", "PartitionInputList") == [100] * 10 + [30]
    bench.restart()
    assert target.apply(source.put_partitions(owner, *parts(owner, numbers[:150], cols=["z:int"]))) == Outcome.APPLIED
    assert sizes(bench, "batch_update_partition", "Entries") == [100, 50]
    bench.restart()
    assert target.apply(source.drop_partitions(owner, *([n] for n in numbers[1:61]), ["absent"])) == Outcome.APPLIED
    assert sizes(bench, "batch_delete_partition", "PartitionsToDelete") == [25, 25, 10]
    assert len(there(bench, owner)) == 970


def test_batches_of_partitions_with_many_columns_are_smaller(bench: Bench, source: Source, owner: Any) -> None:
    columns = [f"column_{number}_{'x' * 240}:string" for number in range(1300)]
    put = source.put_partitions(owner, *parts(owner, [str(number) for number in range(30)], cols=columns))
    assert bench.target().apply(put) == Outcome.APPLIED
    found = [arguments for called, arguments in bench.calls if called == "batch_create_partition"]
    assert sum(len(it["PartitionInputList"]) for it in found) == 30
    assert all(len(json.dumps(it, default=str)) < 5_000_000 for it in found)


def test_several_calls_at_once(bench: Bench, source: Source, owner: Any) -> None:
    numbers = [str(number) for number in range(950)]
    put = source.put_partitions(owner, *parts(owner, numbers))
    assert bench.target(parallel=8).apply(put) == Outcome.APPLIED
    assert there(bench, owner) == sorted(numbers)
    assert bench.methods.count("batch_create_partition") == 10


def test_after_a_failure_no_other_call_is_begun(bench: Bench, source: Source, owner: Any) -> None:
    bench.before = lambda _, method, __: answered("ThrottlingException") if method.startswith("batch_create") else None
    put = source.put_partitions(owner, *parts(owner, [str(number) for number in range(1000)]))
    with pytest.raises(Unavailable):
        bench.target().apply(put)
    assert bench.methods.count("batch_create_partition") == 1


# --- errors of single items


@pytest.mark.parametrize("parallel", [1, 4])
def test_single_items_fail_and_the_others_are_done(bench: Bench, source: Source, owner: Any, parallel: int) -> None:
    """One that is there already is altered; what Glue cannot do now makes the operation come again."""
    target = bench.target(parallel=parallel)
    target.apply(source.put_partitions(owner, *parts(owner, ["7"], cols=["old:int"])))
    put = source.put_partitions(owner, *parts(owner, [str(number) for number in range(20)]))
    real, hidden = bench.batch_get_partition, [True]

    def racing(**arguments: Any) -> dict[str, Any]:
        """Somebody creates 7 after we have looked."""
        answer = real(**arguments)
        return {"Partitions": []} if hidden and hidden.pop() else answer

    bench.batch_get_partition = racing
    assert target.apply(put) == Outcome.APPLIED
    found = {part.values[0]: part for part in target.partitions(put.table)}
    assert len(found) == 20
    assert [col.name for col in found["7"].sd.cols] == ["a", "b"]
    assert sizes(bench, "batch_update_partition", "Entries") == [1]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InternalServiceException", OutcomeUnknown),
        ("ThrottlingException", Unavailable),
        ("InvalidInputException", Rejected),
    ],
)
def test_errors_of_items_are_read(bench: Bench, source: Source, owner: Any, code: str, kind: type[Exception]) -> None:
    detail = {"ErrorCode": code, "ErrorMessage": "because"}
    real = bench.batch_create_partition

    def partly(**arguments: Any) -> dict[str, Any]:
        rest = [item for item in arguments["PartitionInputList"] if item["Values"] != ["3"]]
        real(**{**arguments, "PartitionInputList": rest})
        return {"Errors": [{"PartitionValues": ["3"], "ErrorDetail": detail}]}

    bench.batch_create_partition = partly
    with pytest.raises(kind, match=rf'1 partition of {owner.dbName}.t failed: \["3"\]: {code}:? because'):
        bench.target().apply(source.put_partitions(owner, *parts(owner, list("12345"))))
    assert there(bench, owner) == list("1245")


def test_what_can_be_tried_again_goes_before_what_is_refused(bench: Bench, source: Source, owner: Any) -> None:
    """Else the table would be parked for a Glue that is busy."""
    bench.batch_create_partition = lambda **_: {
        "Errors": [
            {"PartitionValues": ["1"], "ErrorDetail": {"ErrorCode": "InvalidInputException"}},
            {"PartitionValues": ["2"], "ErrorDetail": {"ErrorCode": "InternalServiceException"}},
        ]
    }
    with pytest.raises(OutcomeUnknown):
        bench.target().apply(source.put_partitions(owner, *parts(owner, ["1", "2"])))


def test_one_that_vanishes_before_it_is_altered_is_created(bench: Bench, source: Source, owner: Any) -> None:
    target = bench.target()
    target.apply(source.put_partitions(owner, *parts(owner, ["1", "2"])))

    def vanish(_: int, method: str, __: dict[str, Any]) -> None:
        if method == "batch_update_partition":
            bench.before = lambda *_: None
            bench.delete_partition(DatabaseName=owner.dbName, TableName="t", PartitionValues=["1"])

    bench.before = vanish
    put = source.put_partitions(owner, *parts(owner, ["1", "2"], cols=["z:int"]))
    assert target.apply(put) == Outcome.APPLIED
    assert target.apply(put) == Outcome.UNCHANGED
    assert there(bench, owner) == ["1", "2"]


def test_one_that_comes_and_goes_for_ever_is_left_for_later(bench: Bench, source: Source, owner: Any) -> None:
    exists = {"ErrorCode": "AlreadyExistsException"}
    gone = {"ErrorCode": "EntityNotFoundException"}
    bench.batch_create_partition = lambda **_: {"Errors": [{"PartitionValues": ["1"], "ErrorDetail": exists}]}
    bench.batch_update_partition = lambda **_: {"Errors": [{"PartitionValueList": ["1"], "ErrorDetail": gone}]}
    with pytest.raises(Unavailable, match="creates and deletes partitions"):
        bench.target().apply(source.put_partitions(owner, *parts(owner, ["1"])))


def test_dropped_by_somebody_meanwhile(bench: Bench, source: Source, owner: Any) -> None:
    target = bench.target()
    target.apply(source.put_partitions(owner, *parts(owner, ["1", "2"])))
    gone = {"PartitionValues": ["1"], "ErrorDetail": {"ErrorCode": "EntityNotFoundException"}}
    bench.batch_delete_partition = lambda **_: {"Errors": [gone]}
    assert target.apply(source.drop_partitions(owner, ["1"])) == Outcome.APPLIED
    busy = {"PartitionValues": ["1"], "ErrorDetail": {"ErrorCode": "InternalServiceException"}}
    bench.batch_delete_partition = lambda **_: {"Errors": [busy]}
    with pytest.raises(OutcomeUnknown):
        target.apply(source.drop_partitions(owner, ["1"]))


# --- halving


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sets(st.integers(0, 129), max_size=6), st.booleans())
def test_halving_finds_what_is_refused_and_does_the_rest(bad: set[int], create: bool) -> None:
    bench, source = Bench(), Source()
    owner = table(TableName(bench.database(), "t"), "s3://b/t", keys=["k"])
    target, numbers = bench.target(), [str(number) for number in range(130)]
    target.apply(source.put_table(owner))
    if not create:
        target.apply(source.put_partitions(owner, *parts(owner, numbers, cols=["old:int"])))
    bench.before = refusing({str(number) for number in bad})
    put = source.put_partitions(owner, *parts(owner, numbers))
    if bad:
        with pytest.raises(Rejected, match=rf"^{count(len(bad), 'partition')} of .* failed: .*Value '\d+' is bad"):
            target.apply(put)
    else:
        assert target.apply(put) == Outcome.APPLIED
    bench.restart()
    done = {part.values[0] for part in target.partitions(put.table) if part.sd.cols[0].name == "a"}
    assert done == set(numbers) - {str(number) for number in bad}


def test_calls_that_are_too_large_are_halved_until_they_fit(bench: Bench, source: Source, owner: Any) -> None:
    def too_large(_: int, __: str, arguments: dict[str, Any]) -> Exception | None:
        large = len(arguments.get("PartitionInputList", ())) > 20
        return answered("413", "Request Entity Too Large", 413) if large else None

    bench.before = too_large
    put = source.put_partitions(owner, *parts(owner, [str(number) for number in range(70)]))
    assert bench.target().apply(put) == Outcome.APPLIED
    assert len(there(bench, owner)) == 70
    assert sizes(bench, "batch_create_partition", "PartitionInputList") == [70, 35, 17, 18, 35, 17, 18]


def test_where_everything_is_refused_it_is_the_table_that_is_wrong(bench: Bench, source: Source, owner: Any) -> None:
    numbers = [str(number) for number in range(1000)]
    bench.before = refusing(set(numbers), "InvalidInputException")
    with pytest.raises(Rejected, match=r"^10 partitions of"):
        bench.target().apply(source.put_partitions(owner, *parts(owner, numbers)))
    assert len(bench.writes) < 40


@pytest.mark.parametrize("kind", ["ThrottlingException", "AccessDeniedException", "ExpiredTokenException"])
def test_what_is_no_items_fault_is_not_halved(bench: Bench, source: Source, owner: Any, kind: str) -> None:
    bench.before = refusing({"1"}, kind)
    with pytest.raises(Unavailable):
        bench.target().apply(source.put_partitions(owner, *parts(owner, list("12345"))))
    assert len(bench.writes) == 1


def test_what_glue_cannot_hold_does_not_keep_the_others_from_it(bench: Bench, source: Source, owner: Any) -> None:
    wrong = partition(owner, ["x" * 1025])
    with pytest.raises(Rejected, match=r"1 partition of .*partition value has 1,025 characters"):
        bench.target().apply(source.put_partitions(owner, wrong, *parts(owner, ["1", "2"])))
    assert there(bench, owner) == ["1", "2"]


# --- unknown outcomes


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, 12))
def test_broken_off_at_any_call_and_again(bench: Bench, source: Source, owner: Any, number: int, after: bool) -> None:
    target, numbers = bench.target(), [f"{at:03}" for at in range(250)]
    target.apply(source.put_partitions(owner, *parts(owner, numbers[200:], cols=["old:int"])))
    steps = [
        source.put_partitions(owner, *parts(owner, numbers)),
        source.drop_partitions(owner, *([value] for value in numbers[:60])),
    ]
    bench.restart()
    script: Any = lambda at, *_: broken_off() if at == number else None  # noqa: E731
    bench.before, bench.after = (bench.before, script) if after else (script, bench.after)
    for step in steps:
        try:
            target.apply(step)
        except OutcomeUnknown:
            target.apply(step)
    bench.restart()
    assert there(bench, owner) == numbers[60:]
    found = target.partitions(steps[0].table)
    assert all([col.name for col in part.sd.cols] == ["a", "b"] for part in found)
    assert target.apply(steps[1]) == Outcome.UNCHANGED


# --- reading


def test_keys_that_were_not_processed_are_asked_for_again(bench: Bench, source: Source, owner: Any) -> None:
    """Answers have a largest size; one partition alone may be over it."""
    target, real = bench.target(), bench.batch_get_partition
    target.apply(source.put_partitions(owner, *parts(owner, list("abcdefg"))))

    def three(**arguments: Any) -> dict[str, Any]:
        wanted = arguments["PartitionsToGet"]
        if wanted[0]["Values"] == ["d"]:
            return {"Partitions": [], "UnprocessedKeys": wanted}
        answer: dict[str, Any] = real(**{**arguments, "PartitionsToGet": wanted[:3]})
        return {**answer, "UnprocessedKeys": wanted[3:]}

    bench.batch_get_partition = three
    bench.restart()
    name = TableName(owner.dbName, "t")
    found = Catalog(bench, None).partitions_of(name, [[value] for value in "abcdefgh"])
    assert [item["Values"][0] for item in found] == list("abcdefg")
    assert bench.methods == ["batch_get_partition", "get_partition", "batch_get_partition", "batch_get_partition"]


def test_partitions_are_streamed_in_pages(bench: Bench, source: Source, owner: Any) -> None:
    numbers = [f"{number:04}" for number in range(1500)]
    bench.target(parallel=8).apply(source.put_partitions(owner, *parts(owner, numbers)))
    bench.restart()
    stream = bench.target().partitions(TableName(owner.dbName, "t"))
    next(stream)
    assert bench.methods == ["get_partitions"]
    assert 1 + sum(1 for _ in stream) == 1500


def test_a_location_that_is_not_said_is_the_default_one(bench: Bench, source: Source, owner: Any) -> None:
    """A metastore would fill it in; without it Athena reads nothing."""
    part = partition(owner, ["a b/c"])
    part.sd.location = None
    target = bench.target()
    put = source.put_partitions(owner, part)
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert next(target.partitions(put.table)).sd.location == "s3://b/t/k=a b%2Fc"


def test_a_location_that_is_not_said_is_below_the_path_of_a_table_of_spark(bench: Bench, source: Source) -> None:
    found = registered(TableName(bench.database(), "t"), "s3://b/t", **{"spark.sql.sources.provider": "csv"})
    found.partitionKeys = table(TableName("d", "t"), None, keys=["k"]).partitionKeys
    part = partition(found, ["1"])
    part.sd.location = None
    target = bench.target()
    for operation in (source.put_table(found), source.put_partitions(found, part)):
        assert target.apply(operation) is Outcome.APPLIED
    assert next(target.partitions(TableName(found.dbName, "t"))).sd.location == "s3://b/t/k=1"


def test_a_text_of_spark_is_written_once_with_its_column_also_in_its_partitions(bench: Bench, source: Source) -> None:
    fields = [{"name": it, "type": "string", "metadata": {}} for it in ("value", "k")]
    schema = json.dumps({"type": "struct", "fields": fields})
    parameters = {"spark.sql.sources.provider": "text", "spark.sql.sources.schema": schema}
    found = registered(TableName(bench.database(), "t"), "s3://b/t", **parameters)
    found.partitionKeys = table(TableName("d", "t"), None, keys=["k"]).partitionKeys
    part = partition(found, ["1"])
    part.sd.cols = found.sd.cols
    target = bench.target()
    for operation in (source.put_table(found), source.put_partitions(found, part)):
        assert [target.apply(operation), target.apply(operation)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    name = TableName(found.dbName, "t")
    for there in (target.table(name), *target.partitions(name)):
        assert [(it.name, it.type) for it in there.sd.cols] == [("value", "string")]
        assert there.sd.serdeInfo.parameters["field.delim"] == "\n"


# --- columns

COLUMNS = st.lists(
    st.sampled_from([{"Name": name, "Type": kind} for name in "abc" for kind in ("int", "string")]), max_size=4
)


@settings(deadline=None)
@given(COLUMNS, COLUMNS)
def test_columns_are_the_partitions_own_or_its_tables(mine: list[Any], tables: list[Any]) -> None:
    assert columns_for("none", mine, tables) == mine
    assert columns_for("full", mine, tables) == tables
    assert columns_for("append", mine, tables) == (tables if tables[: len(mine)] == mine else mine)
    assert columns_for("append", tables[:1], tables) == tables
