"""Naming: which object of the source a name means, at whatever end it is that object's name, and all its names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import shortened, shown
from pysync.journal import Query, Reader, Record
from pysync.model.names import TableName, normalized, without_quotes
from pysync.replay.window.mapping import NameMapping
from pysync.sidecar.why.events import Scan
from pysync.sidecar.why.name_history import NameChange, Span, names_over_time

_MOST_NAMES = 50
_MOST_LOOKED = 50


def requested_name(request: Mapping[str, Any]) -> str:
    """The name that is asked for: `db`, `db.table` or `db.function()`. Raises PysyncError for anything else."""
    name = request.get("table")
    text = without_quotes(normalized(name)) if isinstance(name, str) else ""
    if not text or text.count(".") > 1 or not all(text.split(".")):
        raise PysyncError(f"{shortened(shown(name), 80)} is not the name of a table", "write db.table, or db")
    return text


def candidates(name: str, mappings: Iterable[NameMapping]) -> list[str]:
    """The names at the source that may be meant by a name at either end; the name itself first."""
    names = [name]
    database, dot, rest = name.partition(".")
    for mapping in mappings:
        if dot and not rest.endswith("()"):
            names += [str(it) for it in mapping.sources_of(TableName(database, rest))]
        else:
            names += [f"{it}{dot}{rest}" for it in mapping.source_databases(database)]
    return list(dict.fromkeys(names))


def _source(requested: str, mappings: Sequence[NameMapping], reader: Reader, scanned: Scan) -> str:
    """The one of the candidates that the source is known to have had; else the one that is mapped to the name."""
    names = candidates(requested, mappings)
    for name in names:
        if any(name in it.objects for it in scanned.events):
            return name
        if any(
            name in {it.source_object, it.source_former} for it in reader.records(Query(names=[name]), _MOST_LOOKED)
        ):
            return name
    return names[1] if len(names) > 1 else requested


def spans_of(requested: str, mappings: Sequence[NameMapping], reader: Reader, scanned: Scan) -> Sequence[Span]:
    """The names at the source of the object that is asked for, by all renames that journal and queue know."""
    source = _source(requested, mappings, reader, scanned)
    renames = {it.rename for it in scanned.events if it.rename is not None}
    made = {(it.objects[0], it.position) for it in scanned.events if it.kind == "CREATE_TABLE" and it.objects}
    known, left = set[str](), {source}
    while left and len(known) < _MOST_NAMES:
        name = left.pop()
        known.add(name)
        renamed = [it for it in reader.renames(name) if it.source_former]
        renames |= {NameChange(it.last_position or 0, it.source_former, it.source_object) for it in renamed}
        made |= {
            (name, it.last_position or 0) for it in reader.records(Query(names=[name]), _MOST_LOOKED) if _made(it, name)
        }
        left |= {other for it in renames if name in {it.old, it.new} for other in (it.old, it.new)} - known
    return names_over_time(source, renames, made)


def _made(record: Record, name: str) -> bool:
    """Whether an operation has created the table again under that name; a rename may create one, too."""
    created = any(it.field == f"table {record.object}" and it.new == "created" for it in record.differences)
    return created and record.source_object == name and not record.source_former
