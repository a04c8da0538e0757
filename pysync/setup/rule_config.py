"""A pysync.toml from rules of SSM with the action hms-sync, and what becomes different."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pysync.base.text import toml_string
from pysync.metastore.addresses import parse_addresses
from pysync.setup.rule import ACTION, Rule, parse_rules
from pysync.setup.rule_text import Text

_NO_LABEL = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Imported:
    """The text of a pysync.toml, and the warnings in it: what was not taken over."""

    text: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Target:
    """A target, the rules that it comes from, and what it takes."""

    name: str
    rule: Rule
    include: tuple[str, ...]
    texts: tuple[str, ...] = field(default=())


def import_rules(text: Text, source: str) -> Imported:
    """A pysync.toml that does what the rules did, headed by what is different.

    Rules that differ only in the names they take become one target. Raises UsageError if a rule cannot be read.
    """
    rules = parse_rules(text)
    targets = _targets(rules)
    warnings = tuple(_warnings(rules))
    head = [f"# From rules of SSM's {ACTION} by `pysync import-rule`. Differences:", "#"]
    notes = [f"# - {line}" for line in (*(f"WARNING: {it}" for it in warnings), *_notes(rules))]
    lines = [*head, *notes, "", "[source]", f"name = {toml_string(source)}"]
    for target in targets:
        lines += ["", *_section(target)]
    return Imported("\n".join([*lines, ""]), warnings)


def _targets(rules: Iterable[Rule]) -> list[_Target]:
    targets: dict[object, _Target] = {}
    for number, rule in enumerate(rules):
        # An exclude is for the names of its own rule only.
        key = number if rule.exclude else (rule.destination, rule.cascade, rule.rename, rule.suppresses_drops)
        there = targets.get(key)
        if there is None:
            name = _name_of(rule.destination, {it.name for it in targets.values()})
            targets[key] = _Target(name, rule, rule.include, (rule.text,))
        else:
            include = tuple(dict.fromkeys((*there.include, *rule.include)))
            targets[key] = replace(there, include=include, texts=(*there.texts, rule.text))
    return list(targets.values())


def _name_of(destination: str, taken: set[str]) -> str:
    """A name for the target, from its first address: the first label of the host, or the whole of an IP address."""
    host = parse_addresses(destination)[0].host
    label = host if re.fullmatch(r"[\d.]+|.*:.*", host) else host.partition(".")[0]
    name = _NO_LABEL.sub("-", label).strip("-_")[:_LONGEST_NAME] or "dr"
    return next(it for it in (name, *(f"{name}-{at}" for at in range(2, len(taken) + 3))) if it not in taken)


def _section(target: _Target) -> list[str]:
    rule = target.rule
    lines = [*(f"# {text}" for text in target.texts), "[[targets]]"]
    lines += [f"name = {toml_string(target.name)}", 'kind = "hms"', f"metastore = {toml_string(rule.destination)}"]
    lists = {"include": target.include, "exclude": rule.exclude}
    lines += [f"{key} = [{', '.join(map(toml_string, them))}]" for key, them in lists.items() if them]
    lines += [f"cascade = {str(rule.cascade).lower()}", 'on_conflict = "park"']
    lines += ['drops = "suppress"'] if rule.suppresses_drops else []
    if rule.rename is not None:
        old, new = (toml_string(f"hdfs://{name}") for name in rule.rename)
        lines.append(f"locations = {{ {old} = {new} }}")
    return lines


def _warnings(rules: Sequence[Rule]) -> Iterator[str]:
    """What a person must decide before the first start."""
    yield from dict.fromkeys(it for rule in rules for it in rule.warnings)
    yield f"{ACTION} finds the source in the settings of SSM: set [source] metastore."


def _notes(rules: Sequence[Rule]) -> Iterator[str]:
    yield "Stop the rules in SSM before you start the sidecar. If both write a table, they overwrite each other."
    yield "The source needs the listener in hive-site.xml (`pysync hive-site`), and a restart of HMS. With [source]"
    yield '  capture = "notification-log" pysync reads the log that SSM reads instead.'
    yield "Tables that SSM created at the target have no mark of pysync. Their events are parked until you set"
    yield '  on_conflict = "adopt", which takes them over.'
    if any(not rule.cascade for rule in rules):
        yield "A rule without -cascade: cascade = false parks the drop of a database that has tables at the target."
        yield "  From the listener, a DROP DATABASE ... CASCADE at the source is one such drop."
    if any(rule.cascade for rule in rules):
        yield "A rule with -cascade: the drop of a database takes only tables that this source has written. With others"
        yield "  in it the database stays."
    if any(rule.rename for rule in rules):
        yield "locations change hdfs://NAMESERVICE at the beginning of a location, and in the properties that hold one."
        yield "  Locations of other file systems stay. Data files are copied only with copy = true."
    yield "A refused change is parked and retried (pysync parked list). No failure is passed over."
