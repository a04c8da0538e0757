"""Athena's calls: statements are queued, run in the background, and asked about until they are over."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from pysync.lab.aws.ddl import Failure, failure
from pysync.lab.aws.faults import AwsFault, AwsFaults
from pysync.lab.aws.quotas import ACTIVE_DDL, Quotas
from pysync.lab.aws.refusals import AwsRefusal
from pysync.lab.aws.strict import Strict

LONGEST_BYTES = 262_144
_PAGE = 1000
_PAGE = 50  # ids on one page of ListQueryExecutions
_TICK = 0.01
_logger = logging.getLogger(__name__)
_OVER = frozenset({"SUCCEEDED", "FAILED", "CANCELLED"})


class Runner(Protocol):
    """What carries out a statement."""

    def run(self, database: str, text: str) -> list[str]:
        """The lines of the result; Failure if it fails."""


@dataclass(slots=True)
class Execution:
    """One statement, on its way from QUEUED to SUCCEEDED, FAILED or CANCELLED."""

    request: dict[str, Any]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    state: str = "QUEUED"
    reason: str = ""
    error: Failure | None = None
    rows: list[str] = field(default_factory=list)
    submitted: float = field(default_factory=time.time)
    completed: float | None = None
    cancelled: bool = False


class EmbeddedAthena:
    """The calls on one account; `latency` is how long a statement takes at least, in seconds.

    Calls have no quota unless `quotas` is given; statements under way always have one.
    """

    def __init__(self, runner: Runner, faults: AwsFaults, latency: float, quotas: Quotas | None = None) -> None:
        self._runner = runner
        self._faults = faults
        self._quotas = quotas
        self._latency = latency
        self._strict = Strict("athena", "InvalidRequestException")
        self._executions: dict[str, Execution] = {}
        self._by_token: dict[str, Execution] = {}
        self._lock = threading.Lock()
        self._workers = ThreadPoolExecutor(ACTIVE_DDL, thread_name_prefix="athena")
        self._operations = {
            "StartQueryExecution": self._start,
            "GetQueryExecution": self._get,
            "BatchGetQueryExecution": self._get_batch,
            "StopQueryExecution": self._stop,
            "ListQueryExecutions": self._list,
            "GetQueryResults": self._results,
            "GetWorkGroup": self._work_group,
        }

    def answer(self, operation: str, request: dict[str, Any], fault: AwsFault | None = None) -> dict[str, Any]:
        """Carry out one operation; AwsRefusal if it cannot be. Its batches have no faults of single items."""
        del fault
        if self._quotas is not None:
            self._quotas.take(operation)
        self._strict.check(operation, request)
        run = self._operations.get(operation)
        if run is None:
            raise AwsRefusal("UnknownOperationException", f"the embedded Athena does not support {operation}")
        return run(request)

    def _start(self, request: dict[str, Any]) -> dict[str, Any]:
        text = request["QueryString"]
        if len(text.encode()) > LONGEST_BYTES:
            raise _invalid(f"The query is longer than {LONGEST_BYTES} bytes", "INVALID_INPUT")
        if not text.strip():
            raise _invalid("The query is empty", "MALFORMED_QUERY")
        _output_location(request)
        with self._lock:
            execution = self._same_as_before(request)
            if execution is None:
                execution = self._queue(request)
        return {"QueryExecutionId": execution.id}

    def _same_as_before(self, request: dict[str, Any]) -> Execution | None:
        before = self._by_token.get(request.get("ClientRequestToken", ""))
        if before is not None and before.request != request:
            raise _invalid("Idempotent parameters do not match", "INVALID_INPUT")
        return before

    def _queue(self, request: dict[str, Any]) -> Execution:
        active = sum(execution.state not in _OVER for execution in self._executions.values())
        if active >= ACTIVE_DDL:
            message = f"You have exceeded the limit for the number of queries you can run concurrently: {ACTIVE_DDL}"
            raise AwsRefusal("TooManyRequestsException", message, Reason="CONCURRENT_QUERY_LIMIT_EXCEEDED")
        execution = Execution(request)
        self._executions[execution.id] = execution
        if "ClientRequestToken" in request:
            self._by_token[request["ClientRequestToken"]] = execution
        self._workers.submit(self._work, execution)
        return execution

    def _work(self, execution: Execution) -> None:
        """Take one statement through its states. Once it has begun nothing else changes its state."""
        with self._lock:
            if execution.cancelled:
                return
            execution.state = "RUNNING"
        try:
            self._run(execution)
        except Failure as error:
            self._end(execution, "FAILED", error)
        except Exception as error:
            _logger.exception("%s failed", execution.request["QueryString"])
            self._end(execution, "FAILED", failure(f"GENERIC_INTERNAL_ERROR: {error!r}"))
        else:
            self._end(execution, "CANCELLED" if execution.cancelled else "SUCCEEDED")

    def _run(self, execution: Execution) -> None:
        fault = self._faults.take("Athena.exec")
        self._wait(execution, self._latency + (fault.delay_seconds if fault else 0.0))
        error = Failure(fault.reason, fault.category, fault.type, fault.retryable) if fault and _fails(fault) else None
        if execution.cancelled:
            return
        if error is not None and fault is not None and not fault.after:
            raise error
        database = execution.request.get("QueryExecutionContext", {}).get("Database", "default")
        execution.rows = self._runner.run(database, execution.request["QueryString"])
        if error is not None:
            raise error

    def _wait(self, execution: Execution, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not execution.cancelled:
            time.sleep(_TICK)

    def _end(self, execution: Execution, state: str, error: Failure | None = None) -> None:
        with self._lock:
            execution.error = error
            execution.reason = error.reason if error else "Query cancelled by user" if state == "CANCELLED" else ""
            execution.completed = time.time()
            # Last: `_get` reads without the lock, and a final state must come with its reason.
            execution.state = state

    def _get(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"QueryExecution": _shown(self._need(request["QueryExecutionId"]))}

    def _get_batch(self, request: dict[str, Any]) -> dict[str, Any]:
        ids = request["QueryExecutionIds"]
        executions = [_shown(self._executions[name]) for name in ids if name in self._executions]
        missing = [
            {
                "QueryExecutionId": name,
                "ErrorCode": "INVALID_INPUT",
                "ErrorMessage": f"QueryExecution {name} was not found",
            }
            for name in ids
            if name not in self._executions
        ]
        return {"QueryExecutions": executions, "UnprocessedQueryExecutionIds": missing}

    def _stop(self, request: dict[str, Any]) -> dict[str, Any]:
        execution = self._need(request["QueryExecutionId"])
        with self._lock:
            execution.cancelled = execution.state not in _OVER
            waits = execution.state == "QUEUED"
        if waits:
            self._end(execution, "CANCELLED")
        return {}

    def _list(self, request: dict[str, Any]) -> dict[str, Any]:
        ids = [execution.id for execution in sorted(self._executions.values(), key=_newest_first)]
        start = _number(request.get("NextToken", "0"))
        end = start + (request.get("MaxResults") or _PAGE)
        more = {"NextToken": str(end)} if end < len(ids) else {}
        return {"QueryExecutionIds": ids[start:end], **more}

    def _results(self, request: dict[str, Any]) -> dict[str, Any]:
        execution = self._need(request["QueryExecutionId"])
        if execution.state != "SUCCEEDED":
            raise _invalid(
                f"Query did not finish successfully. Final query state: {execution.state}"
                if execution.state in _OVER
                else f"Query has not yet finished. Current state: {execution.state}",
                "INVALID_INPUT",
            )
        start = _number(request.get("NextToken", "0"))
        end = start + (request.get("MaxResults") or _PAGE)
        rows = [{"Data": [{"VarCharValue": row}]} for row in execution.rows[start:end]]
        more = {"NextToken": str(end)} if end < len(execution.rows) else {}
        columns = [_COLUMN] if execution.rows else []
        return {"ResultSet": {"Rows": rows, "ResultSetMetadata": {"ColumnInfo": columns}}, "UpdateCount": 0, **more}

    def _work_group(self, request: dict[str, Any]) -> dict[str, Any]:
        location = _location_of(request["WorkGroup"])
        result = {"ResultConfiguration": {"OutputLocation": location} if location else {}}
        return {"WorkGroup": {"Name": request["WorkGroup"], "State": "ENABLED", "Configuration": result}}

    def _need(self, name: str) -> Execution:
        execution = self._executions.get(name)
        if execution is None:
            raise _invalid(f"QueryExecution {name} was not found", "INVALID_INPUT")
        return execution


_COLUMN = {
    "CatalogName": "hive",
    "SchemaName": "",
    "TableName": "",
    "Name": "result",
    "Label": "result",
    "Type": "string",
    "Precision": 0,
    "Scale": 0,
    "Nullable": "UNKNOWN",
    "CaseSensitive": False,
}


def _shown(execution: Execution) -> dict[str, Any]:
    status: dict[str, Any] = {"State": execution.state, "SubmissionDateTime": execution.submitted}
    if execution.completed is not None:
        status["CompletionDateTime"] = execution.completed
    if execution.reason:
        status["StateChangeReason"] = execution.reason
    if execution.error is not None:
        error = execution.error
        status["AthenaError"] = {
            "ErrorCategory": error.category,
            "ErrorType": error.type,
            "Retryable": error.retryable,
            "ErrorMessage": error.reason,
        }
    return {
        "QueryExecutionId": execution.id,
        "Query": execution.request["QueryString"],
        "StatementType": "DDL",
        "ResultConfiguration": {"OutputLocation": f"{_output_location(execution.request)}/{execution.id}.txt"},
        "QueryExecutionContext": execution.request.get("QueryExecutionContext", {}),
        "Status": status,
        "Statistics": {"DataScannedInBytes": 0, "EngineExecutionTimeInMillis": 0},
        "WorkGroup": execution.request.get("WorkGroup", "primary"),
        "EngineVersion": {"SelectedEngineVersion": "AUTO", "EffectiveEngineVersion": "Athena engine version 3"},
    }


def _output_location(request: dict[str, Any]) -> str:
    """Where the result goes, without a slash at its end; AwsRefusal if nobody says."""
    location = request.get("ResultConfiguration", {}).get("OutputLocation")
    location = location or _location_of(request.get("WorkGroup", "primary"))
    if not location:
        reason = "No output location provided. An output location is required either through the Workgroup result"
        raise _invalid(f"{reason} configuration setting or as an API input.", "INVALID_INPUT")
    base: str = location.rstrip("/")
    return base


def _location_of(work_group: str) -> str:
    """The output location of a work group. All exist, and all but "primary" have one."""
    return "" if work_group == "primary" else f"s3://embedded-results/{work_group}"


def _fails(fault: AwsFault) -> bool:
    """Whether the statement fails; a fault that has only a delay lets it run."""
    return bool(fault.code or fault.after or fault.reason)


def _newest_first(execution: Execution) -> float:
    return -execution.submitted


def _number(token: str) -> int:
    if not token.isdecimal():
        raise _invalid(f"Invalid token {token!r}", "INVALID_INPUT")
    return int(token)


def _invalid(message: str, code: str) -> AwsRefusal:
    return AwsRefusal("InvalidRequestException", message, AthenaErrorCode=code)
