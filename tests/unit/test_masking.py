"""Masking: of values as people have them, the secrets are hidden and the harmless ones are shown."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from pysync import logs
from pysync.cli import verify
from pysync.journal.record import reason_of, told
from pysync.masking import HIDDEN, is_secret, is_secret_field, masked
from pysync.model.difference import Difference
from pysync.queue import Queued
from pysync.replay.blocks import Refusal
from pysync.replay.progress import Progress
from pysync.verify.findings import DIFFERENT, Compared
from pysync.verify.report import Report, junit
from pysync.worker import Worker

SECRET = "Zk9/x+Qw7=Lm3Rt5"  # noqa: S105 - as AWS makes them

SECRET_NAMES = """
    password hive.sql.dbcp.password javax.jdo.option.ConnectionPassword PASSWORD dbPassword DBPassword dbpassword passwd
    userpwd pwd passphrase es.net.http.auth.pass es.net.ssl.keystore.pass ssl.key.password ssl.truststore.password.0
    fs.s3a.secret.key fs.s3a.access.key fs.s3a.session.token fs.s3a.bucket.x.secret.key AWS_SECRET_ACCESS_KEY
    aws_access_key_id accessKeyId secretKey secretkey fs.s3a.encryption.key parquet.encryption.key.list
    fs.azure.account.key.x.blob.core.windows.net fs.azure.sas.container.account fs.azure.account.oauth2.client.secret
    google.cloud.auth.service.account.private.key private_key privateKey apiKey api_key x-api-key X-Api-Key apikey
    shared_key signing.key storage.key auth.key masterKey encryptionkey oauth.token accessToken refresh_token authtoken
    client-credential credentials creds Authorization http.header.Authorization bearer jwt X-Amz-Signature sig cookie
    basic.auth.user.info schema.registry.basic.auth.user.info connection.string client_secret kafka.sasl.password
""".split()  # noqa: SIM905 - a table of words

HARMLESS_NAMES = """
    numRows numFiles totalSize rawDataSize transient_lastDdlTime EXTERNAL external.table.purge comment owner
    token.delimiter token_separator tokens.count max_tokens numTokens total.tokens token.type token.class tokenizer
    tokenized collection.delim field.delim mapkey.delim serialization.format primary_key foreign_key key keys sort.key
    partition.key partition.key.columns hash.key bucketing.key cluster_key hive.passthrough passthrough pass.through
    passenger passengers bypass compass compassion first.pass.count password.file password.alias
    hadoop.security.credential.provider.path fs.s3a.aws.credentials.provider secret.name secret.arn passwordPolicy
    keyspace keyspaces monkey turkey key.serializer value.serializer userinfo user.name user_id es.net.http.auth.user
    kms.key.id fs.s3a.server-side-encryption-algorithm parquet.compression orc.compress
    avro.schema.url avro.schema.literal
    secretary secretariat tokyo sassafras sastrugi signal signed design assign authority author authors authenticated
    spark.sql.sources.provider spark.sql.sources.schema.partCol.0 hive.sql.table hive.sql.jdbc.driver
    skip.header.line.count
    cookies.enabled signature.version credential.type bearer.format
""".split()  # noqa: SIM905 - a table of words

SECRET_TEXTS = [
    f"s3a://AKIAIOSFODNN7EXAMPLE:{SECRET}@bucket/path",
    f"s3n://AKIA:{SECRET}@bucket/a/b",
    f"s3a://AKIA:12/34{SECRET}@bucket/path",
    f"hdfs://u:p@ss{SECRET}@nn:8020/x",
    f"jdbc:mysql://me:{SECRET}@host:3306/db",
    f"mongodb://me:{SECRET}@h1:27017,h2:27017/db",
    f"https://me:{SECRET}@example.com/x?y=1",
    f"cannot read 's3a://AKIA:{SECRET}@bucket/path': 403",
    f"jdbc:oracle:thin:scott/{SECRET}@",
    f"jdbc:oracle:thin:scott/{SECRET}@//host:1521/svc",
    f"jdbc:oracle:thin:scott/{SECRET}@host:1521:sid",
    f"jdbc:postgresql://db/x?user=me&password={SECRET}",
    f"jdbc:sqlserver://h:1433;user=sa;password={SECRET};encrypt=true",
    f"jdbc:sqlserver://h:1433;user=sa;password={{{SECRET} ;x}};encrypt=true",
    f"jdbc:teradata://h/USER=me,PASSWORD={SECRET},DATABASE=x",
    f"jdbc:snowflake://a.b/?user=me&private_key_pwd={SECRET}",
    f"https://x.blob.core.windows.net/y?sv=2020&sig={SECRET}",
    f"https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA/2020&X-Amz-Signature={SECRET}&X-Amz-Date=2020",
    f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={SECRET}==;EndpointSuffix=core.windows.net",
    f"password = {SECRET};ssl=true",
    f"url=jdbc:mysql://h/db?password={SECRET}",
    f"password: '{SECRET} with a space'",
    f'password="a \\" {SECRET}"',
    f'password="{SECRET} and more words"',
    f'{{"secret": "{SECRET}"}}',
    f'{{"a": 1, "private_key": "-----BEGIN PRIVATE KEY-----\\n{SECRET}\\n-----END PRIVATE KEY-----\\n"}}',
    json.dumps(json.dumps({"user": "x", "password": f"{SECRET} y"})),
    repr({"es.net.http.auth.pass": SECRET}),
    f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    f"Authorization: Bearer {SECRET}",
    f"Authorization: Basic {SECRET}",
    f"{{'Authorization': 'Bearer {SECRET}'}}",
    f"curl -H 'Authorization:Token {SECRET}' https://x",
    f"sent Bearer {SECRET} to the server",
    f"basic.auth.user.info=me:{SECRET}",
    f'org.apache.kafka.PlainLoginModule required username="me" password="{SECRET}";',
    f"spark-submit --password {SECRET} --name x",
    f"CREATE USER x IDENTIFIED BY '{SECRET}'",
    f"AWS_SECRET_ACCESS_KEY={SECRET}",
    f"fs.s3a.secret.key={SECRET} is wrong",
    f"Table(parameters={{password={SECRET}, numRows=1}})",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{SECRET[:3]}.{SECRET.replace('/', '_').replace('+', '-').replace('=', '_')}",
    f"ghp_{SECRET.replace('/', '0').replace('+', '1').replace('=', '2')}0123456789",
]

HARMLESS_TEXTS = [
    "s3a://bucket/path/of/table",
    "hdfs://nn:8020/user/a@b/x",
    "hdfs://nn:8020/user/hive/warehouse",
    "http://host:8080/path@v1",
    "thrift://hms:9083",
    "abfss://container@account.dfs.core.windows.net/path",
    "wasbs://c@a.blob.core.windows.net/p:q",
    "jdbc:oracle:thin:@//host:1521/svc",
    "jdbc:oracle:thin:@host:1521:sid",
    "jdbc:mysql://host:3306/db?useSSL=true&user=me",
    "file:/tmp/warehouse/password/x",
    "mail me at me@example.com: it is urgent",
    "select a from t where key = 'x'",
    "partition key=1/day=2020-01-01",
    "token.delimiter=,",
    "password.file=/etc/x",
    "the password is wrong",
    "a secret with 'quotes'",
    "pass the salt",
    "basic configuration of the table",
    "Bearer of bad news",
    "numRows=5, totalSize=7",
    '{"primary_key": "id", "keys": ["a", "b"]}',
    '[{"name": "password", "type": "string"}]',
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    "2026-01-31T12:00:00+00:00",
    "CREATE VIEW v AS SELECT token, secret FROM t",
    "'file:/b' instead of 'file:/a'",
]


def test_the_corpus_is_large() -> None:
    assert len(SECRET_NAMES) + len(SECRET_TEXTS) >= 76
    assert len(HARMLESS_NAMES) + len(HARMLESS_TEXTS) >= len(SECRET_NAMES) + len(SECRET_TEXTS)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_value_of_such_a_name_is_hidden(name: str) -> None:
    field = f"sd.serdeInfo.parameters.{name}"
    assert str(Difference(field, SECRET, "other")) == f"{field}: *** instead of ***"
    assert str(Difference(field, None, SECRET)) == f"{field}: nothing instead of ***"
    (found,) = told([Difference(field, None, SECRET)])
    assert (found.old, found.new) == (None, HIDDEN)
    for text in (f"{name}={SECRET}", json.dumps({name: f"{SECRET} x"}), f"{name}: '{SECRET}' x", f"--{name} {SECRET}"):
        assert SECRET not in masked(text), text


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_a_value_of_such_a_name_is_shown(name: str) -> None:
    assert str(Difference(f"parameters.{name}", "a", "b")) == f"parameters.{name}: 'a' instead of 'b'"
    for text in (f"{name}=value", json.dumps({name: "value"}), f"{name}: value"):
        assert masked(text) == text


@pytest.mark.parametrize("text", SECRET_TEXTS)
def test_a_secret_in_a_text_is_hidden(text: str) -> None:
    tail = SECRET[-8:]
    for found in (masked(text), str(Difference("sd.location", text, None)), str(reason_of(text))):
        assert tail not in found
        assert HIDDEN in found
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize("text", HARMLESS_TEXTS)
def test_a_harmless_text_is_shown(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("field", ["partition token=1: sd.location", "sd.cols", "partition pwd=x: owner"])
def test_the_name_of_a_table_or_partition_hides_nothing(field: str) -> None:
    assert not is_secret_field(field)
    assert is_secret_field(f"{field}: parameters.password")


@given(
    st.sampled_from(
        ["jdbc:mysql://me:{}@host/db", "password = {};ssl=true", '{{"secret": "{}"}}', "https://x/y?sig={}"]
    ),
    st.text(min_size=8, max_size=60, alphabet="abcXYZ0123456789+%"),
    st.text(alphabet=" xyz", max_size=300),
)
def test_no_secret_is_shown_whatever_it_is(form: str, secret: str, before: str) -> None:
    assert secret not in masked(before + form.format(secret))


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    assert isinstance(masked(text), str)
    is_secret(text)


def compared() -> Compared:
    fields = (str(Difference("parameters.es.net.http.auth.pass", SECRET, "other")),)
    fields += (str(Difference("sd.location", f"s3a://A:{SECRET}@b/c", "s3a://b/c")),)
    return Compared("table", "db.t", DIFFERENT, fields=fields)


def test_two_secrets_that_differ_are_a_difference_and_no_report_shows_them() -> None:
    report = Report("dr", "hms", [compared()])
    found = report.as_json()
    assert found["drift"] == 1
    assert found["differences"][0]["fields"][0] == "parameters.es.net.http.auth.pass: *** instead of ***"
    for text in (json.dumps(found), junit([report]).decode()):
        assert SECRET not in text


def test_only_its_owner_may_read_a_report(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text("former")
    file.chmod(0o644)
    for it in (file, tmp_path / "new.html"):
        verify._write(it, b"report", "--junit")
        assert (it.read_bytes(), oct(it.stat().st_mode & 0o777)) == (b"report", "0o600")


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_line_of_the_log_shows_a_secret(form: Any) -> None:
    error = io.StringIO()
    with redirect_stderr(error):
        logs.configure("info", form)
        try:
            structlog.get_logger().info(
                "table_refused",
                reason=f"403 for s3a://A:{SECRET}@b/c",
                parameters={"es.net.http.auth.pass": SECRET, "numRows": "5"},
                error=ValueError(f"password={SECRET}"),
                several=[f"Authorization: Bearer {SECRET}"],
            )
        finally:
            structlog.reset_defaults()
    assert SECRET not in error.getvalue()
    assert "table_refused" in error.getvalue()
    assert "numRows" in error.getvalue()


def test_no_reason_of_a_refused_event_shows_a_secret() -> None:
    event = Queued(position=1, at_ms=0, data=b"")
    refusal = Refusal.of(event, frozenset({"db.t"}), "rejected", f"cannot write s3a://A:{SECRET}@b/c: 403")
    assert refusal.reason == "cannot write s3a://***@b/c: 403"


def test_no_error_of_a_target_or_a_worker_shows_a_secret() -> None:
    progress = Progress("dr", "hms")
    progress.refused(f"first line\npassword={SECRET}")
    assert progress.status()["last_error"]["reason"] == "password=***"
    worker = Worker("x", lambda: None, every=1, retry=1)
    worker.waits(f"403: password={SECRET}")
    assert worker.status()["last_error"]["reason"] == "403: password=***"
