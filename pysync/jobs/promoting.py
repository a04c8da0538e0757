"""Promote: a target takes the place of its source. Marks and configuration change sides (docs/operating.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError, UsageError
from pysync.base.health import decide, hold
from pysync.base.text import count, meant, quoted
from pysync.base.toml_file import read_text, tables_in
from pysync.config import Config, load_config
from pysync.config_file.reversal import reversed_configuration
from pysync.config_file.targets import Setting, altered, enabled
from pysync.control.client import ask
from pysync.jobs.configuration import reconfigure
from pysync.metastore.source import known
from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.names import TableName
from pysync.sidecar.verifying import comparison
from pysync.targets.base import Rejected
from pysync.targets.hms import HmsSettings, HmsStore, hms_store
from pysync.verify.compare import ComparedObject
from pysync.verify.rules import Rules

OnProgress = Callable[[str, int, int], None]
"""Gets what is worked on, how many are done, and of how many."""

_READ_TOGETHER = 100
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Promotion:
    """The way from a source to one of its targets, and `reversed_text`, the configuration of the way back.

    `rules` say what the target holds of the source, and under which names.
    """

    config: Config
    file: Path
    settings: HmsSettings
    rules: Rules
    reversed_text: str

    @classmethod
    def of(cls, file: Path, target: str) -> Promotion:
        """Of the target in that pysync.toml. Raises UsageError for one that cannot be promoted, with the reason."""
        config = load_config(file)
        settings = next((it for it in config.targets if it.name == target), None)
        if settings is None:
            names = [it.name for it in config.targets]
            raise UsageError(f"{file} has no target {quoted(target)}", meant(target, names, "its targets"))
        if not isinstance(settings, HmsSettings):
            raise UsageError(f"target {target} is of kind {settings.kind}: only a metastore can be a source")
        if settings.both_ways:
            raise UsageError(f"target {target} has both_ways: both ends are sources already")
        if settings.mode == "shadow":
            raise UsageError(f'target {target} has mode = "shadow": it has nothing of the source')
        known(config.source.metastore)
        tables = tables_in(read_text(file), file)
        table = next(it for it in tables["targets"] if it["name"] == target)
        rules = Rules.of(settings, config.source.name)
        return cls(config, file, settings, rules, reversed_configuration(tables["source"], table))

    # --- the steps, each of which may be repeated

    def drain(self, timeout: float, on_progress: OnProgress) -> None:
        """Wait until the target has all that has left the listeners; nothing to do for a target that is disabled.

        Raises PysyncError where no sidecar runs, where drops are held or events are parked, and when the time (s) is
        over.
        """
        if not self.settings.enabled:
            return
        until = time.monotonic() + timeout
        while (waiting := self._waiting()) > 0:
            on_progress("events that wait for the target", 0, waiting)
            if time.monotonic() >= until:
                raise PysyncError(
                    f"{count(waiting, 'event')} not at target {self.settings.name} yet",
                    "stop all changes at the source, then try again, with a longer --timeout if needed",
                )
            time.sleep(_POLL_SECONDS)

    def differences(self, on_progress: OnProgress) -> list[ComparedObject]:
        """What differs between source and target, and must not, as they are now."""
        return [it for it in comparison(self.config, self.settings).run(None, on_progress) if it.drift]

    def stop_replication(self) -> None:
        """Disable the target, in the file and in the running sidecar."""
        self._reconfigure(altered(self.settings.name, [Setting(("enabled",), False)]), "disabled: it is promoted")

    def resume_replication(self) -> None:
        """Enable the target again."""
        self._reconfigure(enabled(self.settings.name), "enabled: it was not promoted")

    def hand_over(self, on_progress: OnProgress, *, dry_run: bool = False) -> HandedOver:
        """Mark the source's objects as those of the target, and remove the marks from the target's; or only count them.

        Idempotent: a run that was killed is completed by the next. The source's object is marked first, so an object
        that has a mark at the target is not done yet. An object that a metastore refuses to change is named, and the
        others go on.
        """
        counts = dict.fromkeys(("databases", "tables", "only_at_target", "of_others"), 0)
        refused = list[str]()
        with closing(hms_store(self.settings)) as target, closing(hms_store(self._source_settings())) as source:
            databases = target.databases()
            for done, database in enumerate(databases):
                on_progress(database, done, len(databases))
                for pair in self._replicas(target, source, database):
                    try:
                        if not dry_run:
                            self._hand_over(target, source, pair)
                        counts[pair.kind] += 1
                    except Rejected as error:
                        refused.append(f"{pair.name}: {error}")
        return HandedOver(**counts, refused=tuple(refused))

    # --- within

    def _waiting(self) -> int:
        """How many events have not reached the target, as far as the sidecar knows."""
        status = ask(self.config.queue.directory, "status")
        it = next(it for it in status["targets"] if it["name"] == self.settings.name)
        if text := hold(it):
            raise PysyncError(text, decide(self.settings.name))
        if it["parked"]:
            raise PysyncError(
                f"target {self.settings.name} has {count(it['parked'], 'parked event')}",
                f"pysync parked list {self.settings.name}",
            )
        return int(it["queued"]) + sum(int(listener["waiting_events"] or 0) for listener in status["listeners"])

    def _reconfigure(self, change: Callable[[str], str], why: str) -> None:
        name = self.settings.name
        reconfigure(self.file, change, why=f"target {name} {why}", on_progress=lambda _: None)

    def _source_settings(self) -> HmsSettings:
        """The source as a place to write to."""
        fields = self.config.source.model_dump(include={"name", "metastore", "tls", "kerberos", "login"})
        return HmsSettings.model_validate({"kind": "hms", "catalogs": self.config.catalogs, **fields})

    @property
    def _cluster(self) -> str:
        return self.settings.cluster or self.settings.name

    def _replicas(self, target: HmsStore, source: HmsStore, database: str) -> Iterator[_Pair]:
        """The database at the target and its tables, as far as they are the target's own, each with its original."""
        place = target.database(database)
        if (mark := self._mark(place, database)) is not None:
            yield self._pair(place, source.database(mark.object), database)
        names = target.table_names(database)
        for at in range(0, len(names), _READ_TOGETHER):
            for table in target.hms.tables_by_name(database, names[at : at + _READ_TOGETHER]):
                name = f"{database}.{table.tableName}"
                if (mark := self._mark(table, name)) is None:
                    continue
                original = source.table(TableName.parse(mark.object))
                if original is None or self.rules.policy.rule_against_definition(original) is None:
                    yield self._pair(table, original, name)

    def _mark(self, replica: Any | None, name: str) -> Mark | None:
        """The mark by which an object at the target is the target's own; None for all others.

        Others are objects of other sources and of other targets, and what was left there: by a target that is removed,
        or by this one, before the object left its scope or got another name. A mark may have a former name of this
        target, so that nobody knows of a name that is no target's whose it was.
        """
        mark = Mark.read(replica.parameters) if replica is not None else None
        if mark is None or mark.source != self.config.source.name or ("." in mark.object) != ("." in name):
            return None
        others = {it.name for it in self.config.targets} - {self.settings.name}
        return mark if mark.target not in others and self._holds(mark.object, name) else None

    def _holds(self, source: str, name: str) -> bool:
        """Whether the target is to hold this object of the source, and under this name."""
        is_in_scope = source and self.rules.policy.takes(TableName.parse(source) if "." in source else source)
        return bool(is_in_scope) and self.rules.mapping.key(source) == name

    def _pair(self, replica: Any, original: Any | None, name: str) -> _Pair:
        mark = Mark.read(original.parameters) if original is not None else None
        if mark is not None and mark.source != self._cluster:
            return _Pair("of_others", replica, None, name)
        if original is None:
            return _Pair("only_at_target", replica, None, name)
        return _Pair("tables" if "." in name else "databases", replica, original, name)

    def _hand_over(self, target: HmsStore, source: HmsStore, pair: _Pair) -> None:
        if pair.kind == "of_others":
            return
        if pair.original is not None:
            mark = Mark(
                self._cluster,
                epoch=0,
                position=0,
                created=getattr(pair.replica, "createTime", None) or 0,  # a database has one in Hive 4 alone
                object=pair.name,
                target=self.config.source.name,
            )
            _write_parameters(source, pair.original, mark.on(pair.original.parameters))
        parameters = {key: value for key, value in pair.replica.parameters.items() if key not in MARK_KEYS}
        _write_parameters(target, pair.replica, parameters)


@dataclass(frozen=True, slots=True)
class HandedOver:
    """How many databases and tables changed sides; how many are at the target alone, and lost their mark; how many
    were left as they are, because at the source they are replicas of a third cluster's. `refused` names the objects
    that a metastore did not let change, each with the reason.
    """

    databases: int = 0
    tables: int = 0
    only_at_target: int = 0
    of_others: int = 0
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pair:
    """An object at the target and its original; `kind` is the field of HandedOver that counts it."""

    kind: str
    replica: Any
    original: Any | None
    name: str


def _write_parameters(store: HmsStore, existing: Any, parameters: Mapping[str, str]) -> None:
    if existing.parameters == parameters:
        return
    wanted = deepcopy(existing)
    wanted.parameters = dict(parameters)
    with store.classified("cannot change the marks"):
        if hasattr(existing, "tableName"):
            store.write_table(wanted, existing)
        else:
            store.alter_database(wanted, existing)
