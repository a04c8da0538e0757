"""The parts that hang on the core, for users who configure them: copies with Spark, receivers of messages, the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pysync.base.health import problems
from pysync.base.jars import copy_jar
from pysync.base.token import read_token
from pysync.config import Config, Partial
from pysync.copy.copies import Copies
from pysync.journal import Journal, Reader
from pysync.notify import Notifier, ReceiverNotes
from pysync.queue import EventQueue
from pysync.sections import NotifyConfig, WebConfig
from pysync.sidecar.optional import OptionalParts, Status
from pysync.targets.spark.session import assert_spark
from pysync.web.server import WebServer, assert_installed, assert_usable


def _needs(config: Config | Partial) -> dict[str, Callable[[], str]]:
    checks: dict[str, Callable[[], str]] = {}
    if config.web and config.web.port is not None:
        checks["web server"] = partial(_web, config.web)
    for it in config.notify:
        checks[f"secret of receiver {it.name}"] = partial(_secret, it)
    if any(target.spark_request() for target in config.targets):
        copies = any(target.copy_files for target in config.targets)
        checks["Spark"] = lambda: _spark(copies=copies)
    return checks


def _web(settings: WebConfig) -> str:
    assert_installed()
    assert_usable(settings)
    return f"installed; users: {settings.password_file}" if settings.password_file else "installed; reads only"


def _secret(settings: NotifyConfig) -> str:
    read_token(settings.secret_file)
    return str(settings.secret_file)


def _spark(*, copies: bool) -> str:
    """Whether Spark is installed. Whether its settings are right shows when it starts, which takes long."""
    assert_spark()
    return f"installed; {copy_jar()}" if copies else "installed"


def _receivers(config: Config, queue: EventQueue, journal: Journal, status: Status) -> Sequence[Notifier]:
    notes = ReceiverNotes(queue, [it.name for it in config.notify])
    return [
        Notifier(
            it,
            config.source.name,
            notes,
            Reader(journal.file),
            lambda: problems(status(), config.status_grace),
            grace=config.status_grace,
            newest=lambda: journal.last,
            dropped=lambda: int(journal.status()["dropped"]),
        )
        for it in config.notify
    ]


ALL_PARTS = OptionalParts(needs=_needs, copies=Copies, receivers=_receivers, page=WebServer)
