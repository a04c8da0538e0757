"""The records of the journal, as JSON values, page by page. The form is a promise, see docs/status.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import shortened, shown
from pysync.journal import Query, Reader
from pysync.journal.record import OUTCOMES
from pysync.sidecar.arguments import LARGEST

MOST = 1000
"""Records in one answer."""
_LIMIT = 100


def listed(reader: Reader, request: Mapping[str, Any]) -> dict[str, Any]:
    """`records`: the newest first, up to `limit`; `next`: where to go on, as `before`, null at the end.

    Each of `target`, `outcome`, `database`, `table` (`db.table`, or the table of `database`), `since`, `until` (seconds
    since 1970), `before` and `after` (ids) narrows them, `notable` (true) to acts and failures. Names are those at the
    target or at the source. Raises PysyncError for arguments that make no sense.
    """
    limit = min(int(_number(request, "limit", 1) or _LIMIT), MOST)
    records = reader.records(query_of(request), limit + 1)
    page = records[:limit]
    return {"records": [it.as_json() for it in page], "next": page[-1].id if len(records) > limit else None}


def query_of(request: Mapping[str, Any]) -> Query:
    """The query that a request asks for. Raises PysyncError."""
    outcome = _text(request, "outcome")
    if outcome is not None and outcome not in OUTCOMES:
        raise PysyncError(f"there is no outcome {shown(shortened(outcome, 80))}", f"outcomes: {', '.join(OUTCOMES)}")
    database, table = _name(request, "database"), _name(request, "table")
    if database and table and "." not in table:
        table = f"{database}.{table}"
    name = table or database
    before, after = _number(request, "before"), _number(request, "after")
    return Query(
        target=_text(request, "target"),
        outcome=outcome,
        notable=request.get("notable") is True,
        names=[name] if name else [],
        since=_number(request, "since"),
        until=_number(request, "until"),
        before=None if before is None else int(before),
        after=None if after is None else int(after),
    )


def _text(request: Mapping[str, Any], name: str) -> str | None:
    value = request.get(name)
    if value is not None and not isinstance(value, str):
        raise PysyncError(f"{name} must be a text, not {shortened(shown(value), 80)}")
    return value or None


def _name(request: Mapping[str, Any], name: str) -> str | None:
    value = _text(request, name)
    return value.strip().lower() if value else None


def _number(request: Mapping[str, Any], name: str, least: int = 0) -> float | None:
    value = request.get(name)
    if value is None:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= LARGEST:  # also of nan
        raise PysyncError(f"{name} must be a number of at least {least}, not {shortened(shown(value), 80)}")
    return float(value) if isinstance(value, float) else value
