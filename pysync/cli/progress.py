"""Progress of a bootstrap, as text, on its own lines and in `pysync status`, and what targets refused. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pysync.base.health import decide, hold
from pysync.base.text import count, duration


def bootstrap_lines(bootstrap_: Mapping[str, Any]) -> Iterator[str]:
    """A bootstrap in words, one line a target; nothing of one that is finished."""
    if bootstrap_["state"] == "finished":
        return
    reason = f"; waiting: {bootstrap_['reason']}" if bootstrap_["reason"] else ""
    for target in bootstrap_["targets"]:
        yield f"bootstrap of {target['name']}: {bootstrap_so_far(target)}{reason}"


def refusals(target: Mapping[str, Any]) -> Iterator[str]:
    """A line for what the brake of a target of a status holds, and one for the events that the target has parked."""
    name = target["name"]
    if text := hold(target):
        yield f"{text}; {decide(name)}"
    if target["parked"]:
        yield f"target {name} has parked {count(target['parked'], 'event')}; see: pysync parked list {name}"


def left_out(bootstrap_: Mapping[str, Any]) -> Iterator[str]:
    """A line for each target to which some tables were not written, because they came from its own cluster."""
    for target in bootstrap_["targets"]:
        if target["left_out"]:
            of_all = f"{target['left_out']:,} of {count(target['tables'], 'table')}"
            yield (
                f"target {target['name']}: {of_all} left out, because they came from the target's own cluster; "
                "see docs/operating.md"
            )


def is_in_vain(bootstrap_: Mapping[str, Any]) -> bool:
    """Whether a target got no table, because all of them came from its own cluster."""
    return any(0 < it["tables"] <= it["left_out"] for it in bootstrap_["targets"])


def bootstrap_so_far(item: Mapping[str, Any]) -> str:
    """How far a bootstrap is with one target."""
    if item["in_scope"] is None:
        return "counting tables"
    left = item["seconds_left"]
    parts = [
        f"{item['tables']:,} of {count(item['in_scope'], 'table')}",
        count(item["partitions"], "partition"),
        f"{item['partitions_per_second']:,.0f} partitions/s",
        "" if left is None else f"{duration(left)} left",
    ]
    return ", ".join(part for part in parts if part)
