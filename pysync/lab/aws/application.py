"""One web application for all the services behind one address: which service a request is for, and its faults.

- `POST /_bench/faults` with the members of a Fault lets calls go wrong, `DELETE` ends that.
- `GET /_bench/calls` counts calls (`Glue.GetTable`), and the statements that Athena ran; `DELETE` resets the counts.
- JSON requests for Glue and Athena are answered here, all others by moto: S3 and STS.
"""

from __future__ import annotations

import json
import logging
import re
import socket
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from pysync.lab.aws.faults import AwsFault, AwsFaults, CallCounts, fault_of
from pysync.lab.aws.refusals import AwsRefusal

Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[[str, list[tuple[str, str]]], Any]

_SERVICES = {"AWSGlue": "Glue", "AmazonAthena": "Athena"}
_SCOPE = re.compile(r"Credential=[^/=]+/\d+/[^/=]+/(\w+)/")
_REASONS = {200: "OK", 400: "Bad Request", 500: "Internal Server Error"}
_logger = logging.getLogger(__name__)


class AwsService(Protocol):
    """What answers the calls of one service."""

    def answer(self, operation: str, request: dict[str, Any], fault: AwsFault | None = None) -> dict[str, Any]:
        """Carry out one operation; AwsRefusal if it cannot be."""


class Application:
    """The WSGI application; `services` by their names, "Glue" and "Athena"."""

    def __init__(
        self, services: dict[str, AwsService], faults: AwsFaults, calls: CallCounts, statements: CallCounts
    ) -> None:
        self._services = services
        self._faults = faults
        self._calls = calls
        self._statements = statements
        self._others: Any = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        path = environ.get("PATH_INFO", "")
        prefix, _, operation = environ.get("HTTP_X_AMZ_TARGET", "").partition(".")
        if path.startswith("/_bench/"):
            return self._bench(environ, start_response)
        if prefix in _SERVICES:
            return self._call(_SERVICES[prefix], operation, environ, start_response)
        return self._pass_on(environ, start_response)

    def _bench(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        try:
            answer = self._control(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}", environ)
        except AwsRefusal as refusal:
            return _refuse(refusal, start_response)
        return _respond(200, answer, start_response)

    def _control(self, route: str, environ: Environ) -> dict[str, Any]:
        if route == "POST /_bench/faults":
            self._faults.add(fault_of(_json(environ)))
        elif route == "DELETE /_bench/faults":
            self._faults.clear()
        elif route == "DELETE /_bench/calls":
            self._calls.reset()
            self._statements.reset()
        elif route == "GET /_bench/calls":
            return {"calls": self._calls.counted(), "statements": self._statements.counted()}
        else:
            raise AwsRefusal("UnknownOperationException", f"the embedded AWS does not know {route}")
        return {}

    def _call(self, service: str, operation: str, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        name = f"{service}.{operation}"
        self._calls.count(name)
        fault = self._faults.take(name)
        try:
            if fault:
                _happens_before(fault, environ)
            answer = self._answer(service, operation, _json(environ), fault)
            if fault:
                _happens_after(fault, environ)
        except AwsRefusal as refusal:
            return _refuse(refusal, start_response)
        except Exception:
            _logger.exception("%s failed", name)
            return _refuse(AwsRefusal("InternalServiceException", "see the log of the embedded AWS"), start_response)
        return _respond(200, answer, start_response)

    def _answer(self, service: str, operation: str, request: dict[str, Any], fault: AwsFault | None) -> dict[str, Any]:
        if service not in self._services:
            raise AwsRefusal("UnknownOperationException", f"the embedded AWS runs without {service}")
        return self._services[service].answer(operation, request, fault)

    def _pass_on(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
        name = f"{scope[1].upper() if scope else 'S3'}.{environ['REQUEST_METHOD']}"
        self._calls.count(name)
        fault = self._faults.take(name)
        if fault and fault.refusal:
            return _refuse_xml(fault.refusal, start_response)
        answer: Iterable[bytes] = self._others(environ, start_response)
        return answer


def _happens_before(fault: AwsFault, environ: Environ) -> None:
    time.sleep(fault.delay_seconds)
    if fault.after:
        return
    if fault.loses_answer:
        _hang_up(environ)
        # Nobody gets this answer, but the call is not carried out.
        raise AwsRefusal("InternalFailure", "the connection is broken")
    if fault.refusal:
        raise fault.refusal


def _happens_after(fault: AwsFault, environ: Environ) -> None:
    if fault.after and fault.loses_answer:
        _hang_up(environ)
    if fault.after and fault.refusal:
        raise fault.refusal


def _hang_up(environ: Environ) -> None:
    """Break the connection, so that no answer gets through."""
    connection: socket.socket = environ["werkzeug.socket"]
    connection.shutdown(socket.SHUT_RDWR)


def _json(environ: Environ) -> dict[str, Any]:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    try:
        read: Any = json.loads(environ["wsgi.input"].read(length) or b"{}")
    except ValueError as error:
        raise AwsRefusal("SerializationException", f"the request is not JSON: {error}") from error
    if not isinstance(read, dict):
        raise AwsRefusal("SerializationException", "the request is not a JSON object")
    return read


def _refuse(refusal: AwsRefusal, start_response: StartResponse) -> Iterable[bytes]:
    answer = {"__type": refusal.code, "message": refusal.message, **refusal.members}
    return _respond(refusal.status, answer, start_response)


def _refuse_xml(refusal: AwsRefusal, start_response: StartResponse) -> Iterable[bytes]:
    body = f"<Error><Code>{refusal.code}</Code><Message>{refusal.message}</Message></Error>".encode()
    return _send(refusal.status, body, "application/xml", start_response)


def _respond(status: int, answer: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    return _send(status, json.dumps(answer, default=_seconds).encode(), "application/x-amz-json-1.1", start_response)


def _send(status: int, body: bytes, kind: str, start_response: StartResponse) -> Iterable[bytes]:
    headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
    start_response(f"{status} {_REASONS[status]}", headers)
    return [body]


def _seconds(value: object) -> float:
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} cannot be written as JSON")
    return value.timestamp()
