"""Columns of Delta and Hudi tables at Glue, by their logs on S3: what is written, compared, and told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from hmsclient.genthrift.hive_metastore import ttypes as hive
from moto import mock_aws
from structlog.testing import capture_logs

from pysync.model.names import TableName
from pysync.targets.aws.clients import provide
from pysync.targets.base import Outcome, Unavailable
from pysync.targets.glue.log_columns import FRESH_SECONDS, LogColumns
from pysync.targets.glue.settings import GlueSettings
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source, table
from tests.support import hudi
from tests.support.delta import DeltaLog, registered, schema
from tests.support.glue import Bench

BUCKET = "lake"
PLACE = f"s3://{BUCKET}/t"
DUMMY = [("col", "array<string>")]


@pytest.fixture(scope="module")
def mocked() -> Iterator[None]:
    with mock_aws():  # and credentials of its own
        yield


@pytest.fixture
def s3(mocked: None) -> Any:
    """A client of its own, and an empty bucket."""
    client = boto3.client("s3", region_name="us-east-1")
    client.create_bucket(Bucket=BUCKET)
    for it in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        client.delete_object(Bucket=BUCKET, Key=it["Key"])
    return client


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def name(bench: Bench) -> TableName:
    return TableName(bench.database(), "t")


@pytest.fixture
def open_target(bench: Bench, s3: Any) -> Callable[..., StoreTarget]:
    """A new connection each time: what one has read a moment ago, it does not read again."""

    def opened(every: str | None = "1h", **values: Any) -> StoreTarget:
        target = bench.target(**({"log_schemas_every": every} if every else {}), **values)
        provide(target.store.settings, s3=s3)
        return target

    return opened


def put_log(s3: Any, version: int, *columns: tuple[str, Any]) -> None:
    log = DeltaLog()
    log.commit(version, schema(*columns))
    log.upload(s3, BUCKET, "t")


def columns(target: StoreTarget, name: TableName) -> list[tuple[str, str]]:
    found = target.table(name)
    assert found is not None
    return [(it.name, it.type) for it in found.sd.cols]


def refuse(s3: Any, code: str, status: int, call: str = "") -> None:
    """Let every call of S3 fail so, or those of one kind."""

    def refused(**_: Any) -> None:
        raise ClientError(
            {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}, "call"
        )

    s3.meta.events.register(f"before-send.s3.{call}".rstrip("."), refused, unique_id="refused")


def test_a_table_gets_the_columns_of_its_log(open_target, s3, source, name) -> None:
    put_log(s3, 0, ("Id", "long"), ("day", "date"))
    target = open_target()
    wanted = registered(name, PLACE)
    assert target.apply(source.put_table(wanted)) is Outcome.APPLIED
    assert columns(target, name) == [("id", "bigint"), ("day", "date")]
    assert target.differences(wanted, target.table(name)) == []


def test_an_alter_at_the_source_does_not_undo_them(open_target, s3, source, name) -> None:
    put_log(s3, 0, ("id", "long"))
    target = open_target()
    target.apply(source.put_table(registered(name, PLACE)))
    target.apply(source.put_table(registered(name, PLACE, owner_team="etl")))
    found = target.table(name)
    assert found is not None
    assert found.parameters["owner_team"] == "etl"
    assert columns(target, name) == [("id", "bigint")]


def test_a_later_commit_is_a_difference_until_it_is_refreshed(open_target, s3, source, name) -> None:
    put_log(s3, 0, ("id", "long"))
    wanted = registered(name, PLACE)
    open_target().apply(source.put_table(wanted))
    put_log(s3, 1, ("id", "long"), ("b", "string"))
    target = open_target()
    assert target.differences(wanted, target.table(name)) != []
    assert target.apply(source.put_table(wanted)) is Outcome.APPLIED
    assert target.apply(source.put_table(wanted)) is Outcome.UNCHANGED
    assert columns(target, name) == [("id", "bigint"), ("b", "string")]


def test_a_managed_table_is_where_its_storage_says(open_target, s3, source, name) -> None:
    put_log(s3, 0, ("id", "long"))
    wanted = registered(name, PLACE)
    wanted.sd.location, wanted.sd.serdeInfo.parameters = "s3a://lake/t/", {}
    target = open_target()
    target.apply(source.put_table(wanted))
    assert columns(target, name) == [("id", "bigint")]


def test_partition_keys_of_the_source_are_no_columns_as_well(open_target, s3, source, name) -> None:
    put_log(s3, 0, ("id", "long"), ("Day", "date"))
    wanted = registered(name, PLACE)
    wanted.partitionKeys = [hive.FieldSchema("day", "date", None)]
    target = open_target()
    target.apply(source.put_table(wanted))
    assert columns(target, name) == [("id", "bigint")]


def test_without_the_setting_a_table_has_the_columns_of_the_source(open_target, s3, source, name) -> None:
    put_log(s3, 0, ("id", "long"))
    target = open_target(None)
    target.apply(source.put_table(registered(name, PLACE)))
    assert columns(target, name) == DUMMY


def test_a_table_that_is_not_of_delta_is_not_read(open_target, s3, source, name) -> None:
    refuse(s3, "AccessDenied", 403)
    target = open_target()
    assert target.apply(source.put_table(table(name, PLACE))) is Outcome.APPLIED


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda _: None, "it is not there"),
        (lambda s3: s3.put_object(Bucket=BUCKET, Key=f"t/_delta_log/{0:020}.json", Body=b'{"metaData": 1}'), "damaged"),
        (lambda s3: put_log(s3, 0, ("v", "variant")), "Hive has no type variant"),
        (lambda s3: refuse(s3, "AccessDenied", 403), "AccessDenied"),
        (lambda s3: refuse(s3, "NoSuchBucket", 404), "it is not there"),
        (lambda s3: refuse(s3, "PermanentRedirect", 301), "PermanentRedirect"),
    ],
    ids=["absent", "damaged", "a type", "denied", "no bucket", "another error"],
)
def test_a_log_that_cannot_be_used_leaves_the_columns_and_is_told(
    open_target, s3, source, name, *, spoil, reason
) -> None:
    spoil(s3)
    target = open_target()
    wanted = registered(name, PLACE)
    with capture_logs() as logs:
        assert target.apply(source.put_table(wanted)) is Outcome.APPLIED
        assert target.apply(source.put_table(wanted)) is Outcome.UNCHANGED
    assert columns(target, name) == DUMMY
    (reported,) = [it for it in logs if it["event"] == "table_log_unreadable"]
    assert reported["table"] == str(name)
    assert reason in reported["reason"]


def test_a_log_that_becomes_unreadable_does_not_bring_the_old_columns_back(open_target, s3, source, name) -> None:
    put_log(s3, 0, ("id", "long"))
    open_target().apply(source.put_table(registered(name, PLACE)))
    refuse(s3, "AccessDenied", 403)
    target = open_target()
    assert target.apply(source.put_table(registered(name, PLACE, owner_team="etl"))) is Outcome.APPLIED
    assert columns(target, name) == [("id", "bigint")]
    assert target.differences(registered(name, PLACE, owner_team="etl"), target.table(name)) == []


@pytest.mark.parametrize(("code", "status"), [("SlowDown", 503), ("InternalError", 500), ("ExpiredToken", 400)])
def test_what_passes_is_waited_for(open_target, s3, source, name, *, code: str, status: int) -> None:
    refuse(s3, code, status)
    with pytest.raises(Unavailable):
        open_target().apply(source.put_table(registered(name, PLACE)))


def test_a_network_that_is_away_is_waited_for(open_target, s3, source, name) -> None:
    def away(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="https://s3")

    s3.meta.events.register("before-send.s3", away)
    with pytest.raises(Unavailable):
        open_target().apply(source.put_table(registered(name, PLACE)))


def test_a_table_elsewhere_is_told(open_target, s3, source, name) -> None:
    target = open_target(unreadable_locations="keep")
    with capture_logs() as logs:
        target.apply(source.put_table(registered(name, "hdfs://nn/t")))
    assert [it["reason"] for it in logs if it["event"] == "table_log_unreadable"] == ["it is not on S3"]


def test_a_checkpoint_is_read_in_pieces(open_target, s3, source, name) -> None:
    log = DeltaLog()
    log.checkpoint(10, schema(*((f"c{n}", "long") for n in range(1000))))
    log.upload(s3, BUCKET, "t")
    target = open_target()
    target.apply(source.put_table(registered(name, PLACE)))
    assert len(columns(target, name)) == 1000


@pytest.mark.parametrize(("code", "status"), [("PreconditionFailed", 412), ("NoSuchKey", 404), ("SlowDown", 503)])
def test_a_checkpoint_that_changes_while_it_is_read_is_read_again_later(
    open_target, s3, source, name, *, code: str, status: int
) -> None:
    log = DeltaLog()
    log.checkpoint(10, schema(("id", "long")), pointer=False)
    log.upload(s3, BUCKET, "t")
    refuse(s3, code, status, "GetObject")
    with pytest.raises(Unavailable):
        open_target().apply(source.put_table(registered(name, PLACE)))


def test_what_was_just_read_is_not_read_again(s3) -> None:
    calls: list[str] = []
    s3.meta.events.register("before-send.s3", lambda event_name, **_: calls.append(event_name))
    put_log(s3, 0, ("id", "long"))
    calls.clear()
    now = [0.0]
    settings = GlueSettings(name="lake", kind="glue", region="us-east-1", log_schemas_every="1h")
    provide(settings, s3=s3)
    read = LogColumns(settings, lambda _: None, clock=lambda: now[0])
    wanted = registered(TableName("db", "t"), PLACE)
    read.applied(wanted)
    once = len(calls)
    read.applied(wanted)
    assert len(calls) == once > 0
    now[0] = FRESH_SECONDS
    read.applied(wanted)
    assert len(calls) == 2 * once


def test_the_definition_of_the_source_is_not_altered(s3) -> None:
    put_log(s3, 0, ("id", "long"))
    settings = GlueSettings(name="lake", kind="glue", region="us-east-1", log_schemas_every="1h")
    provide(settings, s3=s3)
    wanted = registered(TableName("db", "t"), PLACE)
    LogColumns(settings, lambda _: None).applied(wanted)
    assert wanted == registered(TableName("db", "t"), PLACE)


# --- Hudi


@pytest.mark.parametrize("directory", [".hoodie", ".hoodie/timeline"])
def test_a_hudi_table_gets_the_columns_of_its_timeline(open_target, s3, source, name, directory) -> None:
    timeline = hudi.Timeline()
    timeline.avro_commit(1, hudi.schema(("Id", "long"), ("added", "string")))
    timeline.upload(s3, BUCKET, f"t/{directory}")
    wanted, target = hudi.registered(name, PLACE, ("id", "bigint")), open_target()
    assert target.apply(source.put_table(wanted)) is Outcome.APPLIED
    assert columns(target, name) == [*hudi.OWN, ("id", "bigint"), ("added", "string")]
    assert target.differences(wanted, target.table(name)) == []


def test_a_hudi_table_whose_timeline_is_unreadable_is_as_at_the_source(open_target, s3, source, name) -> None:
    """Unlike Spark with Delta, Hudi's writer registers the columns."""
    for cols in ([("id", "bigint")], [("id", "bigint"), ("added", "string")]):
        with capture_logs() as logs:
            open_target().apply(source.put_table(hudi.registered(name, PLACE, *cols)))
        assert columns(open_target(), name) == [*hudi.OWN, *cols]
        assert [it["reason"] for it in logs if it["event"] == "table_log_unreadable"] == ["it is not there"]
