"""The whole of pysync.toml, checked: an unknown key is an error that names it, and all errors come at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from pydantic import Field, SerializeAsAny

from pysync.base.errors import UsageError
from pysync.base.toml_file import M, checked, read_text, refusal, tables_in
from pysync.capture.hive_version import stored_version
from pysync.metastore.access import MetastoreAccess
from pysync.model.names import TableName
from pysync.replay.window.translate import Translator
from pysync.sections import BridgeConfig, NotifyConfig, QueueConfig, Sections, SourceConfig, WebConfig, taken_targets
from pysync.targets.kinds import target_kind
from pysync.targets.settings import PolicySettings, TargetSettings
from pysync.targets.source_hive import SourceHive
from pysync.targets.spark_request import SparkConfig

_ANY = "any_name"  # stands for whatever a pattern matches


class Config(Sections):
    """The whole configuration."""

    targets: tuple[SerializeAsAny[TargetSettings], ...] = Field(min_length=1, description="Targets.")

    @property
    def listens(self) -> bool:
        """Whether changes come from a listener."""
        return self.source.capture == "listener"

    @property
    def catalogs(self) -> tuple[str, ...]:
        """The catalogs of the source beside `hive` that any target takes."""
        return tuple(sorted({name for target in self.targets for name in Translator.of(target).policy.catalogs}))

    def source_access(self) -> MetastoreAccess | None:
        """How to reach the source with these catalogs, for all connections to share; None if it is not known."""
        return self.source.access(self.catalogs)


@dataclass(frozen=True, slots=True)
class Partial:
    """What can be read of a pysync.toml that may have problems: a section that has one is None."""

    source: SourceConfig | None
    bridge: BridgeConfig | None
    queue: QueueConfig | None
    web: WebConfig | None
    notify: tuple[NotifyConfig, ...]
    listens: bool  # for a listener, as far as that is known
    status_grace: int
    targets: tuple[TargetSettings, ...]
    unread: tuple[str, ...]  # the names of the other targets
    problems: tuple[str, ...]  # with their places in the file


def load_config(path: Path, *, live_source: bool = True) -> Config:
    """The configuration in a TOML file. Where the source is a dump (not `live_source`), its address may be missing.

    Raises UsageError with every problem, one a line, each with the key that it is about.
    """
    return read_config(read_text(path), path, live_source=live_source)


def read_config(text: str, path: Path, *, live_source: bool = True) -> Config:
    """As `load_config`, of a text that is or shall be in the file at `path`."""
    tables = tables_in(text, path)
    problems: list[str] = []
    listed = taken_targets(tables, problems)
    sections = checked(Sections, tables, "", problems)
    targets = tuple(target for target in _targets(listed, sections, problems, live_source=live_source) if target)
    if problems or sections is None:
        raise refusal(path, text, problems)
    return Config.model_construct(**dict(sections), targets=targets)


def load_partial(path: Path) -> Partial:
    """As `load_config`, of a file with problems whatever has none. Raises UsageError if it is no TOML file."""
    text = read_text(path)
    tables = tables_in(text, path)
    problems: list[str] = []
    listed = taken_targets(tables, problems)
    sections = checked(Sections, tables, "", problems)
    targets = _targets(listed, sections, problems, live_source=True)
    source = _section(SourceConfig, tables, "source")
    return Partial(
        source=source,
        bridge=_section(BridgeConfig, tables, "bridge"),
        queue=_section(QueueConfig, tables, "queue"),
        web=_section(WebConfig, tables, "web"),
        notify=sections.notify if sections else (),
        listens=_table(tables.get("source")).get("capture") != "notification-log",
        status_grace=sections.status_grace if sections else Sections.model_fields["status_grace"].default,
        targets=tuple(target for target in targets if target),
        unread=tuple(_name_of(table, at) for at, table in enumerate(listed) if not targets[at]),
        problems=tuple(str(refusal(path, text, problems)).splitlines()),
    )


def _section(model: type[M], tables: Mapping[str, Any], name: str) -> M | None:
    return checked(model, tables.get(name, {}), name, [])


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _name_of(table: Any, at: int) -> str:
    name = _table(table).get("name")
    return name if isinstance(name, str) else f"number {at + 1}"


def _targets(
    listed: list[Any], sections: Sections | None, problems: list[str], *, live_source: bool
) -> list[TargetSettings | None]:
    """The targets, None for one that cannot be read; all that is wrong with them, each and together, is a problem."""
    checked_targets = [_target(table, f"targets[{at}]", problems) for at, table in enumerate(listed)]
    targets = tuple(target for target in checked_targets if target)
    hive = _source_hive(sections)
    for it in targets:
        it.use_spark(sections.spark if sections else SparkConfig())
        it.use_source_hive(hive)
    for at, target in enumerate(checked_targets):
        problems += _untranslatable(target, f"targets[{at}]") if target else []
    # From the raw tables: a name that is given twice is reported even where such a target has another fault.
    problems += _twins([table["name"] for table in listed if isinstance(table, dict) and "name" in table])
    problems += _unknown_to(sections, [table.get("name") for table in listed if isinstance(table, dict)])
    problems += _echoes(sections, targets)
    problems += _one_sided(sections, targets, live_source=live_source)
    problems += _uncopied(sections, targets, live_source=live_source)
    # What cannot be read has no names.
    problems += [] if problems else _meeting(targets)
    return checked_targets


def _source_hive(sections: Sections | None) -> SourceHive:
    """The Hive whose views these are; its version is looked for once, and not before it is asked for."""
    if sections is None:
        return SourceHive()
    source = sections.source
    return source.hive(cache(partial(stored_version, sections.queue.directory, source.name)))


def _target(table: Any, where: str, problems: list[str]) -> TargetSettings | None:
    """The settings of one target, by the model that its kind brings."""
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
        problems.append(f"{where}.kind: missing")
        return None
    try:
        model = target_kind(table["kind"]).settings
    except UsageError as error:
        problems.append(f"{where}.kind: {error}")
        return None
    return checked(model, table, where, problems)


def _untranslatable(target: TargetSettings, where: str) -> list[str]:
    """Patterns and renames that cannot be read: the first of each key."""
    problems = []
    each: list[tuple[str, PolicySettings]] = [(where, target)]
    each += [(f"{where}.policies[{at}]", policy) for at, policy in enumerate(target.policies)]
    for place, settings in each:
        for key in ("policy", "include", "exclude", "where", "databases", "tables"):
            # One key at a time: the translator's refusal does not say which key it is about.
            alone = {"name": target.name, "kind": target.kind, key: getattr(settings, key)}
            try:
                Translator.of(TargetSettings(**alone))
            except UsageError as error:
                problems.append(f"{place}.{key}: target {target.name!r}: {error}")
    return problems


def _unknown_to(sections: Sections | None, names: list[Any]) -> list[str]:
    """Receivers that share a name, or want notifications of a target that is not there."""
    receivers = sections.notify if sections else ()
    given = [it.name for it in receivers]
    twins = sorted({name for name in given if given.count(name) > 1})
    return [
        *(f"notify: two receivers have the name {name!r}; every receiver needs its own name" for name in twins),
        *(
            f"notify[{at}].targets: there is no target {name!r}"
            for at, it in enumerate(receivers)
            for name in it.targets
            if name not in names
        ),
    ]


def _echoes(sections: Sections | None, targets: tuple[TargetSettings, ...]) -> list[str]:
    """Targets that take the source for themselves: every change has been there, so they would get nothing."""
    source = sections.source.name if sections else ""
    return [
        f"targets: {target.name!r} has the name of the source as its cluster (or name), so it would get no changes"
        for target in targets
        if (target.cluster or target.name) == source
    ]


def _one_sided(sections: Sections | None, targets: tuple[TargetSettings, ...], *, live_source: bool) -> list[str]:
    """Why targets with both_ways could not tell whose change it is, or could not read what a conflict has left."""
    clusters = [target.cluster or target.name for target in targets if target.both_ways]
    problems = [
        f"targets: two targets with both_ways have the cluster {name!r}; set cluster to each target's own source name"
        for name in sorted({name for name in clusters if clusters.count(name) > 1})
    ]
    if not (live_source and clusters and sections):
        return problems
    if sections.source.metastore is None:
        problems.append("source.metastore: missing; targets with both_ways read the result of conflicts there")
    if sections.source.capture == "notification-log":
        problems.append(
            'source.capture: both_ways needs capture = "listener"; the notification log does not tell who made a change'
        )
    return problems


def _uncopied(sections: Sections | None, targets: tuple[TargetSettings, ...], *, live_source: bool) -> list[str]:
    """What keeps files from being copied: events of inserts say too little, and one Spark has one catalog."""
    copying = [target for target in targets if target.copy_files is not None]
    problems = []
    if len({request.settings for it in targets if (request := it.spark_request()) and request.catalog}) > 1:
        problems.append("targets.metastore: this must be the same for all targets of kind spark")
    if live_source and copying and sections is not None and sections.source.metastore is None:
        problems.append(
            "source.metastore: missing; targets with copy read there which table or partition an insert changed"
        )
    return problems


def _meeting(targets: Sequence[TargetSettings]) -> list[str]:
    """Targets in one place that would both write one name there.

    Only names that are certain to meet are found: those of `include` and of renames, and one of no entry's. What else
    meets is refused when it is written, by its mark.
    """
    active = [it for it in targets if it.place() is not None and it.enabled and it.mode != "shadow"]
    problems = []
    for one, other in combinations(active, 2):
        if one.place() != other.place():
            continue
        samples = _names_in(one) | _names_in(other)
        both = _names_at(one, samples) & _names_at(other, samples)
        if both:
            problems.append(
                f"targets: {one.name!r} and {other.name!r} write to the same place, and both would write {min(both)} "
                "there; give it another name at one of them (databases, tables), or exclude it from one"
            )
    return problems


def _names_in(target: TargetSettings) -> set[TableName]:
    """A table of the source for each name in a target's `include`, `databases` and `tables`, and one of none.

    New names of renames count, too: the source may have such a table, and another target may take it.
    """
    names = {TableName(_ANY, _ANY)}
    for _, policy in target.each_policy():
        renames = [*policy.databases.items(), *policy.tables.items()]
        for entry in (*policy.include, *chain.from_iterable(renames)):
            database, _, table = re.sub(r"[*?]", _ANY, entry).partition(".")
            names.add(TableName.of(database, table or _ANY))
    return names


def _names_at(target: TargetSettings, samples: Collection[TableName]) -> set[str]:
    """The names at the target of those tables that are in its scope."""
    translator = Translator.of(target)
    return {str(translator.mapping.table(it)) for it in samples if translator.policy.takes_table(it)}


def _twins(names: list[Any]) -> list[str]:
    twins = sorted({name for name in names if isinstance(name, str) and names.count(name) > 1})
    return [f"targets: two targets have the name {name!r}; every target needs its own name" for name in twins]
