"""Athena's API, as far as statements need it. Its errors are those of `pysync.targets.base`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from pysync.targets.athena.failures import Ending
from pysync.targets.athena.settings import PRIMARY, AthenaSettings
from pysync.targets.aws.clients import client, observe_calls
from pysync.targets.aws.errors import classified
from pysync.targets.base import Forbidden, OutcomeUnknown, Rejected, Unavailable

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
