"""One look at a target: its objects against the source's, and if wanted the data files that they point to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysync.config import Config
from pysync.jobs.copying import CopyRequest, copy_now, survey_now
from pysync.model.names import TableName
from pysync.sidecar.verifying import comparison
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import DIFFERENT, EQUAL, ComparedObject, OnProgress, Selection
from pysync.verify.files import KIND, compared_files

_THERE = frozenset({EQUAL, DIFFERENT})


@dataclass(frozen=True, slots=True)
class Verification:
    """A comparison that can be run again; with `data` of the files, too, where the target has them copied."""

    config: Config
    settings: TargetSettings
    data: bool = False

    def run(self, selection: Selection | None, on_progress: OnProgress) -> Iterator[ComparedObject]:
        """Everything, or what is selected: objects first, then the files of the tables among them.

        Raises what Comparison.run and `survey_now` raise.
        """
        drift = []
        for item in comparison(self.config, self.settings).run(selection, on_progress):
            drift.append(item)
            yield item
        if self.data:
            yield from self._files([it for it in drift if it.kind == "table" and it.result in _THERE], on_progress)

    def for_sidecar(self, drift: Sequence[ComparedObject]) -> list[ComparedObject]:
        """The drift that the sidecar mends: not that of files, but for those that only it can write."""
        tables = [replace(it, kind="table") for it in drift if it.kind == KIND] if self._is_for_sidecar else []
        return [*(it for it in drift if it.kind != KIND), *tables]

    def copy_files(self, drift: Sequence[ComparedObject], on_progress: OnProgress) -> None:
        """Copy what is missing or differs, and remove what is extra where drops are applied. Raises as `copy_now`."""
        tables = [TableName.parse(it.source) for it in drift if it.kind == KIND]
        if tables and not self._is_for_sidecar:
            wanted = CopyRequest(tables, delete=True)

            def copied(tally: dict[str, Any]) -> None:
                on_progress("copies", tally["files"], tally["files"] + tally["files_left"])

            copy_now(self.config, self.settings.name, wanted, copied)

    @property
    def _is_for_sidecar(self) -> bool:
        """Whether files are written into new versions, or are re-encoded."""
        how = self.settings.copy_files
        return how is not None and (how.layout == "versioned" or how.rewrite is not None)

    def _files(self, tables: Sequence[ComparedObject], on_progress: OnProgress) -> Iterator[ComparedObject]:
        names = {it.source: it.name for it in tables}
        wanted = [TableName.parse(it) for it in names]
        surveyed = survey_now(self.config, self.settings.name, wanted, lambda _: None)
        for done, item in enumerate(compared_files(surveyed, names)):
            on_progress(f"files of {item.name}", done, len(wanted))
            yield item
