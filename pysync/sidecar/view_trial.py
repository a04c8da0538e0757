"""What becomes of the views of the source at targets that translate them, found at the source alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pysync.base.errors import UsageError
from pysync.base.text import nearest
from pysync.hiveql.differences import DIFFERENCES
from pysync.hiveql.refusal import CannotTranslate
from pysync.metastore.reads import Reads
from pysync.model.definition import VIEW
from pysync.model.names import TableName
from pysync.replay.window.translate import Translator
from pysync.targets.aws import spark_sources
from pysync.targets.aws.inputs import translated
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.base import Rejected
from pysync.targets.glue.views import Views, is_of_athena
from pysync.targets.settings import TargetSettings
from pysync.targets.source_hive import RELEASES, SourceHive
from pysync.verify.findings import Selection

STATES = ("translated", "accepted", "refused", "kept")
"""What becomes of a view: translated, with accepted differences, refused; or it is Athena's as it stands."""
_PER_CALL = 100  # views that are read at once

Fields = Mapping[str, Any]


def try_views(source: Reads, targets: Sequence[TargetSettings], selection: Selection | None = None) -> dict[str, Any]:
    """Each view in scope with its fate at each target, and what one setting would change, as JSON values (docs/aws.md).

    Columns are those of the source's tables, as a target gets them. Raises PysyncError for a source that cannot be
    read, UsageError for names that are nothing's.
    """
    of_aws = (it for it in targets if isinstance(it, AwsSettings))
    trials = [_Trial(it, SourceAtTarget(source, Translator.of(it), selection)) for it in of_aws]
    _assert_known(selection, {name for it in trials for name in it.names()})
    return {"views": [row for it in trials for row in it.rows()], "targets": [it.summary() for it in trials]}


def _assert_known(selection: Selection | None, names: Collection[str]) -> None:
    """Raises UsageError for what was selected and is no view, and no database with one."""
    if unknown := selection.not_among(names) if selection is not None else ():
        near = nearest(unknown[0], names)
        raise UsageError(f"no view {unknown[0]} is in the scope of these targets", near and f"did you mean {near}?")


class SourceAtTarget:
    """Tables and views of the source, under the names and in the form that they have at one target."""

    def __init__(self, source: Reads, translator: Translator, selection: Selection | None) -> None:
        """`selection` chooses the views, by their names at the source."""
        self._source = source
        self._policy, self._mapping = translator.policy, translator.mapping
        self._selection = selection
        self._inputs: dict[TableName, Any] = {}

    def views(self) -> Iterator[tuple[TableName, Any]]:
        """The chosen views in scope: the name at the source, and what the target is given."""
        for database in sorted(filter(self._policy.takes_database, self._source.databases())):
            names = [it for it in sorted(self._source.views(database)) if self._is_chosen(TableName(database, it))]
            for start in range(0, len(names), _PER_CALL):
                tables = self._source.tables_by_name(database, names[start : start + _PER_CALL])
                for view in sorted(tables, key=lambda it: it.tableName):
                    if self._policy.rule_against_definition(view) is None:
                        name = TableName(database, view.tableName)
                        self._mapping.apply_to(view)
                        yield name, view

    def table(self, name: TableName) -> Any | None:
        """The table or view that the target will have under this name; None if there will be none."""
        if name not in self._inputs:
            self._inputs[name] = self._read(name)
        return self._inputs[name]

    def _is_chosen(self, name: TableName) -> bool:
        is_selected = self._selection is None or self._selection.has_table(name)
        return is_selected and self._policy.takes_table(name)

    def _read(self, name: TableName) -> Any | None:
        for old in filter(self._policy.takes_table, self._mapping.sources_of(name)):
            table = self._source.table(old.database, old.table)
            if table is not None and self._policy.rule_against_definition(table) is None:
                self._mapping.apply_to(table)
                return table
        return None


class _Catalog:
    """The Data Catalog as pysync will write it, if it translates views for this version and these differences."""

    def __init__(self, source: SourceAtTarget, hive: SourceHive, accepted: Collection[str]) -> None:
        self._source = source
        self._views = Views("best-effort", hive, self._fields, lambda _: nullcontext(), accepted)
        self._made: dict[TableName, Fields | None] = {}

    def differences(self, view: Any) -> tuple[Collection[str], Collection[str]]:
        """The differences that the translation of a view has, and those without which it fails at some values.

        Raises CannotTranslate.
        """
        translation = self._views.translated(view)[1]
        return translation.differences, translation.failing

    def _fields(self, name: TableName) -> Fields | None:
        if name not in self._made:
            self._made[name] = None  # as long as it is made: nothing reads itself
            self._made[name] = self._input(self._source.table(name))
        return self._made[name]

    def _input(self, item: Any | None) -> Fields | None:
        try:
            return None if item is None else translated(spark_sources.as_read(self._views.as_stored(item)[0])[0])[0]
        except Rejected:  # it would be parked
            return None


@dataclass(frozen=True)
class _Tried:
    """A view, by its names at the source and at the target, and what became of it."""

    source: TableName
    view: Any
    state: str
    differences: Collection[str] = ()
    failing: Collection[str] = ()
    """The differences without which Athena fails at some values of it."""
    refusal: CannotTranslate | None = None

    @property
    def object(self) -> str:
        return f"{self.view.dbName}.{self.view.tableName}"


@dataclass(frozen=True)
class _Trial:
    """All views at one target."""

    settings: AwsSettings
    source: SourceAtTarget

    def names(self) -> Iterator[str]:
        """Those at the source."""
        return (str(it.source) for it in self._tried)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A view each."""
        for it in self._tried:
            yield {
                "target": self.settings.name,
                "view": str(it.source),
                "object": it.object,
                "state": it.state,
                "differences": sorted(it.differences),
                "fails_without": sorted(it.failing),
                "reason": str(it.refusal) if it.refusal else None,
                "difference": (it.refusal and it.refusal.difference) or None,
                "helps": helps(it.refusal) if it.refusal else _accepting(sorted(it.failing)) if it.failing else None,
            }

    def summary(self) -> dict[str, Any]:
        """How many there are in each state, and how many more would be translated with one setting more."""
        counts = Counter(it.state for it in self._tried)
        return {
            "target": self.settings.name,
            "views": len(self._tried),
            **{state: counts[state] for state in STATES},
            "failing": sum(bool(it.failing) for it in self._tried),
            "settings": [{"setting": name, "views": count} for name, count in self._gains.most_common()],
        }

    @cached_property
    def _tried(self) -> list[_Tried]:
        catalog = _Catalog(self.source, self.settings.source_hive, self.settings.views_accept)
        return [_tried(catalog, name, view) for name, view in self.source.views()]

    @property
    def _gains(self) -> Counter[str]:
        """How many of the refused views are translated with one more setting."""
        refused = [it for it in self._tried if it.refusal is not None]
        changes = self._changes([it.refusal for it in refused if it.refusal is not None])
        gains = {setting: _gain(_Catalog(self.source, hive, accepted), refused) for setting, hive, accepted in changes}
        return Counter({setting: gain for setting, gain in gains.items() if gain})

    def _changes(self, refusals: Sequence[CannotTranslate]) -> Iterator[tuple[str, SourceHive, Collection[str]]]:
        """One setting more for which a refusal asks, as it stands in pysync.toml, and what holds with it."""
        hive, accepted = self.settings.source_hive, self.settings.views_accept
        needs, differences = {it.needs for it in refusals}, {it.difference for it in refusals}
        if "hive_version" in needs:
            yield from ((f'[source] hive_version = "{it}"', replace(hive, version=it), accepted) for it in RELEASES)
        if "hive_time_zone" in needs:
            yield "[source] hive_time_zone", replace(hive, time_zone="UTC"), accepted
        for it in (it for it in DIFFERENCES if it in differences):
            more = (*accepted, it)
            yield f"views_accept = [{', '.join(map(_quoted, more))}]", hive, more


def _tried(catalog: _Catalog, name: TableName, view: Any) -> _Tried:
    if view.tableType != VIEW or is_of_athena(view):
        return _Tried(name, view, "kept")
    try:
        differences, failing = catalog.differences(view)
    except CannotTranslate as refusal:
        return _Tried(name, view, "refused", refusal=refusal)
    return _Tried(name, view, "accepted" if differences else "translated", differences, failing)


def _gain(catalog: _Catalog, refused: Sequence[_Tried]) -> int:
    return sum(_tried(catalog, it.source, it.view).state != "refused" for it in refused)


def _quoted(text: str) -> str:
    return f'"{text}"'


def helps(refusal: CannotTranslate) -> str:
    """What a person can do about a refused view."""
    if refusal.needs:
        return f"set [source] {refusal.needs}"
    if refusal.difference:
        return f"{_accepting([refusal.difference])}: {DIFFERENCES[refusal.difference]}"
    return "change the view at the source"


def _accepting(ids: Sequence[str]) -> str:
    return f"accept {', '.join(map(_quoted, ids))} in views_accept"
