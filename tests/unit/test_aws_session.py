"""Settings and clients of targets on AWS: one client for all lanes, its rate, the role that it works as."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import botocore.loaders
import botocore.session
import pytest
from pydantic import ValidationError

from pysync.base.errors import PysyncError
from pysync.base.installation import install_extra
from pysync.model.names import TableName
from pysync.targets.athena import AthenaSettings
from pysync.targets.aws import bounded_answers
from pysync.targets.aws.clients import ATTEMPTS, Pacer, client, provide
from pysync.targets.base import Unavailable
from pysync.targets.glue import KIND, GlueSettings, glue_target
from pysync.targets.hms import HmsSettings
from pysync.targets.kinds import kind_names, target_kind
from tests.support.glue import Bench

HOST = "127.0.0.1"
ROLE = "arn:aws:iam::123456789012:role/pysync"


def lake(**values: Any) -> GlueSettings:
    return GlueSettings(**{"name": "lake", "kind": "glue", "region": "eu-west-1", **values})


one_loader = cache(botocore.loaders.create_loader)
"""Each session would read the models of the services anew, which takes longer than any test here."""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "own")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(botocore.session, "create_loader", one_loader)


# --- settings


def test_the_kind_is_found_by_its_entry_point() -> None:
    assert "glue" in kind_names()
    assert target_kind("glue") is KIND


def test_without_boto3_one_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['boto3'] = None\n"
        "from pysync.base.errors import UsageError\n"
        "from pysync.targets.kinds import target_kind\n"
        "try:\n    target_kind('glue')\n"
        "except UsageError as error:\n    print(error)\n"
    )
    reported = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    assert reported == f"target kind 'glue' needs the package boto3; install it: {install_extra('aws')}\n"


def test_defaults_are_careful() -> None:
    found = lake()
    assert (found.skip_archive, found.partition_schema, found.create_missing_databases) == (True, "none", False)


def test_locations_are_s3_whatever_hadoop_calls_them() -> None:
    locations = {"hdfs://nn/a": "s3a://b/a", "s3a://old/": "S3N://new/", "file:/x": "hdfs://y"}
    expected = {"hdfs://nn/a": "s3://b/a", "s3a://old/": "s3://new/", "file:/x": "hdfs://y"}
    assert lake(locations=locations).locations == expected


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"delete_data": True}, "holds no files"),
        ({"partition_schema": "some"}, "'none', 'append' or 'full'"),
        ({"max_rate": 0}, "greater than 0"),
        ({"endpoint_url": "vpce-1"}, "endpoint_url"),
        ({"assume_role": {"arn": "arn:aws:iam::1:user/x"}}, "assume_role.arn"),
        ({"assume_role": {"arn": ROLE, "secret": "x"}}, "assume_role.secret"),
        ({"aws_secret_access_key": "x"}, "aws_secret_access_key"),
        ({"locations": "x"}, "locations"),
    ],
)
def test_wrong_settings_are_named(values: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        lake(**values)


def test_settings_in_use_equal_those_that_are_not() -> None:
    used = lake()
    client(used, "glue")
    assert used == lake()
    assert used != lake(window=7)


# --- clients


def test_lanes_share_a_client_and_targets_do_not() -> None:
    settings, found = lake(), list[Any]()
    threads = [threading.Thread(target=lambda: found.append(client(settings, "glue"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(it) for it in found}) == 1
    assert client(lake(), "glue") is not found[0]


def test_credentials_that_come_later_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    settings, file = lake(), tmp_path / ".aws" / "credentials"
    for role in (None, {"arn": ROLE}):
        with pytest.raises(Unavailable, match="Unable to locate credentials"):
            client(lake(assume_role=role), "glue")
    with pytest.raises(Unavailable, match="pysync finds credentials that come later"):
        client(settings, "glue")
    file.parent.mkdir()
    file.write_text("[default]\naws_access_key_id = later\naws_secret_access_key = any\n")
    assert client(settings, "glue")._request_signer._credentials.access_key == "later"


@pytest.mark.parametrize(
    ("url", "glue", "sts"),
    [
        ("https://vpce-1.glue.eu-west-1.vpce.amazonaws.com", True, False),
        ("http://127.0.0.1:1", True, True),
        (None, False, False),
    ],
)
def test_an_endpoint_in_a_vpc_is_of_its_service_alone(url: str | None, glue: bool, sts: bool) -> None:
    settings = lake(endpoint_url=url)
    for service, is_there in (("glue", glue), ("sts", sts), ("lakeformation", sts)):
        assert (client(settings, service).meta.endpoint_url == url) is is_there


def test_the_client_is_as_the_settings_say() -> None:
    found = client(lake(lanes=3, parallel=5, timeout_seconds=7, endpoint_url="http://127.0.0.1:1"), "glue")
    config = found.meta.config
    assert (found.meta.region_name, found.meta.endpoint_url) == ("eu-west-1", "http://127.0.0.1:1")
    assert (config.max_pool_connections, config.read_timeout) == (15, 7)
    assert (config.retries["mode"], config.retries["total_max_attempts"]) == ("standard", ATTEMPTS)


def test_athenas_calls_are_sent_once_as_the_target_itself_paces_them() -> None:
    found = client(AthenaSettings(name="lake", kind="athena", region="eu-west-1", work_group="etl"), "athena")
    assert found.meta.config.retries == {"mode": "standard", "total_max_attempts": 1}


OURS, ENVIRONMENTS = "https://ours.example", "https://environments.example"


@pytest.mark.parametrize(
    ("values", "environment", "athena", "glue"),
    [
        ({}, {}, "https://athena.eu-west-1.amazonaws.com", "https://glue.eu-west-1.amazonaws.com"),
        ({"endpoint_url": OURS}, {}, OURS, OURS),
        ({"athena_endpoint_url": OURS}, {}, OURS, "https://glue.eu-west-1.amazonaws.com"),
        ({"glue_endpoint_url": OURS}, {}, "https://athena.eu-west-1.amazonaws.com", OURS),
        ({"endpoint_url": OURS, "glue_endpoint_url": "https://g"}, {}, OURS, "https://g"),
        ({}, {"AWS_ENDPOINT_URL": ENVIRONMENTS}, ENVIRONMENTS, ENVIRONMENTS),
        (
            {},
            {"AWS_ENDPOINT_URL_ATHENA": ENVIRONMENTS},
            ENVIRONMENTS,
            "https://glue.eu-west-1.amazonaws.com",
        ),
        (
            {},
            {"AWS_ENDPOINT_URL": "https://any", "AWS_ENDPOINT_URL_GLUE": ENVIRONMENTS},
            "https://any",
            ENVIRONMENTS,
        ),
        (
            {"athena_endpoint_url": OURS},
            {"AWS_ENDPOINT_URL_ATHENA": "https://any", "AWS_ENDPOINT_URL_GLUE": ENVIRONMENTS},
            OURS,
            ENVIRONMENTS,
        ),
    ],
)
def test_each_service_has_its_endpoint_from_the_settings_or_the_environment(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], environment: dict[str, str], athena: str, glue: str
) -> None:
    """As docs/aws.md says: the target's own keys count before the environment's."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = AthenaSettings(name="lake", kind="athena", region="eu-west-1", work_group="etl", **values)
    assert client(settings, "athena").meta.endpoint_url == athena
    assert client(settings.of_glue(), "glue").meta.endpoint_url == glue


def test_logs_of_tables_are_read_at_the_endpoint_of_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = lake(endpoint_url="http://127.0.0.1:1")
    assert client(settings, "s3").meta.endpoint_url == "https://s3.eu-west-1.amazonaws.com"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:2")
    assert client(lake(endpoint_url="http://127.0.0.1:1"), "s3").meta.endpoint_url == "http://127.0.0.1:2"


@pytest.mark.parametrize(("values", "text"), [({"profile": "none"}, r"profile \(none\)"), ({"region": None}, "region")])
def test_what_is_missing_at_home_is_waited_for(values: dict[str, Any], text: str) -> None:
    """No operation is to blame for it."""
    with pytest.raises(Unavailable, match=rf"target 'lake' cannot use AWS.*{text}"):
        glue_target(lake(**values))


def test_the_region_may_be_the_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = "aws_access_key_id = own\naws_secret_access_key = any\n"
    (tmp_path / "config").write_text(f"[profile work]\nregion = us-west-2\n{keys}")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    assert client(lake(region=None, profile="work"), "glue").meta.region_name == "us-west-2"


def test_the_account_of_the_catalog_goes_with_every_call() -> None:
    bench = Bench()
    database = bench.database()
    bench.target(catalog_id="123456789012").tables(database)
    assert [arguments["CatalogId"] for _, arguments in bench.calls] == ["123456789012"]


def test_closing_closes_and_never_raises() -> None:
    bench = Bench()
    target = bench.target()
    target.close()
    target.close()
    assert bench.closed == 2
    assert target.table(TableName("no", "no")) is None, "other lanes go on with the client"


# --- the rate


def test_calls_of_all_threads_together_keep_the_rate() -> None:
    pacer, began = Pacer(100.0), time.monotonic()
    threads = [threading.Thread(target=lambda: [pacer() for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 0.19, "20 calls at 100 a second are 19 gaps of 10 ms"


# --- AWS's answers to a real client


class Answers(BaseHTTPRequestHandler):
    """STS, which gives a role's credentials, and a Glue that throttles as often as it is told."""

    throttled: int
    seen: list[tuple[str, str]]
    asked: list[dict[str, list[str]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        operation = self.headers.get("X-Amz-Target", "sts").rpartition(".")[2]
        self.seen.append((operation, self.headers["Authorization"].split("Credential=")[1].split("/")[0]))
        if operation == "sts":
            self.asked.append(parse_qs(body.decode()))
            self._answer(200, CREDENTIALS)
        elif type(self).throttled:
            type(self).throttled -= 1
            self._answer(400, '{"__type": "ThrottlingException", "Message": "Rate exceeded"}')
        else:
            self._answer(200, '{"DatabaseList": [{"Name": "default"}]}')

    def _answer(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Not on the terminal."""


CREDENTIALS = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>role</AccessKeyId><SecretAccessKey>x</SecretAccessKey><SessionToken>y</SessionToken>
<Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


@pytest.fixture
def answers() -> Iterator[tuple[type[Answers], str]]:
    kind = type("These", (Answers,), {"throttled": 0, "seen": [], "asked": []})
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield kind, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_role_is_assumed_once_with_what_its_owner_asks_for(
    answers: tuple[type[Answers], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, url = answers
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
    target = glue_target(lake(endpoint_url=url, assume_role={"arn": ROLE, "external_id": "partner"}))
    assert kind.seen == [], "nothing is sent before the first call"
    assert target.check().startswith("1 database in the Glue catalog in eu-west-1")
    assert target.databases() == ["default"]
    assert kind.seen == [("sts", "own"), ("GetDatabases", "role"), ("GetDatabases", "role")]
    (asked,) = kind.asked
    assert (asked["RoleArn"], asked["ExternalId"], asked["RoleSessionName"]) == ([ROLE], ["partner"], ["pysync"])
    target.close()


ROLE_OF_PROFILE = f"""[profile etl]
role_arn = {ROLE}
source_profile = own
[profile own]
aws_access_key_id = own
aws_secret_access_key = any
"""


@pytest.fixture(params=["assume_role", "profile"])
def in_role(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Settings of a target whose credentials come from STS: as it says, or as its profile does."""
    if request.param == "assume_role":
        return {"assume_role": {"arn": ROLE}}
    file = tmp_path / "config"
    file.write_text(ROLE_OF_PROFILE)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    return {"profile": "etl"}


def test_of_credentials_no_more_is_read_than_a_bound(
    answers: tuple[type[Answers], str], in_role: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, url = answers
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
    monkeypatch.setattr(bounded_answers, "MOST_IN_ANSWER", len(CREDENTIALS) - 1)
    target = glue_target(lake(endpoint_url=url, **in_role))
    with pytest.raises(Unavailable, match="sts: the answer has more than"):
        target.databases()
    assert [it for it, _ in kind.seen] == ["sts"]
    monkeypatch.setattr(bounded_answers, "MOST_IN_ANSWER", 1_000_000)
    assert target.databases() == ["default"]


def test_credentials_are_waited_for_no_longer_than_any_call(
    in_role: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # botocore's between its attempts
    with socket.create_server((HOST, 0)) as silent:
        url = f"http://{HOST}:{silent.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        target = glue_target(lake(endpoint_url=url, timeout_seconds=0.2, **in_role))
        with pytest.raises(Unavailable, match="Read timeout"):
            target.databases()


@pytest.mark.parametrize("throttled", [ATTEMPTS - 1, ATTEMPTS])
def test_botocore_tries_a_throttled_call_again_and_then_it_is_our_turn(
    answers: tuple[type[Answers], str], throttled: int
) -> None:
    kind, url = answers
    kind.throttled = throttled
    target = glue_target(lake(endpoint_url=url))
    if throttled < ATTEMPTS:
        assert target.databases() == ["default"]
    else:
        with pytest.raises(Unavailable, match="ThrottlingException: Rate exceeded"):
            target.databases()
    assert len(kind.seen) == ATTEMPTS
    target.close()


def test_the_rate_is_kept_on_the_way_out(answers: tuple[type[Answers], str]) -> None:
    _, url = answers
    target, began = glue_target(lake(endpoint_url=url, max_rate=20.0)), time.monotonic()
    for _ in range(5):
        target.databases()
    assert time.monotonic() - began >= 0.19
    target.close()


def test_clients_that_are_provided_are_used_and_none_is_built():
    settings, other = lake(profile="that nobody has"), object()
    provide(settings, glue=other)
    assert client(settings, "glue") is other


def test_only_targets_of_aws_take_clients():
    settings = HmsSettings.model_validate({"name": "dr", "kind": "hms", "metastore": "thrift://localhost:9083"})
    with pytest.raises(PysyncError, match="target 'dr' is not on AWS"):
        provide(settings, glue=object())
