"""One statement in real pyathena, before an Athena that says what it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from structlog.testing import capture_logs

from pysync import logs
from pysync.targets.athena import AthenaSettings
from pysync.targets.athena.execution import Athena
from pysync.targets.athena.statements import summary
from pysync.targets.aws.session import provide
from pysync.targets.base import Missing, OutcomeUnknown, Rejected, Unavailable

DDL = "DROP TABLE IF EXISTS `db`.`t`"
RUNNING, SUCCEEDED, FAILED, CANCELLED = "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"


def refused(code, message="no", status=400):
    return ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}, "x"
    )


class Scripted:
    """A boto3 client of Athena: each call gives the next of its answers, and the last one from then on."""

    class meta:  # noqa: N801, boto3's name
        class config:  # noqa: N801
            user_agent_extra = ""

    def __init__(self, states=(SUCCEEDED,), *, start=(), results=(), stop=(), reason="", error=None):
        self.answers = {"start": list(start), "get": list(states), "results": list(results), "stop": list(stop)}
        self.reason, self.error, self.calls, self.requests = reason, error, Counter(), []
        self.cancelled = threading.Event()

    def _next(self, call):
        self.calls[call] += 1
        answers = self.answers[call]
        found = (answers.pop(0) if len(answers) > 1 else answers[0]) if answers else None
        if isinstance(found, Exception):
            raise found
        return found

    def start_query_execution(self, **request):
        self.requests.append(request)
        self._next("start")
        return {"QueryExecutionId": f"q{self.calls['start']}"}

    def get_query_execution(self, QueryExecutionId):  # noqa: N803
        state = self._next("get")
        if self.cancelled.is_set() and state == RUNNING:
            state = CANCELLED
        status = {"State": state, "StateChangeReason": self.reason}
        if self.error:
            status["AthenaError"] = {"ErrorCategory": 2, "ErrorType": self.error, "Retryable": False}
        found = {"QueryExecutionId": QueryExecutionId, "Query": DDL, "StatementType": "DDL", "Status": status}
        return {"QueryExecution": found | {"ResultConfiguration": {"OutputLocation": "s3://staging/x.txt"}}}

    def get_query_results(self, **_):
        self._next("results")
        return {"ResultSet": {"Rows": [], "ResultSetMetadata": {"ColumnInfo": []}}, "UpdateCount": 0}

    def stop_query_execution(self, **_):
        self._next("stop")
        self.cancelled.set()


def athena(scripted, **values):
    defaults = {
        "name": "lake",
        "kind": "athena",
        "region": "eu-west-1",
        "staging": "s3://staging/",
        "poll_seconds": 0.01,
    }
    settings = AthenaSettings(**(defaults | values))
    provide(settings, athena=scripted)
    return Athena(settings)


def test_a_statement_that_is_done():
    scripted = Scripted(["QUEUED", RUNNING, SUCCEEDED])
    athena(scripted).run(DDL, "db")
    assert scripted.calls == {"start": 1, "get": 3, "results": 1}
    (request,) = scripted.requests
    assert request["QueryString"] == DDL
    assert request["QueryExecutionContext"] == {"Catalog": "AwsDataCatalog", "Database": "db"}
    assert request["ResultConfiguration"] == {"OutputLocation": "s3://staging/"}
    assert (
        "ResultReuseConfiguration" not in request
        or not request["ResultReuseConfiguration"]["ResultReuseByAgeConfiguration"]["Enabled"]
    )


def test_the_settings_reach_the_request():
    scripted = Scripted()
    athena(scripted, staging=None, work_group="etl", catalog="other").run(DDL)
    (request,) = scripted.requests
    assert (request["WorkGroup"], request["QueryExecutionContext"]) == ("etl", {"Catalog": "other"})
    assert "ResultConfiguration" not in request


@pytest.mark.parametrize("text", ["100%", "%s %(x)s", "{0} {x}", "/* c */ -- d"])
def test_nothing_is_put_into_a_statement(text):
    scripted = Scripted()
    athena(scripted).run(f"{DDL} '{text}'")
    assert scripted.requests[0]["QueryString"] == f"{DDL} '{text}'"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (refused("ThrottlingException", "Rate exceeded"), Unavailable),
        (refused("TooManyRequestsException", "CONCURRENT_QUERY_LIMIT_EXCEEDED"), Unavailable),
        (refused("ExpiredTokenException"), Unavailable),
        (refused("UnrecognizedClientException"), Unavailable),
        (refused("AccessDeniedException"), Unavailable),
        (refused("InvalidRequestException", "line 1:1: mismatched input"), Rejected),
        (refused("InternalServerException", status=500), OutcomeUnknown),
        (EndpointConnectionError(endpoint_url="http://x"), Unavailable),
        (ReadTimeoutError(endpoint_url="http://x"), OutcomeUnknown),
    ],
)
def test_a_refused_start(error, kind):
    scripted = Scripted(start=[error])
    with pytest.raises(kind, match=r"^DROP TABLE IF EXISTS `db`.`t` on target 'lake': "):
        athena(scripted).run(DDL, "db")
    assert scripted.calls == {"start": 1}, "botocore has tried again already, within the call"


@pytest.mark.parametrize(
    ("number", "kind"), [(1401, Unavailable), (1500, Unavailable), (1006, Rejected), (1301, Missing)]
)
def test_a_failed_statement_has_the_kind_of_its_type(number, kind):
    with pytest.raises(kind, match="it says so"):
        athena(Scripted([RUNNING, FAILED], reason="it says so", error=number)).run(DDL, "db")


def test_done_though_its_results_cannot_be_read():
    """No right to read the staging location: the statement was done all the same, and Athena says so."""
    scripted = Scripted([RUNNING, SUCCEEDED], results=[refused("AccessDeniedException")])
    athena(scripted).run(DDL, "db")
    assert scripted.calls["start"] == 1


def test_failed_and_its_polling_cut_in_between():
    scripted = Scripted([RUNNING, EndpointConnectionError(endpoint_url="x"), FAILED], reason="bad", error=1006)
    with pytest.raises(Rejected, match="bad"):
        athena(scripted).run(DDL, "db")


def test_done_and_its_polling_cut_in_between():
    athena(Scripted([RUNNING, EndpointConnectionError(endpoint_url="x"), RUNNING, SUCCEEDED])).run(DDL, "db")


def test_nobody_says_what_became_of_it():
    scripted = Scripted([RUNNING, refused("ThrottlingException")])
    with pytest.raises(OutcomeUnknown, match="the result of query q1 is unknown"):
        athena(scripted).run(DDL, "db")


def test_one_that_never_ends_is_cancelled_at_the_deadline():
    scripted = Scripted([RUNNING])
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown, match="CANCELLED"):
        athena(scripted, statement_timeout_seconds=0.2).run(DDL, "db")
    assert time.monotonic() - started < 30
    assert scripted.cancelled.is_set()


def test_one_that_is_done_while_it_is_cancelled_is_done(monkeypatch):
    scripted = Scripted([RUNNING])
    scripted.stop_query_execution = lambda **_: scripted.answers.update(get=[SUCCEEDED])
    athena(scripted, statement_timeout_seconds=0.2).run(DDL, "db")


def test_nothing_is_run_before_the_one_before_has_ended(monkeypatch):
    """Else it could be done after a later one, and undo it."""
    monkeypatch.setattr("pysync.targets.athena.execution._SETTLE_SECONDS", 0.2)
    scripted = Scripted([RUNNING], stop=[refused("ThrottlingException")])
    found = athena(scripted, statement_timeout_seconds=0.1)
    with pytest.raises(OutcomeUnknown, match="did not finish within"):
        found.run(DDL, "db")
    with pytest.raises(Unavailable, match="query q1 on target 'lake' was cancelled but has not ended yet"):
        found.run(DDL, "db")
    assert scripted.calls["start"] == 1
    scripted.answers["get"] = [SUCCEEDED]
    found.run(DDL, "db")
    assert scripted.calls["start"] == 2


def test_nor_while_athena_does_not_answer(monkeypatch):
    monkeypatch.setattr("pysync.targets.athena.execution._SETTLE_SECONDS", 0.2)
    scripted = Scripted([RUNNING, EndpointConnectionError(endpoint_url="x")])
    found = athena(scripted)
    with pytest.raises(OutcomeUnknown):
        found.run(DDL, "db")
    with pytest.raises(Unavailable):
        found.run(DDL, "db")
    assert scripted.calls["start"] == 1


def test_no_thread_is_left_of_a_statement_that_goes_on(monkeypatch):
    monkeypatch.setattr("pysync.targets.athena.execution._SETTLE_SECONDS", 0.05)
    before = set(threading.enumerate())
    scripted = Scripted([RUNNING], stop=[refused("ThrottlingException")])
    found = athena(scripted, statement_timeout_seconds=0.05)
    for kind in (OutcomeUnknown, Unavailable, Unavailable):
        with pytest.raises(kind):
            found.run(DDL, "db")
    found.close()
    deadline = time.monotonic() + 10
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert set(threading.enumerate()) - before == set()


def test_a_statement_is_named_without_its_strings():
    statement = "ALTER TABLE `db`.`t` SET TBLPROPERTIES ('password'='secret')"
    assert summary(statement) == "ALTER TABLE `db`.`t` SET TBLPROPERTIES"
    with pytest.raises(Unavailable) as error:
        athena(Scripted(start=[refused("ThrottlingException")])).run(statement, "db")
    assert "secret" not in str(error.value)


@pytest.mark.usefixtures("logging_restored")
def test_pyathena_logs_nothing_of_a_refused_or_a_throttled_call(capfd):
    """It logs errors that it raises, and a call that it may try again at whatever level it has."""
    logs.configure("info", "json")
    with pytest.raises(Rejected):
        athena(Scripted(start=[refused("InvalidRequestException")])).run("ALTER TABLE x SET ('secret'='1')", "db")
    with pytest.raises(Unavailable):
        athena(Scripted(start=[refused("ThrottlingException")])).run(DDL, "db")
    with pytest.raises(OutcomeUnknown):
        athena(Scripted([RUNNING, refused("ThrottlingException")])).run(DDL, "db")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [(it["event"], it["level"]) for it in lines] == [("statement_unconfirmed", "info")]


def test_a_lost_answer_is_logged_with_its_target_and_statement():
    with capture_logs() as lines, pytest.raises(OutcomeUnknown):
        athena(Scripted([RUNNING, refused("ThrottlingException")])).run(f"{DDL} ('secret')", "db")
    (line,) = lines
    assert (line["event"], line["target"], line["statement"]) == ("statement_unconfirmed", "lake", DDL)
    assert line["query"] == "q1"
    assert "secret" not in repr(line)
