"""`pysync plan --scope`: what a change of scope would put, keep and drop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pysync.base import logs
from pysync.base.text import count
from pysync.cli.ends import assert_ends_answer
from pysync.cli.output import MOST_NAMES, assert_target, echo, name_rows, print_json, print_lacks, print_table
from pysync.config import load_config
from pysync.jobs.plans import scope_plans


def show_scope(config: Path, target: str | None, *, as_json: bool) -> None:
    """Print what the scopes in `config` come to. Raises as `scope_plans`, and UsageError for an unknown target."""
    loaded = load_config(config)
    logs.configure("error", loaded.log.format)
    assert_target(config, target, [it.name for it in loaded.targets])
    assert_ends_answer(loaded, [it for it in loaded.targets if target == it.name or (target is None and it.enabled)])
    plans = scope_plans(loaded, target)
    if as_json:
        print_json({"targets": plans})
        return
    for plan in plans:
        print_scope(plan)


def print_scope(plan: dict[str, Any]) -> None:
    """Print what one target would put, keep and drop."""
    name = plan["target"]
    if plan["is_new"]:
        echo(
            f"{name} is a new target: the sidecar compares it with the source and puts "
            f"{count(len(plan['put']), 'object')}"
        )
        print_lacks(plan)
    elif not plan["changes"]:
        echo(f"{name}: its scope has not changed")
    for line in plan["changes"]:
        echo(f"{name}: {line}")
    for line in plan["collide"][:MOST_NAMES]:
        echo(f"{name}: one name for several tables: {line}; only the first that comes gets it")
    rows = [row for what in ("put", "keep", "drop") for row in name_rows(what, plan[what])]
    if rows and (plan["changes"] or plan["is_new"]):
        print_table(f"scope of {name}", ("", "database or table"), rows)
        parts = [f"{len(plan[what])} to {what}" for what in ("put", "keep", "drop")]
        limit = plan["max_drops_per_window"] or "none"
        echo(
            f"{name}: {', '.join(parts)}, {plan['compare']} to compare; {count(plan['drops'], 'drop')} (limit: {limit})"
        )
