"""Names: the databases and tables of the source that begin with a text, for a shell that completes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pysync.metastore.reads import Reads
from pysync.sidecar.why import EndsReader

MOST = 1000
"""Names in one answer. Of more none is given: a shell takes what all that it gets have in common for what is meant."""


def names_beginning(ends: EndsReader, request: Mapping[str, Any]) -> dict[str, Any]:
    """`names`: the databases that begin with `begin`; of a single one, or of the one before the dot, the tables, too.

    Nothing where the source is not known. Raises PysyncError where it does not answer.
    """
    begin = str(request.get("begin") or "").lower()
    names = ends.ask_source(partial(_beginning, begin=begin)).answer() if ends.source is not None else []
    return {"names": names if len(names) <= MOST else []}


def _beginning(reads: Reads, begin: str) -> list[str]:
    database, dot, _ = begin.partition(".")
    databases = [database] if dot else [it for it in reads.databases() if it.startswith(begin)]
    tables = [f"{databases[0]}.{it}" for it in reads.tables(databases[0])] if len(databases) == 1 else []
    return sorted(it for it in (*([] if dot else databases), *tables) if it.startswith(begin))
