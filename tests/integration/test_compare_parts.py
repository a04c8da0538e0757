"""What `make compare-agents` puts between AWS's agents and the embedded AWS: the JDBC driver, and TLS for the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from pysync.lab import java
from pysync.lab.aws import EmbeddedAws
from tests.compare.driver import driver_jar
from tests.compare.lake import throttled
from tests.compare.tls import HOST, tls_front

pytestmark = pytest.mark.athena


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    jars = java.find_spark_jars()
    classes = java.class_path([driver_jar(tmp_path_factory.mktemp("driver"))], jars)
    py4j = str(next(jars.glob("py4j-*.jar")))
    port, process = launch_gateway(jarpath=py4j, classpath=classes, die_on_exit=True, return_proc=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield gateway.jvm
    gateway.shutdown()
    process.stdin.close()  # it ends with that
    process.wait(20)


@pytest.fixture
def statement(jvm: Any, shared_aws: EmbeddedAws) -> Any:
    """A java.sql.Statement of a connection as v1 opens one."""
    info = jvm.java.util.Properties()
    info.setProperty("s3_staging_dir", "s3://lake/athena/")
    url = shared_aws.url.replace("http://", "jdbc:awsathena://")
    return jvm.java.sql.DriverManager.getConnection(url, info).createStatement()


def databases(aws: EmbeddedAws) -> set[str]:
    return {
        it["Name"]
        for page in aws.client("glue").get_paginator("get_databases").paginate()
        for it in page["DatabaseList"]
    }


def test_a_statement_is_run_whatever_its_end(statement: Any, shared_aws: EmbeddedAws) -> None:
    statement.execute("create database if not exists compare_run ;")
    statement.execute("create database if not exists compare_again")
    statement.close()
    assert {"compare_run", "compare_again"} <= databases(shared_aws)


def test_a_failure_has_the_words_that_the_agent_looks_for(statement: Any) -> None:
    with pytest.raises(Py4JJavaError) as failure:
        statement.execute("create external table compare_none.t (a int) location 's3://lake/t'")
    message = failure.value.java_exception.getMessage()
    assert message.startswith("[Simba][AthenaJDBC](100071) ")
    assert message.split(":")[2].strip() == "Database does not exist"
    assert message.split(":")[3].strip() == "compare_none"


def test_a_throttled_statement_is_sent_again(statement: Any, shared_aws: EmbeddedAws) -> None:
    shared_aws.fault("Athena.StartQueryExecution", code="ThrottlingException", count=1)
    statement.execute("create database if not exists compare_throttled")
    assert "compare_throttled" in databases(shared_aws)


def test_writes_are_refused_only_while_they_are_throttled(shared_aws: EmbeddedAws) -> None:
    glue = shared_aws.client("glue")
    with throttled(shared_aws), pytest.raises(glue.exceptions.ClientError, match="Rate exceeded"):
        glue.delete_table(DatabaseName="compare_none", Name="t")
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.delete_table(DatabaseName="compare_none", Name="t")


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_calls_and_answers_of_any_size_pass_the_tls_front(shared_aws: EmbeddedAws, tmp_path: Path) -> None:
    keys = {"aws_access_key_id": "embedded", "aws_secret_access_key": "embedded", "region_name": shared_aws.region}
    parameters = {"a": "x" * 300_000}
    with tls_front(tmp_path, int(shared_aws.url.rpartition(":")[2])) as port:
        glue = boto3.client("glue", endpoint_url=f"https://{HOST}:{port}", verify=False, **keys)
        glue.create_database(DatabaseInput={"Name": "compare_tls", "Parameters": parameters})
        assert glue.get_database(Name="compare_tls")["Database"]["Parameters"] == parameters
        glue.close()
