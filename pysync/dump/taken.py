"""Taken: the dumps that targets took, as the queue's file keeps them: the last one, and the last one of each scope."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from pysync.control.client import ask_if_running
from pysync.dump.manifest import Manifest, Within, are_same
from pysync.queue import EventQueue, note_of, queue_at_rest

T = TypeVar("T")


class Taken(BaseModel):
    """A dump that a target took, as it is kept in the queue's file.

    `left_for` is the id of a dump that replaces its scope: once that load has begun, tables of this one may be gone.
    """

    id: str
    upto: int | None
    began_at: float
    within: tuple[Within, ...]
    left_for: str | None = None

    @classmethod
    def of(cls, manifest: Manifest) -> Taken:
        """What is kept of a dump."""
        return cls(id=manifest.id, upto=manifest.upto, began_at=manifest.began_at, within=manifest.within)


_ONE: TypeAdapter[Taken] = TypeAdapter(Taken)
_LIST: TypeAdapter[list[Taken]] = TypeAdapter(list[Taken])


class NotesOf(Protocol):
    """Where the notes of a queue are found by their keys: the queue's own, or some that were asked for."""

    def get(self, key: str, /) -> str | None:
        """The text of a note; None if there is none."""


def last_taken(notes: NotesOf, target: str) -> Taken | None:
    """The dump that the target took last."""
    return _read(notes, _last(target), _ONE)


def last_begun(notes: NotesOf, target: str) -> Taken | None:
    """The dump whose load was begun last; the target may have some of it."""
    return _read(notes, _begun(target), _ONE)


def by_scope(notes: NotesOf, target: str) -> list[Taken]:
    """The dumps that a target took last of each scope, in the order in which they were loaded."""
    last, scopes = last_taken(notes, target), _read(notes, _scopes(target), _LIST) or []
    # After a kill between the two notes of `note_taken` the last dump is not among the scopes.
    return scopes if last is None or any(it.id == last.id for it in scopes) else [*scopes, last]


def followed(notes: NotesOf, target: str, manifest: Manifest) -> Taken | None:
    """The dump that this one may follow: the last one that the target took of its scope, or of the replaced one.

    One whose scope another load has begun to replace does not count: some of its tables may be gone.
    """
    dumps = [it for it in by_scope(notes, target) if _is_of(it, manifest.within, manifest.replaces)]
    return next((it for it in reversed(dumps) if it.left_for in {None, manifest.id}), None)


def load_notes(directory: Path, targets: Sequence[str]) -> dict[str, str]:
    """The notes of what these targets took: of the running sidecar or load, else of the queue in a directory.

    Empty where there is no queue. Raises PysyncError for one that cannot be read.
    """
    if answer := ask_if_running(directory, "loads"):
        return dict(answer["notes"])
    keys = [key(name) for name in targets for key in (_last, _scopes)]
    with queue_at_rest(directory) as queue:
        return {key: text for key in keys if queue and (text := queue.notes.get(key)) is not None}


def note_begun(queue: EventQueue, target: str, manifest: Manifest) -> None:
    """Keep that the load of a dump to a target has begun, and that its scope takes the place of another one."""
    queue.notes.put(_begun(target), Taken.of(manifest).model_dump_json())
    if manifest.replaces:
        scopes = by_scope(queue.notes, target)
        left = [
            it.model_copy(update={"left_for": manifest.id}) if _is_of(it, manifest.replaces) else it for it in scopes
        ]
        _keep(queue, target, left)


def note_taken(queue: EventQueue, target: str, manifest: Manifest) -> None:
    """Keep that a target took a dump. A scope that was replaced is no longer kept."""
    taken = Taken.of(manifest)
    over = manifest.within, manifest.replaces
    others = [it for it in by_scope(queue.notes, target) if not _is_of(it, *over)]
    # First: after a kill in between, `by_scope` has this dump as the latest one all the same.
    queue.notes.put(_last(target), taken.model_dump_json())
    _keep(queue, target, [*others, taken])


def _is_of(taken: Taken, *scopes: Sequence[Within]) -> bool:
    return any(scope and are_same(taken.within, scope) for scope in scopes)


def _keep(queue: EventQueue, target: str, taken: list[Taken]) -> None:
    queue.notes.put(_scopes(target), _LIST.dump_json(taken).decode())


def _last(target: str) -> str:
    return note_of(target, "load")


def _begun(target: str) -> str:
    return note_of(target, "load:begun")


def _scopes(target: str) -> str:
    return note_of(target, "load:scopes")


def _read(notes: NotesOf, key: str, kind: TypeAdapter[T]) -> T | None:
    noted = notes.get(key)
    try:
        return None if noted is None else kind.validate_json(noted)
    except ValidationError:
        return None  # of a newer pysync
