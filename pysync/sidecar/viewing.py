"""The command `views`: what becomes of the views of the source at the targets that translate them, for the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pysync.base.bounded import OpenQuestion
from pysync.metastore.reads import Reads
from pysync.metastore.source import known
from pysync.sidecar.why import EndsReader
from pysync.targets.settings import TargetSettings

_SECONDS = 8.0
_FRESH_SECONDS = 60.0
_PLACE = "the source, asked for all its views,"

Answer = Mapping[str, Any]


class ViewsOfSource:
    """Tries all views, for whoever asks, from any thread: once at a time, and again after a minute."""

    def __init__(self, ends: EndsReader, targets: Sequence[TargetSettings]) -> None:
        self._ends, self._targets = ends, targets
        self._question: OpenQuestion[Answer] | None = None
        self._lock = threading.Lock()

    def __call__(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of `pysync views --json`, and `as_of`, a time in seconds since 1970.

        Raises PysyncError if the source does not answer, and while all are still being tried.
        """
        with self._lock:
            if self._question is None or not _is_fresh(self._question):
                self._question = self._begun()
            question = self._question
        return dict(question.answer("they are still tried; ask again"))

    def _begun(self) -> OpenQuestion[Answer]:
        """Raises SourceNotSet."""
        source = known(self._ends.source)

        def job() -> Answer:
            with source() as reads:
                return self._tried(reads)

        return self._ends.questions.begin(_PLACE, job, _SECONDS)

    def _tried(self, reads: Reads) -> Answer:
        from pysync.sidecar.view_trial import try_views  # noqa: PLC0415 - it needs an extra, as these targets do

        return {**try_views(reads, self._targets), "as_of": time.time()}


def _is_fresh(question: OpenQuestion[Answer]) -> bool:
    """Whether it is still asked, or its answer is of the last minute."""
    if not question.future.done():
        return True
    if question.future.exception() is not None:
        return False
    return time.time() - float(question.future.result()["as_of"]) < _FRESH_SECONDS
