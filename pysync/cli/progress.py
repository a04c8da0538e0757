"""Progress of long work, as text: a bootstrap and a replay, on their own lines and in `pysync status`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pysync.base.text import count, duration, local_time, span


def bootstrap_lines(bootstrap_: Mapping[str, Any]) -> Iterator[str]:
    """A bootstrap in words, one line a target; nothing of one that is finished."""
    if bootstrap_["state"] == "finished":
        return
    reason = f"; waiting: {bootstrap_['reason']}" if bootstrap_["reason"] else ""
    for target in bootstrap_["targets"]:
        yield f"bootstrap of {target['name']}: {bootstrap_so_far(bootstrap_, target)}{reason}"


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


def bootstrap_so_far(bootstrap: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    """How far a bootstrap is with one target."""
    if bootstrap["tables"] is None:
        return "counting tables"
    left = item["seconds_left"]
    parts = [
        f"{item['tables']:,} of {count(bootstrap['tables'], 'table')}",
        count(item["partitions"], "partition"),
        f"{item['partitions_per_second']:,.0f} partitions/s",
        "" if left is None else f"{duration(left)} left",
    ]
    return ", ".join(part for part in parts if part)


def resync_so_far(resync: Mapping[str, Any]) -> str:
    """How far a resync is, from its status (docs/status.md)."""
    done, total, left = resync["done"], resync["total"], resync["seconds_left"]
    parts = [
        resync["reason"],
        count(done, "object") if total is None else f"{done:,} of {count(total, 'object')}",
        "" if left is None else f"{resync['per_second']:,.0f} objects/s, {duration(left)} left",
        f"ended at {local_time(resync['ended_at'])}" if resync["ended_at"] else "",
        f"{resync['state']}: {resync['obstacle']}" if resync["obstacle"] else "",
    ]
    return "; ".join(part for part in parts if part)


def replay_so_far(replay: Mapping[str, Any]) -> str:
    """How far a replay is, from its status (docs/status.md)."""
    events = span("event", replay["first"], replay["last"]) + (f" of {replay['table']}" if replay["table"] else "")
    if replay["state"] == "failed":
        return f"{events} failed: {replay['reason']}"
    if replay["objects"] is None:
        text = f"reading {events}"
    elif replay["state"] == "finished":
        text = f"{events}: {count(replay['objects'], 'object')} refreshed"
    else:
        text = f"{events}: {replay['refreshed']:,} of {count(replay['objects'], 'object')} refreshed"
    return f"{text}; waiting: {replay['reason']}" if replay["reason"] else text
