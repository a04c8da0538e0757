"""Drains of one queue to several targets of AWS, as the sidecar has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pysync.model.event import Event
from pysync.model.wire import encode_event
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.kinds import target_kind
from tests.bench.histories import History
from tests.conformance.harness import plain
from tests.support import wait_until
from tests.support.glue import every

REGION = "us-east-1"


class Drains:
    """A queue and a drain for each target that was added; a backoff is never longer than some milliseconds."""

    def __init__(self, directory: Path) -> None:
        self.queue = EventQueue(directory, min_free_bytes=0)
        self._drains: dict[str, Drain] = {}

    def add(self, kind: str, **values: Any) -> Any:
        """Begin to replay to a target; returns its settings, by which `open` opens another connection."""
        found = target_kind(kind)
        common = {"kind": kind, "region": REGION, "retry_max_seconds": 0.02, "parked_retry_seconds": 0}
        settings = found.settings.model_validate({**common, **values})
        self.queue.target(settings.name).register()
        open_target: Callable[[], Any] = lambda: found.open(settings)  # noqa: E731
        drain = Drain(Replayer(self.queue, settings, Translator.of(settings)), open_target)
        self._drains[settings.name] = drain
        drain.start()
        return settings

    def append(self, events: Sequence[Event]) -> None:
        for event in events:
            self.queue.intake.append(event.instance, event.sequence, event.source, encode_event(event))

    def status(self, name: str) -> dict[str, Any]:
        return self._drains[name].progress.status()

    def queued(self, name: str) -> int:
        return self.queue.target(name).depth().queued

    def finish(self, name: str, seconds: float = 60.0) -> None:
        wait_until(lambda: not self.queued(name), seconds=seconds, what=f"the end of the queue for {name}")

    def stop(self) -> None:
        for drain in self._drains.values():
            drain.stop()
        assert all(drain.join(60) for drain in self._drains.values())
        self.queue.close()


@contextmanager
def drains(directory: Path) -> Iterator[Drains]:
    found = Drains(directory)
    try:
        yield found
    finally:
        found.stop()


_GLUES = ("CreateTime", "UpdateTime", "CreationTime", "CatalogId", "IsRegisteredWithLakeFormation", "CreatedBy")


def catalog(glue: Any) -> dict[str, Any]:
    """Everything in a Glue by boto3's own client, without the times and the marks."""
    found: dict[str, Any] = {}
    for database in every(glue, "get_databases", "DatabaseList"):
        name = database["Name"]
        found[name] = _kept(database)
        for table in every(glue, "get_tables", "TableList", DatabaseName=name):
            partitions = every(glue, "get_partitions", "Partitions", DatabaseName=name, TableName=table["Name"])
            parts = [_kept(part) for part in partitions]
            found[f"{name}.{table['Name']}"] = (_kept(table), sorted(parts, key=lambda part: str(part["Values"])))
    return found


def _kept(item: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = plain({key: value for key, value in item.items() if key not in {*_GLUES, "VersionId"}})
    marks = {"pysync.event", "pysync.target", "transient_lastDdlTime", "last_modified_by", "last_modified_time"}
    kept["Parameters"] = {key: value for key, value in item.get("Parameters", {}).items() if key not in marks}
    return kept


def history(name: str) -> list[Event]:
    """Tables and partitions that are created, altered, renamed and dropped, some of them left."""
    made = History(name, "s3://bucket/warehouse")
    owners = [made.table(f"t{number}", 3) for number in range(4)]
    events = [made.begin(), *map(made.create, owners), *made.ingest(owners, 120)]
    return [*events, *made.churn(2, 3), *made.mixed(owners[:2], 25)]


def of(part: dict[str, Any], name: str) -> dict[str, Any]:
    """The objects of one database."""
    return {key: value for key, value in part.items() if key.split(".")[0] == name}


def renamed(value: Any, old: str, new: str) -> Any:
    """The same with another database's name in it."""
    if isinstance(value, dict):
        return {renamed(key, old, new): renamed(item, old, new) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(renamed(item, old, new) for item in value)
    return value.replace(old, new) if isinstance(value, str) else value
