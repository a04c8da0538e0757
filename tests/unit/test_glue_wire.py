"""A real client of Glue over HTTP: lost answers, throttling, errors of items, a Glue that dies, lanes together."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.config import load_partial
from pysync.lab.aws import EmbeddedAws
from pysync.model.names import TableName
from pysync.setup.check import check_config
from pysync.targets.aws.clients import ATTEMPTS
from pysync.targets.base import Outcome, OutcomeUnknown, Target, Unavailable
from pysync.targets.glue import GlueSettings, glue_target
from tests.conformance.objects import Source, partition, table

DATABASES = iter(range(1000))


@pytest.fixture(scope="module")
def aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(athena=False) as found:
        yield found


@pytest.fixture
def settings(aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> Iterator[GlueSettings]:
    for key, value in aws.environment().items():
        if key != "AWS_ENDPOINT_URL":
            monkeypatch.setenv(key, value)
    yield GlueSettings(name="lake", kind="glue", region="us-east-1", endpoint_url=aws.url)
    aws.clear_faults()


@pytest.fixture
def target(settings: GlueSettings) -> Iterator[Target]:
    with closing(glue_target(settings)) as found:
        yield found


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def name(target: Target, source: Source) -> TableName:
    found = TableName(f"wire_{next(DATABASES)}", "t")
    target.apply(source.put_database(found.database))
    return found


@pytest.mark.parametrize(("after", "count"), [(True, 1), (False, 1), (False, ATTEMPTS)])
def test_lost_answers(aws: EmbeddedAws, target: Target, name: TableName, after: bool, count: int) -> None:
    """botocore sends a call again, and finds what the first one has done: that is no other's."""
    source = Source()
    steps = {
        "Glue.CreateTable": source.put_table(table(name, "s3://b/t", keys=["k"]), at=10),
        "Glue.UpdateTable": source.put_table(table(name, "s3://b/t", keys=["k"], parameters={"v": "2"})),
        "Glue.DeleteTable": source.drop_table(name),
    }
    for call, operation in steps.items():
        aws.fault(call, after=after, lose=True, count=count)
        if count < ATTEMPTS:
            assert target.apply(operation) == (Outcome.UNCHANGED if after else Outcome.APPLIED)
        else:
            with pytest.raises(OutcomeUnknown, match=f"of {name} on target 'lake', the Glue catalog in us-east-1"):
                target.apply(operation)
            target.apply(operation)
        assert target.apply(operation) == Outcome.UNCHANGED
    assert target.table(name) is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ThrottlingException", Unavailable),
        ("ExpiredTokenException", Unavailable),
        ("AccessDeniedException", Unavailable),
        ("InternalServiceException", OutcomeUnknown),
    ],
)
def test_answers(aws: EmbeddedAws, target: Target, name: TableName, code: str, kind: type[Exception]) -> None:
    source = Source()
    put = source.put_table(table(name, "s3://b/t"))
    aws.fault("Glue.CreateTable", code=code, count=ATTEMPTS)
    with pytest.raises(kind, match=f"{code}: an injected fault"):
        target.apply(put)
    aws.clear_faults()
    assert target.apply(put) == Outcome.APPLIED


def test_items_of_a_batch(aws: EmbeddedAws, target: Target, source: Source, name: TableName) -> None:
    owner = table(name, "s3://b/t", keys=["k"])
    target.apply(source.put_table(owner))
    put = source.put_partitions(owner, *(partition(owner, [f"{number:03}"]) for number in range(120)))
    aws.fault("Glue.BatchCreatePartition", code="InternalServiceException", items=[0, 7])
    with pytest.raises(OutcomeUnknown, match="2 partitions of"):
        target.apply(put)
    assert sum(1 for _ in target.partitions(name)) == 118
    assert target.apply(put) == Outcome.APPLIED
    assert target.apply(put) == Outcome.UNCHANGED
    aws.fault("Glue.BatchDeletePartition", code="EntityNotFoundException", items=[3])
    drop = source.drop_partitions(owner, *([f"{number:03}"] for number in range(30)))
    assert target.apply(drop) == Outcome.APPLIED
    assert sum(1 for _ in target.partitions(name)) == 91, "the one that Glue said it does not have is there"


def test_lanes_write_one_table_each_through_one_client(settings: GlueSettings, source: Source, name: TableName) -> None:
    operations = [source.put_table(table(TableName(name.database, f"t{n}"), f"s3://b/{n}")) for n in range(40)]
    lanes = [glue_target(settings) for _ in range(4)]
    failed = list[Exception]()

    def work(number: int) -> None:
        try:
            for operation in operations[number::4]:
                assert lanes[number].apply(operation) == Outcome.APPLIED
        except Exception as error:
            failed.append(error)
        lanes[number].close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(lanes[0].tables(name.database)) == 40


def test_two_writers_of_one_table_lose_no_change(settings: GlueSettings, source: Source, name: TableName) -> None:
    """Each writes what is newer than what it sees: in the end the newest is there, whoever was faster."""
    history = [source.put_table(table(name, "s3://b/t", parameters={"v": str(n)}), at=100 + n) for n in range(20)]
    outcomes: list[Any] = []

    def work(step: int) -> None:
        lane = glue_target(settings)
        for operation in history[step::2]:
            try:
                outcomes.append(lane.apply(operation))
            except Unavailable as error:  # the other one was in between three times: the drain tries again
                outcomes.append(error)
                outcomes.append(lane.apply(operation))

    threads = [threading.Thread(target=work, args=(step,)) for step in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert glue_target(settings).table(name).parameters["v"] == "19", outcomes


def test_glue_dies_and_comes_back(monkeypatch: pytest.MonkeyPatch, source: Source) -> None:
    with EmbeddedAws(athena=False) as aws:
        for key, value in aws.environment().items():
            if key != "AWS_ENDPOINT_URL":
                monkeypatch.setenv(key, value)
        port = int(aws.url.rpartition(":")[2])
        settings = GlueSettings(name="lake", kind="glue", region="us-east-1", endpoint_url=aws.url)
        target, put = glue_target(settings), source.put_database("db")
        assert target.apply(put) == Outcome.APPLIED
    for call in (target.check, lambda: target.tables("db"), lambda: target.apply(put)):
        with pytest.raises(Unavailable, match="target 'lake', the Glue catalog in us-east-1"):
            call()
    with EmbeddedAws(athena=False, port=port):
        assert target.apply(put) == Outcome.APPLIED, "the embedded one forgets"
        assert target.check().startswith("1 database in the Glue catalog in us-east-1")
    target.close()


def test_check_names_what_the_catalog_cannot_hold(settings: GlueSettings, tmp_path: Path) -> None:
    file = tmp_path / "pysync.toml"
    target = (
        f'[[targets]]\nname = "lake"\nkind = "glue"\nregion = "us-east-1"\nendpoint_url = "{settings.endpoint_url}"\n'
    )
    file.write_text(target)
    found = next(it for it in check_config(load_partial(file)) if it.what == "target lake")
    assert found.ok
    assert "; lacks constraints (Glue has no constraints), renames in place (Glue has no rename call" in found.detail
