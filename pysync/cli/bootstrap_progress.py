"""How a bootstrap is told of: beside its own bars, in `pysync status`, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pysync.text import count, duration


def told(bootstrap_: Mapping[str, Any]) -> Iterator[str]:
    """A bootstrap in words, one line a target; nothing of one that is finished."""
    if bootstrap_["state"] == "finished":
        return
    reason = f"; waiting: {bootstrap_['reason']}" if bootstrap_["reason"] else ""
    for target in bootstrap_["targets"]:
        yield f"bootstrap of {target['name']}: {so_far(bootstrap_, target)}{reason}"


def left_out(bootstrap_: Mapping[str, Any]) -> Iterator[str]:
    """A line for each target to which some tables were not written, because they came from its own cluster."""
    for target in bootstrap_["targets"]:
        if target["left_out"]:
            of_all = f"{target['left_out']:,} of {count(target['tables'], 'table')}"
            yield (
                f"target {target['name']}: {of_all} left out, because they came from the target's own cluster; "
                "see docs/failover.md"
            )


def is_in_vain(bootstrap_: Mapping[str, Any]) -> bool:
    """Whether a target got no table, because all of them came from its own cluster."""
    return any(0 < it["tables"] <= it["left_out"] for it in bootstrap_["targets"])


def so_far(found: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    """How far a bootstrap is with one target."""
    if found["tables"] is None:
        return "counting tables"
    left = item["seconds_left"]
    parts = [
        f"{item['tables']:,} of {count(found['tables'], 'table')}",
        count(item["partitions"], "partition"),
        f"{item['partitions_per_second']:,.0f} partitions/s",
        "" if left is None else f"{duration(left)} left",
    ]
    return ", ".join(part for part in parts if part)
