"""Naming: which object of the source a name means, at whatever end it is that object's name, and all its names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pysync.errors import PysyncError
from pysync.journal import Query, Reader, Record
from pysync.model.names import TableName, normalized, without_quotes
from pysync.replay.mapping import NameMapping
from pysync.sidecar.why.events import Looked
from pysync.sidecar.why.lives import Rename, Span, life
from pysync.text import shortened, shown

_MOST_NAMES = 50
_MOST_LOOKED = 50


def asked_for(request: Mapping[str, Any]) -> str:
    """The name that is asked for: `db`, `db.table` or `db.function()`. Raises PysyncError for anything else."""
    name = request.get("table")
    text = without_quotes(normalized(name)) if isinstance(name, str) else ""
    if not text or text.count(".") > 1 or not all(text.split(".")):
        raise PysyncError(f"{shortened(shown(name), 80)} is not the name of a table", "write db.table, or db")
    return text


def candidates(asked: str, mappings: Iterable[NameMapping]) -> list[str]:
    """The names at the source that may be meant by a name at either end; the name itself first."""
    found = [asked]
    database, dot, rest = asked.partition(".")
    for mapping in mappings:
        if dot and not rest.endswith("()"):
            found += [str(it) for it in mapping.sources_of(TableName(database, rest))]
        else:
            found += [f"{it}{dot}{rest}" for it in mapping.source_databases(database)]
    return list(dict.fromkeys(found))


def _source(asked: str, mappings: Sequence[NameMapping], reader: Reader, looked: Looked) -> str:
    """The one of the candidates that the source is known to have had; else the one that is mapped to the name."""
    found = candidates(asked, mappings)
    for name in found:
        if any(name in it.objects for it in looked.events):
            return name
        if any(
            name in {it.source_object, it.source_former} for it in reader.records(Query(names=[name]), _MOST_LOOKED)
        ):
            return name
    return found[1] if len(found) > 1 else asked


def spans_of(asked: str, mappings: Sequence[NameMapping], reader: Reader, looked: Looked) -> Sequence[Span]:
    """The names at the source of the object that is asked for, by all renames that journal and queue know."""
    source = _source(asked, mappings, reader, looked)
    renames = {it.rename for it in looked.events if it.rename is not None}
    made = {(it.objects[0], it.position) for it in looked.events if it.kind == "CREATE_TABLE" and it.objects}
    known, left = set[str](), {source}
    while left and len(known) < _MOST_NAMES:
        name = left.pop()
        known.add(name)
        told = [it for it in reader.renames(name) if it.source_former]
        renames |= {Rename(it.last_position or 0, it.source_former, it.source_object) for it in told}
        made |= {
            (name, it.last_position or 0) for it in reader.records(Query(names=[name]), _MOST_LOOKED) if _made(it, name)
        }
        left |= {other for it in renames if name in {it.old, it.new} for other in (it.old, it.new)} - known
    return life(source, renames, made)


def _made(record: Record, name: str) -> bool:
    """Whether an operation has created the table anew under that name; a rename may create one, too."""
    created = any(it.field == f"table {record.object}" and it.new == "created" for it in record.differences)
    return created and record.source_object == name and not record.source_former
