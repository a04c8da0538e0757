"""The resyncs of a target, whose turns a test takes, on a clock that it sets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from types import MappingProxyType
from typing import Any

from pysync.base.errors import PysyncError
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from pysync.replay.source_reads import SourceReads
from pysync.replay.window.translate import Translator
from pysync.resync.refreshes import Refreshes
from pysync.resync.rescoping import compare_scope
from pysync.resync.triggers import Resyncs
from pysync.targets.glue.settings import GlueSettings
from tests.support.refreshing import Hms

TARGET = "lake"
NOON = datetime(2026, 4, 1, 12).timestamp()


def source_with_views() -> Hms:
    """The tables `sales.orders` and `web.visits`, and views of them."""
    source = Hms("sales.orders", "web.visits")
    add_view(source, "sales.recent", "select `id` from `sales`.`orders`")
    add_view(source, "web.both", "select 1 from web.visits, Sales.Orders")
    add_view(source, "web.only", "select 1 from visits")
    return source


def add_view(source: Hms, name: str, text: str) -> None:
    """Add a view to the tables of the source."""
    made = source.add(name)
    made.tableType, made.viewExpandedText = "VIRTUAL_VIEW", text


class Bench:
    """A process that resyncs one target of a queue. Unless it `pauses`, the target is done at once with what comes."""

    def __init__(
        self,
        queue: EventQueue,
        source: Hms | None,
        now: float = 5000.0,
        surroundings: Mapping[str, bool] = MappingProxyType({}),
        **values: Any,
    ) -> None:
        self.queue, self.source, self.now, self.pauses = queue, source, now, False
        self.drain = NoDrain()
        queue.target(TARGET).register()
        self.settings = settings = GlueSettings(name=TARGET, kind="glue", region="eu-west-1", **values)
        compare_scope(queue, settings)
        self.resyncs = Resyncs.of(
            queue,
            Refreshes(queue, "demo"),
            settings,
            Translator.of(settings),
            source=self._opened if source is not None else None,
            drain=lambda: self.drain,
            listens=lambda: surroundings.get("listens", True),
            settled=lambda: surroundings.get("settled", True),
            relays=surroundings.get("relays", False),
            tables_per_second=1e9,
            clock=lambda: self.now,
            timer=lambda: self.now,
        )
        self.job = self.resyncs.job
        self.job._feed._most_ahead = 10_000  # nobody moves the target while the job waits for it

    def turn(self, after: float = 0.0) -> list[str]:
        """What the job has asked for since the last look, `after` seconds later: `db.t`, `db`, or `*` for all names."""
        self.now += after
        try:
            self.job.turn()
        finally:
            found = self.asked()
        return found

    def asked(self) -> list[str]:
        """What waits for the target, which is done with it unless it pauses."""
        waiting = [decode_event(it.data) for it in self.queue.target(TARGET).window(100_000, 10**9)]
        asked = [it.attributes for it in waiting if it.kind is Kind.REFRESH]
        assert all(it["targets"] == TARGET for it in asked)
        if not self.pauses:
            self.queue.target(TARGET).advance(self.queue.last)
        return [_named(it) for it in asked]

    def redefine(self, *names: TableName) -> None:
        """Write tables at the target so that views may have to be translated again."""
        with self.resyncs.views.redefining(names):
            pass

    def row(self, trigger: str) -> dict[str, Any]:
        """What the status says of a trigger's last resync."""
        return next(it for it in self.job.status() if it["trigger"] == trigger)

    def _opened(self) -> AbstractContextManager[Hms]:
        assert self.source is not None
        return self.source


class NoDrain:
    """What a resync that is no bootstrap asks of a drain."""

    def __init__(self) -> None:
        self.reads = SourceReads()


def _named(names: dict[str, str]) -> str:
    return f"{names['database']}.{names['table']}" if "table" in names else names.get("database", "*")


class Away(Hms):
    """A source that cannot be read."""

    def databases(self) -> list[str]:
        raise PysyncError("the source is away")
