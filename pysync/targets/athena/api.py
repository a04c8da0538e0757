"""Athena's API, as far as statements need it, what its failures mean, and a trial of one statement."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from typing import Any

import pyathena
import structlog
from pyathena.async_cursor import AsyncCursor
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from pysync.base.errors import PysyncError
from pysync.base.text import count
from pysync.targets.athena.settings import PRIMARY, AthenaSettings
from pysync.targets.aws.errors import classified, of_code
from pysync.targets.aws.session import client, observe_calls
from pysync.targets.base import Answer, Forbidden, Missing, OutcomeUnknown, Rejected, Unavailable, answer

# What Athena's failures mean: by the type of the failure, then the text of the reason, then the category.
#
# A failure that is the statement's own is a refusal: it would be repeated, and the Glue API may do what was asked for.


_VERSIONS = 1402  # too many versions of a table, which waiting does not cure
_VERSIONS_HINT = "Athena DDL keeps every table version: delete old versions, or have the Glue API alter tables"
_DENIED_HINT = "grant the permission to the role of pysync"

_USER, _SYSTEM = 2, 1
"""Categories of failures: the statement's fault, and Athena's own."""
_DDL_FAILED = 1003

# How errors of other services come through: the status is not in every message.
_WRAPPED = re.compile(r"(?:Status Code: (?P<status>\d+); )?Error Code: (?P<name>\w+)[;)]")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a statement ended: Athena's state, reason and, where it gives them, type and category of the failure."""

    state: str
    reason: str = ""
    type: int | None = None
    category: int | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it was done."""
        return self.state == "SUCCEEDED"

    @property
    def is_final(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state in {"SUCCEEDED", "FAILED", "CANCELLED"}


def _typed(*numbers: int) -> Callable[[Ending], bool]:
    return lambda it: it.type in numbers


def _reason_has(pattern: str) -> Callable[[Ending], object]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda it: compiled.search(it.reason)


_TYPES: Sequence[Answer[Ending]] = (
    Answer(lambda it: it.state != "FAILED", OutcomeUnknown),  # somebody cancelled it, and nobody says how far it was
    Answer(_typed(_VERSIONS), Rejected, _VERSIONS_HINT),
    Answer(_typed(*range(1400, 1407)), Unavailable),  # throttled
    Answer(_typed(234, 1500, 1501), Forbidden, _DENIED_HINT),
    Answer(_typed(1110, 1301), Missing),
    Answer(_typed(1006), Rejected),  # a syntax error
    Answer(_typed(*range(100, 500)), OutcomeUnknown),  # an error of Athena's own
)

# For almost every failure the type is only "the DDL failed" (1003): then the text decides. A parser's message
# comes first, as it quotes what it could not read, which may look like any of the others.
_REASONS: Sequence[Answer[Ending]] = (
    Answer(_reason_has(r"ParseException|mismatched input|no viable alternative|extraneous input"), Rejected),
    Answer(_reason_has(r"Rate exceeded|Throttl|TooManyRequests|SlowDown|reduce your request rate"), Unavailable),
    Answer(_reason_has(r"Number of TABLE_VERSION|ResourceNumberLimitExceeded"), Rejected, _VERSIONS_HINT),
    Answer(
        _reason_has(r"Insufficient (Lake Formation )?permission|Access ?Denied|not authorized"),
        Forbidden,
        _DENIED_HINT,
    ),
    Answer(_reason_has(r"ExpiredToken|UnrecognizedClient|InvalidClientTokenId"), Unavailable),
    Answer(
        _reason_has(r"\[Error 100(01|72)\]|Database does not exist|(Database|Table|Schema) \S* ?not found"), Missing
    ),
    Answer(_reason_has(r"InternalService|InternalFailure|ServiceUnavailable|OperationTimeout"), OutcomeUnknown),
    Answer(_reason_has(r"Unable to execute HTTP request|Connection (reset|refused)|timed out"), OutcomeUnknown),
    Answer(
        _reason_has(r"(Semantic|AlreadyExists|Invalid\w+|NoSuchObject|EntityNotFound|Validation)Exception"),
        Rejected,
    ),
    Answer(_reason_has(r"Unable to alter|not supported"), Rejected),
    # Whatever else it says: that a serde is unknown, a schema cannot be read, a bucket is not there.
    Answer(lambda it: it.category == _USER or it.type == _DDL_FAILED, Rejected),
    Answer(lambda it: it.category == _SYSTEM, OutcomeUnknown),
)


def failure(ending: Ending, action: str) -> PysyncError:
    """The error of a target for a statement with this ending; `action` names the statement and the target."""
    if not any(row.match(ending) for row in _TYPES):
        wrapped = _wrapped(ending, action)
        if wrapped is not None:
            return wrapped
    return answer((*_TYPES, *_REASONS), ending).error(action, ending.reason or ending.state)


def _wrapped(ending: Ending, action: str) -> PysyncError | None:
    """The error of another service that made the statement fail, if it names one whose meaning is known."""
    match = _WRAPPED.search(ending.reason)
    if match is None:
        return None
    error = of_code(match["name"], ending.reason, action, int(match["status"] or 0))
    return error if type(error) is not PysyncError else None


# Athena's API, as far as statements need it. Its errors are those of `pysync.targets.base`.


MOST_AT_ONCE = 50
"""Queries that one BatchGetQueryExecution takes."""
ATTEMPTS = 5
"""How often a statement is sent while AWS throttles or does not answer: for some two seconds. Then the drain waits,
without a lane.
"""
_FIRST_SECONDS, _LONGEST_SECONDS = 0.25, 2.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """A statement that is to run, with this database as the current one. By the token Athena runs it once."""

    statement: str
    database: str | None
    token: str = field(default_factory=lambda: str(uuid.uuid4()))


class AthenaApi:
    """The calls of all lanes of a target; botocore sends each once."""

    def __init__(self, settings: AthenaSettings) -> None:
        self._settings = settings
        self._target_name = f"target {settings.name!r}"
        self._place = _place(settings)
        self._polls_singly = False

    def work_group(self) -> str:
        """The name of the work group, which is enabled. Raises Unavailable or Rejected."""
        group = self._settings.work_group or PRIMARY
        with classified(f"cannot see the work group {group!r} of {self._target_name}", reading=True):
            description = self._client.get_work_group(WorkGroup=group)["WorkGroup"]
        if description.get("State", "ENABLED") != "ENABLED":
            raise Unavailable(f"the work group {group!r} of {self._target_name} is disabled", "enable the work group")
        return group

    def start(self, request: Request, action: str) -> str:
        """Have a statement run; returns its query's id. It is sent again while AWS throttles, or the answer is lost.

        Raises Unavailable, Rejected or OutcomeUnknown.
        """
        context = {"Catalog": self._settings.catalog or "AwsDataCatalog"}
        arguments = {
            **self._place,
            "QueryString": request.statement,
            "QueryExecutionContext": context | ({"Database": request.database} if request.database else {}),
            "ClientRequestToken": request.token,
        }
        return _patiently(lambda: self._started(arguments, action))

    def read_endings(self, queries: Sequence[str]) -> Mapping[str, Ending]:
        """How these queries are; those that Athena does not know are left out. Raises Unavailable or Rejected."""
        endings: dict[str, Ending] = {}
        for start in range(0, len(queries), MOST_AT_ONCE):
            endings |= {it["QueryExecutionId"]: _ending(it) for it in self._seen(queries[start : start + MOST_AT_ONCE])}
        return endings

    def stop(self, query: str) -> None:
        """Ask Athena to stop a query, which may end as done all the same. Raises Unavailable or Rejected."""
        with classified(f"cannot cancel query {query} on {self._target_name}", reading=True):
            self._client.stop_query_execution(QueryExecutionId=query)

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each request to Athena."""
        observe_calls(self._settings, "athena", on_call)

    @property
    def _client(self) -> Any:
        return client(self._settings, "athena")

    def _started(self, arguments: Mapping[str, Any], action: str) -> str:
        with classified(action):
            return str(self._client.start_query_execution(**arguments)["QueryExecutionId"])

    def _seen(self, queries: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        if not self._polls_singly:
            try:
                return self._seen_together(queries)
            except Forbidden as error:
                self._polls_singly = True
                log.warning(
                    "poll_denied", target=self._settings.name, fallback="GetQueryExecution", reason=error.message
                )
        return [execution for query in queries for execution in self._seen_alone(query)]

    def _seen_together(self, queries: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        with classified(f"cannot see queries of {self._target_name}", reading=True):
            answer: Mapping[str, Any] = self._client.batch_get_query_execution(QueryExecutionIds=list(queries))
        executions: Sequence[Mapping[str, Any]] = answer["QueryExecutions"]
        return executions

    def _seen_alone(self, query: str) -> Sequence[Mapping[str, Any]]:
        try:
            with classified(f"cannot see query {query} of {self._target_name}", reading=True):
                return [self._client.get_query_execution(QueryExecutionId=query)["QueryExecution"]]
        except Rejected:  # Athena does not know it, or not yet
            return []


def _place(settings: AthenaSettings) -> dict[str, Any]:
    """Where the results of statements go: a work group, a location, or both."""
    arguments: dict[str, Any] = {}
    if settings.staging:
        arguments["ResultConfiguration"] = {"OutputLocation": settings.staging}
    group = settings.work_group or ("" if settings.staging else PRIMARY)
    return arguments | ({"WorkGroup": group} if group else {})


def _ending(execution: Mapping[str, Any]) -> Ending:
    status = execution.get("Status") or {}
    error = status.get("AthenaError") or {}
    reason = status.get("StateChangeReason") or error.get("ErrorMessage") or ""
    return Ending(status.get("State", ""), reason, error.get("ErrorType"), error.get("ErrorCategory"))


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, (Unavailable, OutcomeUnknown)) and not isinstance(error, Forbidden)


def _patiently(send: Callable[[], str]) -> str:
    retrying = Retrying(
        retry=retry_if_exception(_is_passing),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(_FIRST_SECONDS, max=_LONGEST_SECONDS),
        reraise=True,
    )
    return retrying(send)


# A trial: one statement as any program sends it, through Python's DB-API, and its result read back.
#
# It proves what no simulation of rights can: that statements run, and that results can be written where they go. The
# statements of changes do not go this way: pyathena asks about each one alone.


STATEMENT = "SHOW DATABASES"


def probe(settings: AthenaSettings) -> str:
    """`Athena lists 12 databases`. Changes nothing. Raises Unavailable, Forbidden, Missing or Rejected."""
    action = f"{STATEMENT} on target {settings.name!r}"
    try:
        with classified(action, reading=True):
            cursor = _connection(settings).cursor()
        try:
            return f"Athena lists {count(_rows(cursor, settings.statement_timeout_seconds), 'database')}"
        except FutureTimeout:
            raise Unavailable(f"{action} did not end within {settings.statement_timeout_seconds:g} s") from None
        finally:
            cursor.close(wait=False)  # its threads may still ask about a statement that hangs
    except pyathena.Error as error:
        raise _classified_error(error, action) from error


def _rows(cursor: Any, seconds: float) -> int:
    query, future = cursor.execute(STATEMENT)
    try:
        return len(future.result(timeout=seconds).fetchall())
    except FutureTimeout:
        cursor.cancel(query)
        raise


def _connection(settings: AthenaSettings) -> Any:
    return pyathena.connect(
        session=_Session(settings),
        s3_staging_dir=settings.staging or "",
        work_group=settings.work_group or ("" if settings.staging else PRIMARY),
        region_name=client(settings, "athena").meta.region_name,
        catalog_name=settings.catalog or "AwsDataCatalog",
        poll_interval=settings.poll_seconds,
        cursor_class=AsyncCursor,
        cursor_kwargs={"max_workers": 2},  # one asks until the statement ends, the other can cancel it
    )


class _Session:
    """What pyathena asks of boto3's session; it gets the target's own clients, with their endpoints and limits."""

    def __init__(self, settings: AthenaSettings) -> None:
        self._settings = settings

    def client(self, service: str, **_: Any) -> Any:
        """The target's client of a service."""
        return client(self._settings, service)


def _classified_error(error: Exception, action: str) -> PysyncError:
    """The error of a target for the error of botocore that pyathena has wrapped, or for a statement that failed."""
    cause = error.__cause__
    if cause is None:
        return failure(Ending("FAILED", str(error)), action)
    try:
        with classified(action, reading=True):
            raise cause
    except PysyncError as classified_error:
        return classified_error
