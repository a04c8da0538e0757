"""What statements of DDL change in Glue, and what they leave; and how Athena's calls go about them."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from pysync.lab.aws import EmbeddedAws
from tests.support import wait_until
from tests.support.glue import every

pytestmark = pytest.mark.athena

PARQUET = "org.apache.hadoop.hive.ql.io.parquet"
STORAGE = {
    "Columns": [{"Name": "a", "Type": "int", "Comment": "first"}],
    "Location": "s3://b/t/",
    "InputFormat": f"{PARQUET}.MapredParquetInputFormat",
    "OutputFormat": f"{PARQUET}.MapredParquetOutputFormat",
    "SerdeInfo": {
        "Name": "mine",
        "SerializationLibrary": f"{PARQUET}.serde.ParquetHiveSerDe",
        "Parameters": {"s": "1"},
    },
    "Parameters": {"classification": "parquet"},
}
TABLE = {
    "Name": "t",
    "Description": "only Glue has these",
    "Owner": "me",
    "Retention": 3,
    "TableType": "EXTERNAL_TABLE",
    "Parameters": {"EXTERNAL": "TRUE", "kept": "1"},
    "PartitionKeys": [{"Name": "k", "Type": "int", "Comment": "key"}],
    "StorageDescriptor": STORAGE,
}


class Athena:
    """Plain boto3, and a database with the table `t`, which has the partitions 7 and 8."""

    def __init__(self, aws: EmbeddedAws) -> None:
        self.aws = aws
        self.queries = aws.client("athena")
        self.glue = aws.client("glue")
        self.database = ""
        self.started: list[str] = []

    def fill(self) -> None:
        """Begin in a database that nobody else has."""
        self.database = f"db_{uuid.uuid4().hex[:12]}"
        self.glue.create_database(DatabaseInput={"Name": self.database, "Description": "d", "Parameters": {"a": "1"}})
        self.glue.create_table(DatabaseName=self.database, TableInput=TABLE)
        parts = [
            {
                "Values": [value],
                "Parameters": {"own": value},
                "StorageDescriptor": {**STORAGE, "Location": f"s3://b/{value}"},
            }
            for value in ("7", "8")
        ]
        self.glue.batch_create_partition(DatabaseName=self.database, TableName="t", PartitionInputList=parts)

    def start(self, statement: str, **request: Any) -> str:
        """Submit a statement, in which {db} stands for the database; its id."""
        staging = {"ResultConfiguration": {"OutputLocation": "s3://results/"}}
        context = {"QueryExecutionContext": {"Database": self.database}}
        text = statement.replace("{db}", self.database)
        answer = self.queries.start_query_execution(QueryString=text, **{**staging, **context, **request})
        self.started.append(answer["QueryExecutionId"])
        return self.started[-1]

    def execution(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.queries.get_query_execution(QueryExecutionId=name)["QueryExecution"]
        return found

    def state(self, name: str) -> str:
        found: str = self.execution(name)["Status"]["State"]
        return found

    def end(self, name: str) -> dict[str, Any]:
        """The status of a statement once it is over."""
        over = {"SUCCEEDED", "FAILED", "CANCELLED"}
        wait_until(lambda: self.state(name) in over, seconds=60, what="the end of the statement")
        status: dict[str, Any] = self.execution(name)["Status"]
        return status

    def run(self, statement: str) -> list[str]:
        """The rows of a statement's result."""
        name = self.start(statement)
        status = self.end(name)
        assert status["State"] == "SUCCEEDED", status
        rows = self.queries.get_query_results(QueryExecutionId=name)["ResultSet"]["Rows"]
        return [row["Data"][0]["VarCharValue"] for row in rows]

    def table(self) -> dict[str, Any]:
        found: dict[str, Any] = self.glue.get_table(DatabaseName=self.database, Name="t")["Table"]
        return found

    def partitions(self) -> dict[str, dict[str, Any]]:
        found = self.glue.get_partitions(DatabaseName=self.database, TableName="t")["Partitions"]
        return {part["Values"][0]: part for part in found}


@pytest.fixture(scope="module")
def bench(shared_aws: EmbeddedAws) -> Athena:
    return Athena(shared_aws)


@pytest.fixture
def athena(bench: Athena) -> Iterator[Athena]:
    bench.fill()
    yield bench
    bench.aws.clear_faults()
    for name in bench.started:
        bench.queries.stop_query_execution(QueryExecutionId=name)
        bench.end(name)
    bench.started.clear()


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """The members that are different, those of the storage too, but for what any change changes."""
    names = {name for name in {*before, *after} if before.get(name) != after.get(name)} - {"UpdateTime", "VersionId"}
    if "StorageDescriptor" in names:
        inner = changed(before["StorageDescriptor"], after["StorageDescriptor"])
        names = (names - {"StorageDescriptor"}) | {f"storage {name}" for name in inner}
    return names


# A statement, and what of the table it changes. Hive notes the time of every change in the parameters.
ALTERS = {
    "ALTER TABLE t ADD COLUMNS (z string COMMENT 'new')": {"Parameters", "storage Columns"},
    "ALTER TABLE `{db}`.`t` CHANGE COLUMN a aa bigint COMMENT 'changed'": {"Parameters", "storage Columns"},
    "ALTER TABLE t REPLACE COLUMNS (b int, c int)": {"Parameters", "storage Columns"},
    "ALTER TABLE t SET TBLPROPERTIES ('new'='1', 'kept'='2')": {"Parameters"},
    "ALTER TABLE t SET LOCATION 's3://other/place'": {"Parameters", "storage Location"},
}


@pytest.mark.parametrize("statement", ALTERS)
def test_a_table_is_changed_where_the_statement_says(athena: Athena, statement: str) -> None:
    before, parts = athena.table(), athena.partitions()
    athena.run(statement)
    after = athena.table()
    assert changed(before, after) == ALTERS[statement]
    assert (before["VersionId"], after["VersionId"]) == ("0", "1")
    assert after["Parameters"].items() >= {"EXTERNAL": "TRUE"}.items()
    assert athena.partitions() == parts


def test_the_new_state_is_what_the_statement_says(athena: Athena) -> None:
    athena.run("ALTER TABLE t ADD COLUMNS (z string COMMENT 'new')")
    athena.run("ALTER TABLE t CHANGE COLUMN a A_B bigint")
    athena.run("ALTER TABLE t SET TBLPROPERTIES ('new'='1', 'kept'='2')")
    athena.run("ALTER TABLE t SET LOCATION 's3://other/place/'")
    table = athena.table()
    columns = [(c["Name"], c["Type"], c.get("Comment")) for c in table["StorageDescriptor"]["Columns"]]
    assert columns == [("a_b", "bigint", "first"), ("z", "string", "new")]
    assert table["Parameters"].items() >= {"new": "1", "kept": "2"}.items()
    assert table["StorageDescriptor"]["Location"].rstrip("/") == "s3://other/place"
    assert table["VersionId"] == "4"


def test_partitions_come_move_and_go(athena: Athena) -> None:
    athena.run("ALTER TABLE t ADD PARTITION (k='09') LOCATION 's3://b/nine/' PARTITION (k='10')")
    parts = athena.partitions()
    assert set(parts) == {"7", "8", "9", "10"}, "Hive writes a number without its zeros"
    assert parts["9"]["StorageDescriptor"]["Location"].rstrip("/") == "s3://b/nine"
    assert parts["10"]["StorageDescriptor"]["Location"] == "s3://b/t/k=10"
    assert parts["7"]["Parameters"] == {"own": "7"}
    athena.run("ALTER TABLE t PARTITION (k='7') SET LOCATION 's3://b/moved'")
    athena.run("ALTER TABLE t PARTITION (k='8') RENAME TO PARTITION (k='88')")
    parts = athena.partitions()
    assert parts["7"]["StorageDescriptor"]["Location"] == "s3://b/moved"
    assert parts["7"]["Parameters"]["own"] == "7"
    assert (set(parts), parts["88"]["Parameters"]["own"]) == ({"7", "88", "9", "10"}, "8")
    athena.run("ALTER TABLE t DROP PARTITION (k='9'), PARTITION (k > '80')")
    assert set(athena.partitions()) == {"7", "10"}
    assert athena.table()["VersionId"] == "0", "the table is not touched"


def test_more_partitions_than_fit_into_one_call_of_glue(athena: Athena) -> None:
    added = " ".join(f"PARTITION (k='{number}') LOCATION 's3://b/k={number}'" for number in range(100, 230))
    athena.run(f"ALTER TABLE t ADD IF NOT EXISTS {added}")
    assert len(athena.partitions()) == 132
    athena.run("ALTER TABLE t DROP PARTITION (k >= '100')")
    assert set(athena.partitions()) == {"7", "8"}


def test_changes_by_glue_are_seen_by_the_next_statement(athena: Athena) -> None:
    where = {"DatabaseName": athena.database, "TableName": "t"}
    assert athena.run("SHOW PARTITIONS t") == ["k=7", "k=8"]
    athena.glue.delete_partition(**where, PartitionValues=["7"])
    assert athena.run("SHOW PARTITIONS t") == ["k=8"]
    new = {**TABLE, "StorageDescriptor": {**STORAGE, "Columns": [{"Name": "q", "Type": "date"}]}}
    athena.glue.update_table(DatabaseName=athena.database, TableInput=new)
    assert athena.run("DESCRIBE t")[0].split() == ["q", "date"]
    athena.glue.delete_table(DatabaseName=athena.database, Name="t")
    assert "Table not found" in athena.end(athena.start("DESCRIBE t"))["StateChangeReason"]
    athena.run("DROP DATABASE {db}")


def test_tables_and_databases_are_shown(athena: Athena) -> None:
    assert athena.run("SHOW TABLES") == ["t"]
    assert athena.run("SHOW TABLES IN `{db}` 'x*|t'") == ["t"]
    assert athena.run("SHOW TABLES IN {db} 'x*'") == []
    assert athena.run("SHOW DATABASES LIKE '{db}'") == [athena.database]
    assert "CREATE EXTERNAL TABLE" in athena.run("SHOW CREATE TABLE t")[0]
    assert "kept\t1" in athena.run("SHOW TBLPROPERTIES t")
    assert [row.strip() for row in athena.run("SHOW COLUMNS IN t")] == ["a", "k"]


def test_databases_are_made_changed_and_dropped(athena: Athena) -> None:
    name = f"{athena.database}_2"
    athena.run(f"CREATE DATABASE {name} COMMENT 'it\\'s' LOCATION 's3://b/db/' WITH DBPROPERTIES ('x'='1')")
    found = athena.glue.get_database(Name=name)["Database"]
    assert (found["Description"], found["Parameters"]) == ("it's", {"x": "1"})
    assert found["LocationUri"].rstrip("/") == "s3://b/db"
    athena.run("ALTER DATABASE {db} SET DBPROPERTIES ('b'='2')")
    found = athena.glue.get_database(Name=athena.database)["Database"]
    assert (found["Description"], found["Parameters"]) == ("d", {"a": "1", "b": "2"})
    assert "LocationUri" not in found
    athena.run("DROP DATABASE {db} CASCADE")
    athena.run(f"DROP SCHEMA {name}")
    names = [item["Name"] for item in every(athena.glue, "get_databases", "DatabaseList")]
    assert not {athena.database, name}.intersection(names)


def test_a_table_without_a_type_cannot_be_altered(athena: Athena) -> None:
    athena.glue.create_table(DatabaseName=athena.database, TableInput={"Name": "bare", "StorageDescriptor": STORAGE})
    status = athena.end(athena.start("ALTER TABLE bare ADD COLUMNS (z int)"))
    assert status["StateChangeReason"] == "FAILED: NullPointerException Name is null"


def test_a_statement_goes_from_queued_to_its_end(athena: Athena) -> None:
    athena.aws.fault("Athena.exec", delay_seconds=0.5)
    name = athena.start("DROP TABLE t")
    assert athena.state(name) in {"QUEUED", "RUNNING"}
    with pytest.raises(ClientError, match=r"InvalidRequestException.*not yet finished"):
        athena.queries.get_query_results(QueryExecutionId=name)
    status = athena.end(name)
    assert status["State"] == "SUCCEEDED"
    assert status["CompletionDateTime"] > status["SubmissionDateTime"]
    shown = athena.execution(name)
    assert shown["ResultConfiguration"]["OutputLocation"] == f"s3://results/{name}.txt"
    answer = athena.queries.batch_get_query_execution(QueryExecutionIds=[name, "unknown"])
    assert [item["QueryExecutionId"] for item in answer["QueryExecutions"]] == [name]
    assert [item["QueryExecutionId"] for item in answer["UnprocessedQueryExecutionIds"]] == ["unknown"]
    assert athena.queries.list_query_executions(MaxResults=1)["QueryExecutionIds"] == [name]


def test_a_statement_that_was_stopped_does_nothing(athena: Athena) -> None:
    athena.aws.fault("Athena.exec", delay_seconds=30)
    name = athena.start("DROP TABLE t")
    athena.queries.stop_query_execution(QueryExecutionId=name)
    assert athena.end(name)["State"] == "CANCELLED"
    assert athena.table()["Name"] == "t"


def test_the_same_token_is_the_same_statement(athena: Athena) -> None:
    token = uuid.uuid4().hex
    name = athena.start("DROP TABLE IF EXISTS t", ClientRequestToken=token)
    assert athena.start("DROP TABLE IF EXISTS t", ClientRequestToken=token) == name
    with pytest.raises(ClientError, match=r"InvalidRequestException.*Idempotent"):
        athena.start("DROP TABLE t", ClientRequestToken=token)
    assert athena.start("DROP TABLE IF EXISTS t") != name


def test_no_more_than_20_at_once(athena: Athena) -> None:
    athena.aws.fault("Athena.exec", delay_seconds=60, count=20)
    names = [athena.start("SHOW TABLES") for _ in range(20)]
    with pytest.raises(ClientError, match="TooManyRequestsException") as refused:
        athena.start("SHOW TABLES")
    assert refused.value.response["Reason"] == "CONCURRENT_QUERY_LIMIT_EXCEEDED"
    for name in names:
        athena.queries.stop_query_execution(QueryExecutionId=name)
    assert {athena.end(name)["State"] for name in names} == {"CANCELLED"}
    assert athena.run("SHOW TABLES") == ["t"]


def test_a_text_has_at_most_262144_bytes(athena: Athena) -> None:
    for text in ("x" * 262_145, "ü" * 131_073, "   "):
        with pytest.raises(ClientError, match="InvalidRequestException"):
            athena.start(text)
    comment = "ü" * 131_000
    athena.run(f"SHOW TABLES -- {comment}")


def test_somebody_says_where_results_go(athena: Athena) -> None:
    with pytest.raises(ClientError, match=r"InvalidRequestException.*No output location"):
        athena.start("SHOW TABLES", ResultConfiguration={})
    name = athena.start("SHOW TABLES", ResultConfiguration={}, WorkGroup="team")
    assert athena.end(name)["State"] == "SUCCEEDED"
    group = athena.queries.get_work_group(WorkGroup="team")["WorkGroup"]
    location = group["Configuration"]["ResultConfiguration"]["OutputLocation"]
    assert athena.execution(name)["ResultConfiguration"]["OutputLocation"].startswith(location)


def test_a_run_fails_as_it_is_told(athena: Athena) -> None:
    athena.aws.fault("Athena.exec", reason="Rate exceeded", category=1, type=1401, retryable=True)
    status = athena.end(athena.start("DROP TABLE t"))
    error = {"ErrorCategory": 1, "ErrorType": 1401, "Retryable": True, "ErrorMessage": "Rate exceeded"}
    assert (status["State"], status["StateChangeReason"], status["AthenaError"]) == ("FAILED", "Rate exceeded", error)
    assert athena.table()["Name"] == "t"
    athena.aws.fault("Athena.exec", reason="lost", after=True)
    assert athena.end(athena.start("DROP TABLE t"))["State"] == "FAILED"
    assert athena.glue.get_tables(DatabaseName=athena.database)["TableList"] == []


def test_unknown_statements_are_refused(athena: Athena) -> None:
    for call in (athena.queries.get_query_execution, athena.queries.stop_query_execution):
        with pytest.raises(ClientError, match=r"InvalidRequestException.*was not found"):
            call(QueryExecutionId="unknown")


def test_statements_are_counted_by_kind(athena: Athena) -> None:
    athena.aws.reset_calls()
    athena.run("ALTER TABLE t ADD IF NOT EXISTS PARTITION (k='7')")
    athena.run("SHOW TABLES")
    athena.run("DROP TABLE t")
    assert athena.aws.statements() == {"ALTER TABLE ADD PARTITION": 1, "DROP TABLE": 1, "SHOW TABLES": 1}
    assert athena.aws.calls()["Athena.StartQueryExecution"] == 3


def test_statements_of_several_clients_do_not_mix(athena: Athena) -> None:
    def work(number: int) -> None:
        for step in range(3):
            value = 100 * number + step
            athena.run(f"ALTER TABLE t ADD PARTITION (k='{value}') LOCATION 's3://b/{value}'")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    wanted = {str(100 * number + step) for number in range(1, 5) for step in range(3)}
    assert set(athena.partitions()) == wanted | {"7", "8"}
