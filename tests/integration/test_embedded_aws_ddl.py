"""A corpus of DDL through pyathena, as people write it: what becomes of it, and Glue's state after it by plain boto3.

What Hive 2.3 does is real; what Athena adds is as its manual says.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyathena
import pytest
from pyathena.error import OperationalError

from pysync.lab.aws import EmbeddedAws

pytestmark = pytest.mark.athena

LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
OPENX = "org.openx.data.jsonserde.JsonSerDe"
PARQUET = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
ORC = "org.apache.hadoop.hive.ql.io.orc.OrcSerde"
AVRO = "org.apache.hadoop.hive.serde2.avro.AvroSerDe"
CSV = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
REGEX = "org.apache.hadoop.hive.serde2.RegexSerDe"
PARQUET_INPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"

AT = "LOCATION 's3://b/t'"
# What cannot be seen in the text of a failure is in its number.
SYNTAX, DDL_TASK, NO_TABLE, NO_ENTITY = 1006, 1003, 1110, 1301


@dataclass(slots=True)
class Athena:
    """A database of the test's own, with the tables `t` (text) and `p` (parquet, key `k` int, partition 7)."""

    queries: Any
    glue: Any
    cursor: Any
    database: str

    def run(self, statement: str) -> list[str]:
        """Run a statement, in which {db} stands for the database; the rows of its result."""
        self.cursor.execute(statement.replace("{db}", self.database))
        return [row[0] for row in self.cursor.fetchall()]

    def refusal(self, statement: str) -> tuple[str, int]:
        """The reason for which a statement fails, and the type of its error."""
        with pytest.raises(OperationalError) as refused:
            self.run(statement)
        query = self.queries.get_query_execution(QueryExecutionId=self.cursor.query_id)
        error = query["QueryExecution"]["Status"]["AthenaError"]
        assert error["ErrorMessage"] == str(refused.value)
        return str(refused.value), error["ErrorType"]

    def table(self, name: str = "new") -> dict[str, Any]:
        found: dict[str, Any] = self.glue.get_table(DatabaseName=self.database, Name=name)["Table"]
        return found

    def tables(self) -> list[str]:
        return [table["Name"] for table in self.glue.get_tables(DatabaseName=self.database)["TableList"]]

    def columns(self, name: str) -> list[tuple[str, ...]]:
        columns = self.table(name)["StorageDescriptor"]["Columns"]
        return [(c["Name"], c["Type"], *([c["Comment"]] if c.get("Comment") else [])) for c in columns]

    def partitions(self) -> dict[str, str]:
        """The locations of the partitions of `p`, by their value."""
        parts = self.glue.get_partitions(DatabaseName=self.database, TableName="p")["Partitions"]
        return {part["Values"][0]: part["StorageDescriptor"]["Location"] for part in parts}


@pytest.fixture(scope="module")
def clients(shared_aws: EmbeddedAws) -> dict[str, Any]:
    return {name: shared_aws.client(name) for name in ("athena", "glue")}


@pytest.fixture(scope="module")
def connection(shared_aws: EmbeddedAws) -> Iterator[Any]:
    settings = {"s3_staging_dir": "s3://results/", "endpoint_url": shared_aws.url, "region_name": shared_aws.region}
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    with closing(pyathena.connect(**settings, **keys, poll_interval=0.02)) as opened:
        yield opened


@pytest.fixture
def athena(clients: dict[str, Any], connection: Any) -> Athena:
    database, glue = f"db_{uuid.uuid4().hex[:12]}", clients["glue"]
    glue.create_database(DatabaseInput={"Name": database})
    text = {"Columns": columns("a int", "b string"), "Location": "s3://b/t/", "SerdeInfo": serde(LAZY)}
    text |= {"InputFormat": "org.apache.hadoop.mapred.TextInputFormat", "OutputFormat": "x.Text"}
    text["OutputFormat"] = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
    parquet = {"Columns": columns("a int"), "Location": "s3://b/p", "SerdeInfo": serde(PARQUET)}
    parquet |= {"InputFormat": PARQUET_INPUT, "OutputFormat": PARQUET_INPUT.replace("Input", "Output")}
    common = {"TableType": "EXTERNAL_TABLE", "Owner": "me", "Parameters": {"EXTERNAL": "TRUE", "kept": "1"}}
    for name, storage, keys in (("t", text, []), ("p", parquet, columns("k int"))):
        table = {"Name": name, "StorageDescriptor": storage, "PartitionKeys": keys, **common}
        glue.create_table(DatabaseName=database, TableInput=table)
    part = {"Values": ["7"], "StorageDescriptor": {**parquet, "Location": "s3://b/p/k=7"}, "Parameters": {"own": "1"}}
    glue.create_partition(DatabaseName=database, TableName="p", PartitionInput=part)
    return Athena(clients["athena"], glue, connection.cursor(schema_name=database), database)


def columns(*texts: str) -> list[dict[str, str]]:
    return [dict(zip(("Name", "Type"), text.split(" "), strict=True)) for text in texts]


def serde(library: str, **parameters: str) -> dict[str, Any]:
    return {"SerializationLibrary": library, "Parameters": parameters}


CREATED: dict[str, tuple[str, str]] = {
    # What follows CREATE EXTERNAL TABLE, and the serde that is expected.
    "plain": (f"new (a int) {AT}", LAZY),
    "qualified": (f"`{{db}}`.`new` (a int) {AT}", LAZY),
    "in one pair of backticks": (f"`{{db}}.new` (a int) {AT}", LAZY),
    "upper case": (f"NEW (a INT) {AT}", LAZY),
    "delimited": (f"new (a int) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' {AT}", LAZY),
    "parquet": (f"new (a int) STORED AS PARQUET {AT}", PARQUET),
    "orc": (f"new (a int) STORED AS ORC {AT} TBLPROPERTIES ('orc.compress'='SNAPPY')", ORC),
    "avro": (f"new (a int) STORED AS AVRO {AT}", AVRO),
    "csv": (f"new (a string) ROW FORMAT SERDE '{CSV}' WITH SERDEPROPERTIES ('separatorChar'=';') {AT}", CSV),
    "regex": (f"new (a string) ROW FORMAT SERDE '{REGEX}' WITH SERDEPROPERTIES ('input.regex'='(.*)') {AT}", REGEX),
    "bucketed": (f"new (a int) CLUSTERED BY (a) INTO 4 BUCKETS {AT}", LAZY),
    "with a semicolon": (f"new (a int) {AT};", LAZY),
    "with comments": (f"new (a int) -- one ' quote\n{AT}", LAZY),
}


@pytest.mark.parametrize("case", CREATED)
def test_a_table_is_created_with_its_serde(athena: Athena, case: str) -> None:
    text, library = CREATED[case]
    assert athena.run(f"CREATE EXTERNAL TABLE {text}") == []
    table = athena.table()
    assert table["StorageDescriptor"]["SerdeInfo"]["SerializationLibrary"] == library
    assert (table["TableType"], table["Parameters"]["EXTERNAL"], table["VersionId"]) == ("EXTERNAL_TABLE", "TRUE", "0")
    assert (athena.columns("new")[0][0], table["StorageDescriptor"]["Location"]) == ("a", "s3://b/t")
    assert "Owner" not in table, "DDL cannot speak of an owner"


# The text of a type, and what is kept of it.
TYPES = {
    "tinyint": "tinyint",
    "BIGINT": "bigint",
    "decimal": "decimal(10,0)",
    "decimal( 38 , 10 )": "decimal(38,10)",
    "varchar(10)": "varchar(10)",
    "char(3)": "char(3)",
    "date": "date",
    "timestamp": "timestamp",
    "binary": "binary",
    "array<string>": "array<string>",
    "map<string,array<int>>": "map<string,array<int>>",
    "struct<X:int COMMENT 'lost',y:struct<z:double>>": "struct<X:int,y:struct<z:double>>",
}


@pytest.mark.parametrize("given", TYPES)
def test_a_type_is_left_as_hive_writes_it(athena: Athena, given: str) -> None:
    athena.run(f"CREATE EXTERNAL TABLE new (a {given}) STORED AS PARQUET {AT}")
    assert athena.columns("new") == [("a", TYPES[given])]


# A literal, and the text that it stands for.
LITERALS = {
    r"it\'s": "it's",
    "it''s": "its",
    r"a\\b": "a\\b",
    r"tab\tand; -- /* no comment */": "tab\tand; -- /* no comment */",
    "%s {0} ${hiveconf:x}": "%s {0} ${hiveconf:x}",
    "grün \U0001f41d": "grün \U0001f41d",
    '\\"double\\"': '"double"',
}


@pytest.mark.parametrize("literal", LITERALS)
def test_a_quoted_text_arrives_as_it_was_meant(athena: Athena, literal: str) -> None:
    athena.run(f"CREATE EXTERNAL TABLE new (a int COMMENT '{literal}') {AT} TBLPROPERTIES ('k'='{literal}')")
    assert athena.columns("new") == [("a", "int", LITERALS[literal])]
    assert athena.table()["Parameters"]["k"] == LITERALS[literal]


def test_names_need_backticks(athena: Athena) -> None:
    athena.run(f"CREATE EXTERNAL TABLE new (`date` date, `a b` int, `ti``ck` int) PARTITIONED BY (`user` int) {AT}")
    assert [column[0] for column in athena.columns("new")] == ["date", "a b", "ti`ck"]
    assert athena.table()["PartitionKeys"] == [{"Name": "user", "Type": "int"}]


# A statement that fails: what the reason says, and the type of the error.
REFUSED: dict[str, tuple[str, str, int]] = {
    "no SQL": ("this is not sql", "ParseException line 1:0 cannot recognize input", SYNTAX),
    "misspelt": (f"CREATE EXTERNL TABLE new (a int) {AT}", "ParseException", SYNTAX),
    "reserved column": (f"CREATE EXTERNAL TABLE new (date int) {AT}", "ParseException line 1:27", SYNTAX),
    "reserved key": (f"CREATE EXTERNAL TABLE new (a int) PARTITIONED BY (user int) {AT}", "ParseException", SYNTAX),
    "quote in a literal": (f"CREATE EXTERNAL TABLE new (a int COMMENT 'x\\') {AT}", "ParseException", SYNTAX),
    "two statements": ("DROP TABLE t; DROP TABLE p", "ParseException", SYNTAX),
    "no columns to add": ("ALTER TABLE t ADD COLUMNS ()", "ParseException", SYNTAX),
    "managed": (f"CREATE TABLE new (a int) {AT}", "External keyword required", DDL_TASK),
    "no location": ("CREATE EXTERNAL TABLE new (a int)", "No location", DDL_TASK),
    "s3a": ("CREATE EXTERNAL TABLE new (a int) LOCATION 's3a://b/t'", "No FileSystem for scheme: s3a", DDL_TASK),
    "hdfs": ("ALTER TABLE t SET LOCATION 'hdfs://nn/t'", "No FileSystem for scheme: hdfs", DDL_TASK),
    "no scheme": ("CREATE EXTERNAL TABLE new (a int) LOCATION '/t'", "No FileSystem for scheme: none", DDL_TASK),
    "duplicate column": (f"CREATE EXTERNAL TABLE new (a int, A int) {AT}", "Error 10036.*Duplicate column", DDL_TASK),
    "column with a dot": (f"CREATE EXTERNAL TABLE new (`x.y` int) {AT}", "FAILED", SYNTAX),
    "unknown type": (f"CREATE EXTERNAL TABLE new (a varchr) {AT}", "ParseException", SYNTAX),
    "unknown serde": (
        f"CREATE EXTERNAL TABLE new (a int) ROW FORMAT SERDE 'x.Y' {AT}",
        "Cannot validate serde: x.Y",
        DDL_TASK,
    ),
    "serde that only Athena has": (
        f"CREATE EXTERNAL TABLE new (a int) ROW FORMAT SERDE '{OPENX}' {AT}",
        f"Cannot validate serde: {OPENX}",
        DDL_TASK,
    ),
    "bad pattern": (
        f"CREATE EXTERNAL TABLE new (a string) ROW FORMAT SERDE '{REGEX}' "
        f"WITH SERDEPROPERTIES ('input.regex'='((') {AT}",
        "Unclosed group",
        DDL_TASK,
    ),
    "newline in a column's comment": (
        f"CREATE EXTERNAL TABLE new (a int COMMENT 'one\\ntwo') {AT}",
        "MetaException.*Error Code: ValidationException",
        DDL_TASK,
    ),
    "there already": (f"CREATE EXTERNAL TABLE t (a int) {AT}", "AlreadyExistsException.*t already exists", DDL_TASK),
    "no such database": (
        f"CREATE EXTERNAL TABLE missing.new (a int) {AT}",
        "Database does not exist: missing",
        NO_ENTITY,
    ),
    "no such table": ("ALTER TABLE missing ADD COLUMNS (z int)", r"Table not found (\w+\.)?missing", NO_TABLE),
    "drop of no table": ("DROP TABLE missing", r"Table not found (\w+\.)?missing", NO_TABLE),
    "sorted": (
        f"CREATE EXTERNAL TABLE new (a int) CLUSTERED BY (a) SORTED BY (a) INTO 4 BUCKETS {AT}",
        "Athena",
        SYNTAX,
    ),
    "skewed": (f"CREATE EXTERNAL TABLE new (a int) SKEWED BY (a) ON (1) {AT}", "Athena does not know", SYNTAX),
    "like": ("CREATE EXTERNAL TABLE new LIKE t", "CREATE TABLE LIKE", SYNTAX),
    "as select": ("CREATE TABLE new AS SELECT 1", "CREATE TABLE AS", SYNTAX),
    "rename": ("ALTER TABLE t RENAME TO new", "does not know ALTERTABLE RENAME", SYNTAX),
    "serde properties": ("ALTER TABLE t SET SERDEPROPERTIES ('a'='b')", "SERDEPROPERTIES", SYNTAX),
    "serde": (f"ALTER TABLE t SET SERDE '{OPENX}'", "ALTERTABLE SERIALIZER", SYNTAX),
    "unset": ("ALTER TABLE t UNSET TBLPROPERTIES ('a')", "DROPPROPERTIES", SYNTAX),
    "file format": ("ALTER TABLE t SET FILEFORMAT ORC", "FILEFORMAT", SYNTAX),
    "cascade": ("ALTER TABLE p ADD COLUMNS (z int) CASCADE", "CASCADE", SYNTAX),
    "columns of a partition": ("ALTER TABLE p PARTITION (k=7) ADD COLUMNS (z int)", "ADDCOLS", SYNTAX),
    "owner": ("ALTER DATABASE {db} SET OWNER USER x", "ALTERDATABASE OWNER", SYNTAX),
    "use": ("USE {db}", "not supported", SYNTAX),
    "repair": ("MSCK REPAIR TABLE p", "not supported", SYNTAX),
    "query": ("SELECT 1", "not supported", SYNTAX),
    "hive view": ("CREATE VIEW new AS SELECT `a` FROM t", "backquoted identifiers are not supported", SYNTAX),
    "partition that is there": ("ALTER TABLE p ADD PARTITION (k='7')", "AlreadyExistsException", DDL_TASK),
    "default partition": ("ALTER TABLE p ADD PARTITION (k='__HIVE_DEFAULT_PARTITION__')", "FAILED", DDL_TASK),
    "empty value": ("ALTER TABLE p ADD PARTITION (k='')", "FAILED", DDL_TASK),
    "value of another type": ("ALTER TABLE p ADD PARTITION (k='x')", "FAILED", DDL_TASK),
    "key that is none": ("ALTER TABLE p ADD PARTITION (z='1')", "z", DDL_TASK),
    "partition that is not there": ("ALTER TABLE p DROP PARTITION (k='9')", "Partition not found", DDL_TASK),
    "database in use": ("DROP DATABASE {db}", "is not empty", DDL_TASK),
    "database that is there": ("CREATE DATABASE {db}", "already exists", DDL_TASK),
    "database that is not": ("DROP DATABASE missing", "Database does not exist: missing", NO_ENTITY),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_statement_fails_and_leaves_all_as_it_was(athena: Athena, case: str) -> None:
    statement, words, number = REFUSED[case]
    before = (athena.table("t"), athena.table("p"), athena.partitions(), athena.tables())
    reason, found = athena.refusal(statement)
    assert re.search(words, reason, re.DOTALL), reason
    assert found == number, reason
    assert (athena.table("t"), athena.table("p"), athena.partitions(), athena.tables()) == before


def test_if_exists_and_if_not_exists_succeed(athena: Athena) -> None:
    before = athena.table("t")
    for statement in (
        f"CREATE EXTERNAL TABLE IF NOT EXISTS t (other int) {AT}",
        "CREATE DATABASE IF NOT EXISTS {db}",
        "DROP TABLE IF EXISTS missing",
        "DROP DATABASE IF EXISTS missing CASCADE",
        "DROP VIEW IF EXISTS missing",
        "ALTER TABLE p ADD IF NOT EXISTS PARTITION (k='7') LOCATION 's3://other/'",
        "ALTER TABLE p DROP IF EXISTS PARTITION (k='9')",
    ):
        assert athena.run(statement) == [], statement
    assert athena.table("t") == before
    assert athena.partitions() == {"7": "s3://b/p/k=7"}


def test_views_are_left_as_athena_keeps_them(athena: Athena) -> None:
    athena.run('CREATE VIEW v AS SELECT "a" FROM t')
    view = athena.table("v")
    assert (view["TableType"], view["ViewExpandedText"]) == ("VIRTUAL_VIEW", "/* Presto View */")
    encoded = view["ViewOriginalText"].removeprefix("/* Presto View: ").removesuffix(" */")
    assert json.loads(base64.b64decode(encoded))["originalSql"] == 'SELECT "a" FROM t'
    assert "already exists" in athena.refusal("CREATE VIEW v AS SELECT 1")[0]
    athena.run("CREATE OR REPLACE VIEW v AS SELECT 2 AS two")
    assert "does not exist" in athena.refusal("DROP VIEW t")[0]
    athena.run("DROP VIEW v")
    assert athena.tables() == ["p", "t"]
