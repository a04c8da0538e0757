"""The table of the comparison, as docs/coming-from.md#measured has it, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tests.compare.contest import PATIENCE_SECONDS, Result

_NONE = "–"  # noqa: RUF001


def markdown(results: Mapping[str, Result]) -> str:
    """A column for each contender."""
    rows = {
        "tables missing / extra / differing": [_counts(it, "tables") for it in results.values()],
        "partitions missing / extra / differing": [_counts(it, "partitions") for it in results.values()],
        "equal after the last statement": [_seconds(it) for it in results.values()],
        "writes: calls of Glue, statements of Athena": [
            f"{it.writes:,}" if it.carries else _NONE for it in results.values()
        ],
        "a statement at the source, p50 / p95": [
            f"{it.ddl_p50 * 1000:.0f} / {it.ddl_p95 * 1000:.0f} ms" for it in results.values()
        ],
        "it says": ["; ".join(it.notes) or _NONE for it in results.values()],
    }
    head = ["", *results]
    lines = [head, ["---"] * len(head), *([name, *cells] for name, cells in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_json(results: Mapping[str, Result]) -> dict[str, Any]:
    """The same for programs: `{"v1": {"counts": {"tables_missing": 0, …}, "seconds": 1.0, …}}`."""
    return {name: asdict(result) for name, result in results.items()}


def _counts(result: Result, what: str) -> str:
    if not result.carries:
        return _NONE
    counts = asdict(result.counts)
    return " / ".join(str(counts[f"{what}_{how}"]) for how in ("missing", "extra", "differing"))


def _seconds(result: Result) -> str:
    if not result.carries:
        return _NONE
    return f"not in {PATIENCE_SECONDS:.0f} s" if result.seconds is None else f"{result.seconds:.0f} s"
