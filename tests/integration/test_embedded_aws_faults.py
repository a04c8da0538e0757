"""Faults, counts and the life of the embedded AWS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from pysync.base.errors import PysyncError
from pysync.lab.aws import EmbeddedAws
from tests.support import process_is_gone, wait_until


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(athena=False) as running:
        running.client("glue").create_database(DatabaseInput={"Name": "d"})
        keys = [{"Name": "p", "Type": "int"}]
        running.client("glue").create_table(DatabaseName="d", TableInput={"Name": "t", "PartitionKeys": keys})
        yield running


@pytest.fixture
def aws(server: EmbeddedAws) -> EmbeddedAws:
    server.clear_faults()
    server.reset_calls()
    return server


def refused(call: Any, **request: Any) -> tuple[str, int]:
    """The code and HTTP status with which a call is refused."""
    with pytest.raises(ClientError) as error:
        call(**request)
    return error.value.response["Error"]["Code"], error.value.response["ResponseMetadata"]["HTTPStatusCode"]


def test_the_next_calls_fail_with_the_code(aws: EmbeddedAws) -> None:
    aws.fault("Glue.GetTable", code="ThrottlingException", reason="Rate exceeded", count=2)
    aws.fault("Glue.GetTable", code="InternalServiceException")
    glue = aws.client("glue")
    glue.get_database(Name="d")
    with pytest.raises(ClientError, match=r"ThrottlingException.*Rate exceeded"):
        glue.get_table(DatabaseName="d", Name="t")
    assert refused(glue.get_table, DatabaseName="d", Name="t") == ("ThrottlingException", 400)
    assert refused(glue.get_table, DatabaseName="d", Name="t") == ("InternalServiceException", 500)
    assert glue.get_table(DatabaseName="d", Name="t")["Table"]["Name"] == "t"


def test_a_refused_call_does_nothing(aws: EmbeddedAws) -> None:
    glue = aws.client("glue")
    aws.fault("Glue.CreateDatabase", code="AccessDeniedException")
    assert refused(glue.create_database, DatabaseInput={"Name": "denied"})[0] == "AccessDeniedException"
    assert refused(glue.get_database, Name="denied")[0] == "EntityNotFoundException"


def test_a_call_is_carried_out_and_its_answer_lost(aws: EmbeddedAws) -> None:
    glue = aws.client("glue")
    aws.fault("Glue.CreateDatabase", after=True)
    with pytest.raises(ConnectionClosedError):
        glue.create_database(DatabaseInput={"Name": "lost"})
    assert glue.get_database(Name="lost")["Database"]["Name"] == "lost"


def test_a_call_is_carried_out_and_refused_all_the_same(aws: EmbeddedAws) -> None:
    glue = aws.client("glue")
    aws.fault("Glue.CreateDatabase", after=True, code="OperationTimeoutException")
    assert refused(glue.create_database, DatabaseInput={"Name": "late"}) == ("OperationTimeoutException", 500)
    assert glue.get_database(Name="late")["Database"]["Name"] == "late"


def test_a_call_is_lost_before_it_is_carried_out(aws: EmbeddedAws) -> None:
    glue = aws.client("glue")
    aws.fault("Glue.CreateDatabase", lose=True)
    with pytest.raises(ConnectionClosedError):
        glue.create_database(DatabaseInput={"Name": "never"})
    assert refused(glue.get_database, Name="never")[0] == "EntityNotFoundException"


def test_a_call_waits(aws: EmbeddedAws) -> None:
    aws.fault("Glue.GetTable", delay_seconds=0.4)
    start = time.monotonic()
    aws.client("glue").get_table(DatabaseName="d", Name="t")
    assert time.monotonic() - start >= 0.4


def test_items_of_a_batch_fail(aws: EmbeddedAws) -> None:
    glue, where = aws.client("glue"), {"DatabaseName": "d", "TableName": "t"}
    aws.fault("Glue.BatchCreatePartition", code="InternalServiceException", reason="no luck", items=[0, 2])
    items = [{"Values": [str(number)]} for number in range(4)]
    errors = glue.batch_create_partition(**where, PartitionInputList=items)["Errors"]
    assert [
        (e["PartitionValues"], e["ErrorDetail"]["ErrorCode"], e["ErrorDetail"]["ErrorMessage"]) for e in errors
    ] == [
        (["0"], "InternalServiceException", "no luck"),
        (["2"], "InternalServiceException", "no luck"),
    ]
    assert [part["Values"] for part in glue.get_partitions(**where)["Partitions"]] == [["1"], ["3"]]
    assert "Errors" not in glue.batch_create_partition(**where, PartitionInputList=[items[0], items[2]])


def test_s3_fails_too(aws: EmbeddedAws) -> None:
    s3 = aws.client("s3")
    aws.fault("S3.PUT", code="AccessDenied")
    assert refused(s3.create_bucket, Bucket="bucket") == ("AccessDenied", 400)
    s3.create_bucket(Bucket="bucket")


def test_faults_are_cleared(aws: EmbeddedAws) -> None:
    aws.fault("Glue.GetTable", code="ThrottlingException", count=1000)
    aws.clear_faults()
    aws.client("glue").get_table(DatabaseName="d", Name="t")


@pytest.mark.parametrize("wrong", [{"colour": "red"}, {"cuont": 2}])
def test_a_fault_that_is_misspelt_is_refused(aws: EmbeddedAws, wrong: dict[str, Any]) -> None:
    with pytest.raises(PysyncError, match=r"a fault needs a target, and may have .*count"):
        aws.fault("Glue.GetTable", **wrong)


def test_calls_are_counted_whatever_comes_of_them(aws: EmbeddedAws) -> None:
    glue = aws.client("glue")
    for _ in range(3):
        glue.get_database(Name="d")
    aws.fault("Glue.GetTable", code="ThrottlingException")
    refused(glue.get_table, DatabaseName="d", Name="t")
    refused(glue.get_table, DatabaseName="d", Name="none")
    assert aws.calls() == {"Glue.GetDatabase": 3, "Glue.GetTable": 2}
    aws.reset_calls()
    assert aws.calls() == {}


def test_unknown_controls_are_refused(aws: EmbeddedAws) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(f"{aws.url}/_bench/nothing")  # noqa: S310, our own
    with error.value as answer:
        assert answer.code == 400
        assert b"GET /_bench/nothing" in answer.read()


def test_without_athena_its_calls_are_refused(aws: EmbeddedAws) -> None:
    assert refused(aws.client("athena").list_query_executions)[0] == "UnknownOperationException"


def test_the_environment_brings_boto3_here(aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in aws.environment().items():
        monkeypatch.setenv(name, value)
    glue = boto3.session.Session().client("glue")
    assert glue.get_database(Name="d")["Database"]["Name"] == "d"


def test_many_clients_at_once_lose_nothing(aws: EmbeddedAws) -> None:
    program = (
        "import boto3, sys; glue = boto3.client('glue'); "
        "[glue.create_database(DatabaseInput={'Name': f'{sys.argv[1]}{n}'}) for n in range(25)]"
    )
    environment = {**os.environ, **aws.environment()}
    clients = [
        subprocess.Popen([sys.executable, "-c", program, name], env=environment)
        for name in ("many_a", "many_b", "many_c")
    ]
    assert [client.wait(60) for client in clients] == [0, 0, 0]
    pages = aws.client("glue").get_paginator("get_databases").paginate()
    names = [item["Name"] for page in pages for item in page["DatabaseList"] if item["Name"].startswith("many_")]
    assert len(names) == 75


def test_it_can_be_stopped_and_started_anew(tmp_path: Path) -> None:
    aws = EmbeddedAws(tmp_path, athena=False)
    with aws:
        aws.client("glue").create_database(DatabaseInput={"Name": "d"})
        pid = aws.pid
        with pytest.raises(PysyncError, match="is already running"):
            aws.start()
    assert process_is_gone(pid)
    assert not aws.running
    with pytest.raises(PysyncError, match="is not running"):
        assert aws.pid
    with aws:
        assert aws.client("glue").get_databases()["DatabaseList"] == []


def test_a_port_that_is_in_use_is_said(aws: EmbeddedAws, tmp_path: Path) -> None:
    port = int(aws.url.rpartition(":")[2])
    with pytest.raises(PysyncError, match=r"(?s)ended during its start.*in use"):
        EmbeddedAws(tmp_path, athena=False, port=port).start()


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time; from pysync.lab.aws import EmbeddedAws; "
        "aws = EmbeddedAws(pathlib.Path(sys.argv[1]), athena=False).start(); print(aws.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not process_is_gone(pid)
        parent.send_signal(signal.SIGKILL)
    wait_until(lambda: process_is_gone(pid), what="the end of the server")
