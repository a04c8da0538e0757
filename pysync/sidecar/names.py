"""Names: the databases and tables of the source that begin with a text, for a shell that completes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from pysync.metastore.reads import Reads

MOST = 1000
"""Names in one answer. Of more none is given: a shell takes what all that it gets have in common for what is meant."""


def names_beginning(
    source: Callable[[], AbstractContextManager[Reads]] | None, request: Mapping[str, Any]
) -> dict[str, Any]:
    """`names`: the databases that begin with `begin`; of a single one, or of the one before the dot, the tables, too.

    Nothing where the source is not known. Raises as the source does.
    """
    if source is None:
        return {"names": []}
    begin = str(request.get("begin") or "").lower()
    database, dot, _ = begin.partition(".")
    with source() as reads:
        databases = [database] if dot else [it for it in reads.databases() if it.startswith(begin)]
        tables = [f"{databases[0]}.{it}" for it in reads.tables(databases[0])] if len(databases) == 1 else []
    names = sorted(it for it in (*([] if dot else databases), *tables) if it.startswith(begin))
    return {"names": names if len(names) <= MOST else []}
