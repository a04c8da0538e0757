"""Table filter: which tables a request of `tables` asks for, in which order, and where a page of them begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import meant, quoted, shortened, shown
from pysync.model.names import TABLE_STATES
from pysync.replay.window.order import database_of

MOST = 1000
"""Objects in one answer."""

SORTS = ("name", "last_done", "urgency", "match")
"""The orders of a page."""

_LIMIT = 100
_DIGITS = 19
_LATEST = 10 ** (_DIGITS - 1)  # beyond every record

Request = Mapping[str, Any]


def place(name: str) -> tuple[str, str]:
    """The place of a table, by its whole name, in the order of all."""
    database, _, table = name.partition(".")
    return database, table


@dataclass(frozen=True, slots=True)
class TableFilter:
    """What a request asks for. Raises PysyncError for what makes no sense. With `look` the targets are asked, too."""

    state: str | None
    database: str | None
    part: str | None
    begin: str
    limit: int
    sort: str
    number: int
    """Where a page begins that is not sorted by name: before this record of the journal, or after so many tables."""
    look: bool

    @classmethod
    def of(cls, request: Request) -> TableFilter:
        """The filter of a request. Raises PysyncError."""
        state, limit = request.get("state"), request.get("limit") or _LIMIT
        if state is not None and state not in TABLE_STATES:
            raise PysyncError(f"there is no state {quoted(str(state))}", meant(str(state), TABLE_STATES, "states"))
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise PysyncError(f"limit must be a whole number of at least 1, not {shortened(shown(limit), 80)}")
        database, part, begin = (_text(request, key) for key in ("database", "part", "begin"))
        sort, look = request.get("sort") or SORTS[0], bool(request.get("look"))
        if sort not in SORTS:
            raise PysyncError(f"there is no order {quoted(str(sort))}", meant(str(sort), SORTS, "orders"))
        if sort == SORTS[0]:
            return cls(state, database, part, begin or "", min(limit, MOST), sort, 0, look)
        if begin is not None and not (begin.isascii() and begin.isdecimal() and len(begin) < _DIGITS):
            raise PysyncError(f"no page of this order begins with {quoted(begin)}", "begin with what `next` says")
        first = _LATEST if sort == "last_done" else 0
        return cls(state, database, part, "", min(limit, MOST), sort, int(begin) if begin else first, look)

    def nearness(self, name: str) -> int:
        """0 for a table whose name is the part that is looked for, 1 where it begins with that, else 2."""
        table = name.partition(".")[2]
        if self.part in {None, table, name}:
            return 0
        return 1 if table.startswith(self.part) else 2

    def takes_database(self, name: str) -> bool:
        """Whether tables of this database may be asked for."""
        return self.database is None or fnmatchcase(name, self.database)

    def takes(self, name: str) -> bool:
        """Whether this table is asked for, by its whole name."""
        # The cheapest first: of a search all names of the source are asked.
        is_named = self.part is None or self.part in name
        return is_named and self.takes_database(database_of(name)) and place(name) >= place(self.begin)


def _text(request: Request, key: str) -> str | None:
    value = request.get(key)
    return str(value).strip().lower() or None if value is not None else None
