"""`pysync load --dry-run`: what a load would put and drop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pysync.cli.output import print_json, print_table, say
from pysync.text import count

_MOST = 20


def print_plans(plans: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """Print what a load comes to at each target: all of it as JSON, or the first names in a table."""
    if as_json:
        print_json({"targets": list(plans)})
        return
    for plan in plans:
        rows = [row for what in ("put", "drop") for row in _rows(what, plan[what])]
        if rows:
            print_table(f"load into {plan['target']}", ("", "object"), rows)
        limit = plan["max_drops_per_window"] or "none"
        put, drops = count(len(plan["put"]), "table"), count(plan["drops"], "drop")
        say(f"{plan['target']}: {put} to put where they differ; {drops} (limit: {limit})")
        for it in plan["refused"]:
            say(f"target {plan['target']} refuses {it['table']}: {it['reason']}")


def _rows(what: str, names: Sequence[str]) -> list[tuple[str | None, str]]:
    rows = [(None if at else what, name) for at, name in enumerate(names[:_MOST])]
    return [*rows, (None, f"and {len(names) - _MOST} more: --json")] if len(names) > _MOST else rows
