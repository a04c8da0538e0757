"""Statements before an Athena that says what it is told to."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import nullcontext

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from structlog.testing import capture_logs

from pysync.base import logs
from pysync.targets.athena import AthenaSettings
from pysync.targets.athena.api import ATTEMPTS, MOST_AT_ONCE, AthenaApi
from pysync.targets.athena.execution import StatementRunner
from pysync.targets.athena.statements import summary
from pysync.targets.aws.clients import provide
from pysync.targets.base import Missing, OutcomeUnknown, Rejected, Unavailable

DDL = "DROP TABLE IF EXISTS `db`.`t`"
RUNNING, SUCCEEDED, FAILED, CANCELLED = "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"


def refused(code, message="no", status=400):
    return ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}, "x"
    )


class Scripted:
    """A boto3 client of Athena: each call gives the next of its answers, and the last one from then on."""

    def __init__(self, states=(SUCCEEDED,), *, start=(), look=(), stop=(), reason="", error=None, category=2):
        self.answers = {"start": list(start), "get": list(states), "look": list(look), "stop": list(stop)}
        self.reason, self.error, self.category = reason, error, category
        self.calls, self.requests, self.asked = Counter(), [], []
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

    def batch_get_query_execution(self, QueryExecutionIds):  # noqa: N803
        self.asked.append(QueryExecutionIds)
        self._next("look")
        return {"QueryExecutions": [self._execution(it) for it in QueryExecutionIds]}

    def get_query_execution(self, QueryExecutionId):  # noqa: N803
        self.calls["single"] += 1
        return {"QueryExecution": self._execution(QueryExecutionId)}

    def _execution(self, query):
        state = self._next("get")
        if self.cancelled.is_set() and state == RUNNING:
            state = CANCELLED
        status = {"State": state, "StateChangeReason": self.reason}
        if self.error or self.reason:
            status["AthenaError"] = {"ErrorCategory": self.category, "ErrorType": self.error, "Retryable": False}
        return {"QueryExecutionId": query, "Query": DDL, "StatementType": "DDL", "Status": status}

    def stop_query_execution(self, **_):
        self._next("stop")
        self.cancelled.set()

    def get_work_group(self, WorkGroup):  # noqa: N803
        return {"WorkGroup": {"Name": WorkGroup, "State": "DISABLED" if WorkGroup == "off" else "ENABLED"}}


@pytest.fixture(autouse=True)
def _sending_again_at_once(monkeypatch):
    monkeypatch.setattr("pysync.targets.athena.api._FIRST_SECONDS", 0.001)
    monkeypatch.setattr("pysync.targets.athena.api._LONGEST_SECONDS", 0.001)


@pytest.fixture
def _impatient(monkeypatch):
    monkeypatch.setattr("pysync.targets.athena.polling.SILENT_SECONDS", 0.05)


def settings_of(scripted, **values):
    defaults = {
        "name": "lake",
        "kind": "athena",
        "region": "eu-west-1",
        "staging": "s3://staging/",
        "poll_seconds": 0.01,
    }
    settings = AthenaSettings(**(defaults | values))
    provide(settings, athena=scripted)
    return settings


def athena(scripted, **values):
    return StatementRunner(settings_of(scripted, **values))


def test_a_statement_that_is_done():
    scripted = Scripted(["QUEUED", RUNNING, SUCCEEDED])
    athena(scripted).run(DDL, "db")
    assert scripted.calls == {"start": 1, "look": 3, "get": 3}
    (request,) = scripted.requests
    token = request.pop("ClientRequestToken")
    assert 32 <= len(token) <= 128
    assert request == {
        "QueryString": DDL,
        "QueryExecutionContext": {"Catalog": "AwsDataCatalog", "Database": "db"},
        "ResultConfiguration": {"OutputLocation": "s3://staging/"},
    }


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
    ("error", "kind", "sent"),
    [
        (refused("ThrottlingException", "Rate exceeded"), Unavailable, ATTEMPTS),
        (refused("TooManyRequestsException", "CONCURRENT_QUERY_LIMIT_EXCEEDED"), Unavailable, ATTEMPTS),
        (refused("ExpiredTokenException"), Unavailable, ATTEMPTS),
        (refused("UnrecognizedClientException"), Unavailable, ATTEMPTS),
        (refused("AccessDeniedException"), Unavailable, 1),
        (refused("InvalidRequestException", "line 1:1: mismatched input"), Rejected, 1),
        (refused("InternalServerException", status=500), OutcomeUnknown, ATTEMPTS),
        (EndpointConnectionError(endpoint_url="http://x"), Unavailable, ATTEMPTS),
        (ReadTimeoutError(endpoint_url="http://x"), OutcomeUnknown, ATTEMPTS),
    ],
)
def test_a_refused_start(error, kind, sent):
    scripted = Scripted(start=[error])
    with pytest.raises(kind, match=r"^DROP TABLE IF EXISTS `db`.`t` on target 'lake': "):
        athena(scripted).run(DDL, "db")
    assert scripted.calls == {"start": sent}


@pytest.mark.parametrize("error", [refused("ThrottlingException"), ReadTimeoutError(endpoint_url="http://x")])
def test_a_start_that_is_sent_again_is_the_same_to_athena(error):
    """The answer may have been lost, and not the request: by its token Athena knows that it is no second one."""
    scripted = Scripted(start=[error, error, None])
    found = athena(scripted)
    found.run(DDL, "db")
    assert scripted.calls["start"] == 3
    assert len({request["ClientRequestToken"] for request in scripted.requests}) == 1
    found.run(DDL, "db")
    assert len({request["ClientRequestToken"] for request in scripted.requests}) == 2, "a later statement is another"


def test_it_is_the_same_on_another_lane_unless_another_came_between():
    scripted = Scripted(start=[ReadTimeoutError(endpoint_url="http://x")])
    settings = settings_of(scripted)
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            StatementRunner(settings).run(DDL, "db")
    (token,) = {request["ClientRequestToken"] for request in scripted.requests}
    scripted.answers["start"] = []
    StatementRunner(settings).run("CREATE EXTERNAL TABLE `db`.`t` (`a` int)", "db")
    StatementRunner(settings).run(DDL, "db")
    tokens = [request["ClientRequestToken"] for request in scripted.requests[-2:]]
    assert token not in tokens
    assert len(set(tokens)) == 2


@pytest.mark.parametrize(
    ("number", "kind"), [(1401, Unavailable), (1500, Unavailable), (1006, Rejected), (1301, Missing)]
)
def test_a_failed_statement_has_the_kind_of_its_type(number, kind):
    with pytest.raises(kind, match="it says so"):
        athena(Scripted([RUNNING, FAILED], reason="it says so", error=number)).run(DDL, "db")


@pytest.mark.parametrize(("number", "category"), [(1003, None), (1003, 1), (1001, 2), (None, 2)])
def test_whatever_athena_says_is_the_statements_own_fault_is_a_refusal(number, category):
    scripted = Scripted([FAILED], reason="Cannot validate serde: x.Y", error=number, category=category)
    with pytest.raises(Rejected, match="Cannot validate serde"):
        athena(scripted).run(DDL, "db")


@pytest.mark.parametrize(("end", "kind"), [(FAILED, Rejected), (SUCCEEDED, None)])
def test_looks_that_fail_in_between_are_repeated(end, kind):
    gone = EndpointConnectionError(endpoint_url="x")
    scripted = Scripted([RUNNING, end], look=[None, gone, None], reason="bad", error=1006)
    with pytest.raises(kind) if kind else nullcontext():
        athena(scripted).run(DDL, "db")
    assert scripted.calls["look"] == 3


@pytest.mark.usefixtures("_impatient")
def test_nobody_says_what_became_of_it():
    scripted = Scripted(look=[refused("ThrottlingException")])
    with pytest.raises(OutcomeUnknown, match=r"the result of query q1 is unknown: .*ThrottlingException"):
        athena(scripted).run(DDL, "db")


def test_it_asks_about_no_more_queries_in_one_call_than_athena_takes():
    scripted = Scripted([RUNNING])
    queries = [f"q{number}" for number in range(MOST_AT_ONCE + 1)]
    assert AthenaApi(settings_of(scripted)).read_endings(queries).keys() == set(queries)
    assert [len(asked) for asked in scripted.asked] == [MOST_AT_ONCE, 1]


@pytest.mark.usefixtures("_impatient")
def test_athena_does_not_know_the_query():
    scripted = Scripted()
    scripted.batch_get_query_execution = lambda **_: {"QueryExecutions": [], "UnprocessedQueryExecutionIds": []}
    with pytest.raises(OutcomeUnknown, match="Athena says nothing of it"):
        athena(scripted).run(DDL, "db")


def test_without_the_right_to_ask_together_it_asks_one_by_one_and_says_so_once():
    """Who gave pysync its rights before it asked together need not hurry."""
    scripted = Scripted(["QUEUED", RUNNING, SUCCEEDED], look=[refused("AccessDeniedException")])
    settings = settings_of(scripted)
    with capture_logs() as lines:
        for _ in range(2):
            StatementRunner(settings).run(DDL, "db")
    assert scripted.calls == {"start": 2, "look": 1, "get": 4, "single": 4}
    (line,) = [it for it in lines if it["event"] != "statement_finished"]
    assert (line["event"], line["target"], line["fallback"]) == ("poll_denied", "lake", "GetQueryExecution")
    assert "AccessDeniedException" in line["reason"]


def test_one_that_is_done_while_it_is_cancelled_is_done():
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


def test_nor_on_another_lane_but_other_tables_go_on(monkeypatch):
    monkeypatch.setattr("pysync.targets.athena.execution._SETTLE_SECONDS", 0.2)
    scripted = Scripted([RUNNING], stop=[refused("ThrottlingException")])
    settings = settings_of(scripted, statement_timeout_seconds=0.1)
    with pytest.raises(OutcomeUnknown):
        StatementRunner(settings).run(DDL, "db")
    with pytest.raises(Unavailable, match="query q1 on target 'lake' was cancelled but has not ended yet"):
        StatementRunner(settings).run("CREATE EXTERNAL TABLE `db`.`t` (`a` int)", "db")
    assert scripted.calls["start"] == 1
    scripted.answers["get"] = [SUCCEEDED]
    StatementRunner(settings).run("DROP TABLE IF EXISTS `db`.`t2`", "db")
    assert scripted.asked[-1] == ["q2"]


@pytest.mark.usefixtures("_impatient")
def test_nor_while_athena_does_not_answer(monkeypatch):
    monkeypatch.setattr("pysync.targets.athena.execution._SETTLE_SECONDS", 0.2)
    scripted = Scripted(look=[EndpointConnectionError(endpoint_url="x")])
    found = athena(scripted)
    with pytest.raises(OutcomeUnknown):
        found.run(DDL, "db")
    with pytest.raises(Unavailable):
        found.run(DDL, "db")
    assert scripted.calls["start"] == 1


def test_no_thread_is_started_for_a_statement():
    before = set(threading.enumerate())
    scripted = Scripted([RUNNING])
    with pytest.raises(OutcomeUnknown):
        athena(scripted, statement_timeout_seconds=0.05).run(DDL, "db")
    assert set(threading.enumerate()) == before


def test_the_work_group_is_checked():
    assert athena(Scripted()).check() == "Athena work group primary"
    with pytest.raises(Unavailable, match="the work group 'off' of target 'lake' is disabled"):
        athena(Scripted(), work_group="off").check()


def test_a_statement_is_named_without_its_strings():
    statement = "ALTER TABLE `db`.`t` SET TBLPROPERTIES ('password'='secret')"
    assert summary(statement) == "ALTER TABLE `db`.`t` SET TBLPROPERTIES"
    with pytest.raises(Unavailable) as error:
        athena(Scripted(start=[refused("ThrottlingException")])).run(statement, "db")
    assert "secret" not in str(error.value)


@pytest.mark.usefixtures("logging_restored", "_impatient")
def test_nothing_but_our_own_lines_is_logged_of_what_goes_wrong(capfd):
    logs.configure("debug", "json")
    with pytest.raises(Rejected):
        athena(Scripted(start=[refused("InvalidRequestException")])).run("ALTER TABLE `x` SET ('secret'='1')", "db")
    with pytest.raises(Unavailable):
        athena(Scripted(start=[refused("ThrottlingException")])).run(DDL, "db")
    with pytest.raises(Rejected):
        athena(Scripted([FAILED], reason="no", error=1006)).run(DDL, "db")
    with pytest.raises(OutcomeUnknown):
        athena(Scripted(look=[refused("ThrottlingException")])).run(DDL, "db")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [(it["event"], it["level"]) for it in lines] == [
        ("statement_finished", "debug"),
        ("statement_unconfirmed", "info"),
    ]
    assert "secret" not in repr(lines)


@pytest.mark.usefixtures("_impatient")
def test_a_lost_answer_is_logged_with_its_target_and_statement():
    with capture_logs() as lines, pytest.raises(OutcomeUnknown):
        athena(Scripted(look=[refused("ThrottlingException")])).run(f"{DDL} ('secret')", "db")
    (line,) = lines
    assert (line["event"], line["target"], line["statement"]) == ("statement_unconfirmed", "lake", DDL)
    assert line["query"] == "q1"
    assert "secret" not in repr(line)
