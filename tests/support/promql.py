"""Expressions of Prometheus: which series and labels of ours they name, and whether a sidecar has those."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).parents[2]
RULES = ROOT / "conf" / "monitoring" / "pysync.rules.yml"
DASHBOARD = ROOT / "conf" / "monitoring" / "grafana-dashboard.json"
GIVEN = frozenset({"instance", "job"})
"""Labels that Prometheus itself gives to every series."""

Series = Mapping[str, Mapping[str, set[str]]]
"""What a scrape has: the labels of each series, and their values."""


def rules() -> list[dict[str, Any]]:
    """The alerts of the rules file."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """The panels of the dashboard; a row is one, too."""
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def expressions() -> Iterator[tuple[str, str]]:
    """All of the pack, each with what it is for."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"]


def scraped(text: str) -> dict[str, dict[str, set[str]]]:
    """The series of an answer of /metrics."""
    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


def named(expression: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Our series in an expression, each with its matchers: label, operator and value."""
    for name, inside in re.findall(r"\b(pysync_\w+)(?:\{([^}]*)\})?", expression):
        yield name, re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', inside)


def grouped(expression: str) -> set[str]:
    """The labels by which an expression groups or joins, and those that its variable is about."""
    reported = re.findall(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)", expression)
    about = re.findall(r"label_values\(.*,\s*(\w+)\)$", expression)
    return {label.strip() for it in reported for label in it.split(",")} | set(about)


def wrong(expression: str, series: Series) -> list[str]:
    """What an expression names and the series do not have: a name, a label, a value of a label."""
    found, labels = [], set(GIVEN)
    for name, matchers in named(expression):
        known = series.get(name)
        if known is None:
            found.append(name)
            continue
        labels |= known.keys()
        for label, operator, value in matchers:
            found += _unmatched(name, known, label, operator, value)
    return found + [f"label {it}" for it in sorted(grouped(expression) - labels)]


def _unmatched(name: str, known: Mapping[str, set[str]], label: str, operator: str, value: str) -> list[str]:
    if label not in known:
        return [] if label in GIVEN else [f"{name}.{label}"]
    # A variable of the dashboard has any value, and what is left out need not be there.
    if value.startswith("$") or operator in {"!=", "!~"}:
        return []
    values = value.split("|") if operator == "=~" else [value]
    return [f"{name}.{label}={it}" for it in values if it not in known[label]]
