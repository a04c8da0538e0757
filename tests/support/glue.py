"""Glue in this process, for tests that let its calls go wrong one by one: no HTTP, no threads of its own."""

from __future__ import annotations

import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import cache
from types import SimpleNamespace
from typing import Any

import botocore.session
from botocore.exceptions import ClientError, ConnectionClosedError

from pysync.lab.aws.glue import Glue
from pysync.lab.aws.refusals import AwsRefusal
from pysync.targets.aws.clients import provide
from pysync.targets.glue import GlueSettings, GlueStore, glue_target
from pysync.targets.source_hive import Release, SourceHive
from pysync.targets.target import StoreTarget

Script = Callable[[int, str, dict[str, Any]], Exception | None]


def answered(name: str, message: str = "because", status: int = 400) -> ClientError:
    """The error that boto raises for such an answer."""
    response = {"Error": {"Code": name, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Call")


def broken_off() -> Exception:
    """The error that boto raises when the connection breaks before the answer."""
    return ConnectionClosedError(endpoint_url="http://glue")


def every(glue: Any, operation: str, member: str, **place: str) -> list[dict[str, Any]]:
    """The items of all pages of boto3's client: a Glue that tests share may have more databases than one page holds."""
    return [item for page in glue.get_paginator(operation).paginate(**place) for item in page[member]]


class Bench:
    """What a boto3 client of Glue does, but for its own checks; the rules are those of the embedded Glue.

    `before` and `after` see every call, numbered from 1 since the last `restart`, and may return an error to raise: in
    place of the call, or though it was carried out.
    """

    def __init__(self) -> None:
        self.meta = SimpleNamespace(region_name="eu-west-1")
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.before: Script = lambda *_: None
        self.after: Script = lambda *_: None
        self.closed = 0
        self._glue = _glue()

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        if method.startswith("_"):
            raise AttributeError(method)
        return lambda **arguments: self._call(method, arguments)

    def restart(self) -> None:
        """Forget the calls, and what shall go wrong."""
        self.calls.clear()
        self.before = self.after = lambda *_: None

    def close(self) -> None:
        self.closed += 1

    @property
    def methods(self) -> list[str]:
        """The calls, in order."""
        return [method for method, _ in self.calls]

    @property
    def writes(self) -> list[str]:
        """The calls that change something."""
        return [method for method in self.methods if not method.startswith(("get_", "batch_get_"))]

    def database(self) -> str:
        """A new database, which is nobody's."""
        name = f"db_{secrets.token_hex(5)}"
        self._run("create_database", {"DatabaseInput": {"Name": name}})
        return name

    def target(self, *, hive: Release | None = None, zone: str | None = None, **values: Any) -> StoreTarget:
        """A target on this bench, for views of that Hive in that time zone."""
        settings = GlueSettings(**{"name": "lake", "kind": "glue", "region": "eu-west-1", "parallel": 1, **values})
        settings.use_source_hive(SourceHive(hive, zone))
        provide(settings, glue=self)
        return glue_target(settings)

    def _call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((method, arguments))
        number = len(self.calls)
        error = self.before(number, method, arguments)
        if error is not None:
            raise error
        try:
            return self._run(method, arguments)
        finally:  # whatever the answer was
            error = self.after(number, method, arguments)
            if error is not None:
                raise error

    def _run(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        operation = re.sub(r"(?:^|_)(\w)", lambda found: found[1].upper(), method)
        try:
            answer: dict[str, Any] = self._glue.answer(operation, sent(arguments))
        except AwsRefusal as error:
            raise answered(error.code, error.message, error.status) from error
        return read(_model().operation_model(operation).output_shape, answer) if "Statistics" in operation else answer


def unasked() -> Any:
    """A client of Glue for what asks nothing: any call of it fails."""
    return SimpleNamespace(meta=SimpleNamespace(region_name="eu-west-1"))


def unasked_store() -> GlueStore:
    """A store for what it does without asking."""
    settings = GlueSettings(name="lake", kind="glue", region="eu-west-1", unreadable_locations="keep")
    provide(settings, glue=unasked())
    return GlueStore(settings)


@cache
def _glue() -> Glue:
    """One for all benches: it takes a while to read the service's model, and moto keeps one catalog anyway."""
    return Glue()


@cache
def _model() -> Any:
    return botocore.session.get_session().get_service_model("glue")


def read(shape: Any, value: Any) -> Any:
    """As boto3 gives what has travelled: times, and bytes."""
    if shape.type_name == "structure":
        return {name: read(shape.members[name], item) for name, item in value.items() if name in shape.members}
    if shape.type_name == "list":
        return [read(shape.member, item) for item in value]
    if shape.type_name == "timestamp":
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=value)
    return b64decode(value) if shape.type_name == "blob" else value


def sent(value: Any) -> Any:
    """As it travels: copied, with times as numbers, and bytes as text."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {key: sent(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [sent(item) for item in value]
    return value.timestamp() if isinstance(value, datetime) else value
