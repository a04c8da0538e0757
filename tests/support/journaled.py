"""A drain with a journal, and what a sidecar answers beside it to those who ask for objects."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pysync.journal import Journal, Reader
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.sidecar.why import EndsReader, Inventory, Why
from tests.support.drains import Bench
from tests.support.refreshing import Hms, Target


class Place:
    """A drain with a journal, whose source has `shop` and whose target calls it `dr_shop`."""

    def __init__(self, directory: Path, **values: Any) -> None:
        self.bench = Bench(directory, databases={"shop": "dr_shop"}, **values)
        self.journal = Journal(directory / "journal.db", keep=1e12, max_bytes=10**9)
        self.listeners: list[dict[str, Any]] = []
        self.reader = Reader(self.journal.file)
        self.source: Hms | None = None
        self.target = Target()
        self.seconds = 30.0  # for an answer of source or target
        self.verified: dict[str, Any] = {"target": "dr"}
        bench = self.bench
        replayer = Replayer(bench.queue, bench.settings, Translator.of(bench.settings), record=self.journal.append)
        bench.drain = Drain(replayer, bench.open_target)
        bench.drain.start()

    def replay(self, *makers: Any) -> None:
        self.bench.append(*makers)
        self.bench.finish()

    @property
    def drain(self) -> Drain:
        """The drain of `dr`."""
        assert self.bench.drain is not None
        return self.bench.drain

    def tables(self, **request: Any) -> dict[str, Any]:
        """An answer of `tables`; `verified` is what the last comparison found."""
        self.journal.write()
        inventory = Inventory(
            self.bench.queue,
            {"dr": self.drain},
            self.reader,
            {"dr": lambda: self.verified},
            lambda: self.listeners,
            self._ends(),
        )
        return inventory(request)

    def why(self, name: str, **request: Any) -> dict[str, Any]:
        self.journal.write()
        asked = Why(self.bench.queue, {"dr": self.drain}, self.reader, lambda: self.listeners, self._ends())
        return asked({"table": name, **request})

    def _ends(self) -> EndsReader:
        source = (lambda: nullcontext(self.source)) if self.source else None
        return EndsReader(source, lambda _: self.target, seconds=self.seconds)

    def verdict(self, name: str) -> tuple[str, str]:
        (target,) = self.why(name)["targets"]
        return target["reasons"][0]["code"], target["verdict"]

    def close(self) -> None:
        self.bench.close()
        self.journal.close()
