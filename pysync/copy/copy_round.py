"""One round of a copy: which files go where, and in which order they are published. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pysync.copy.requests import is_reencoded
from pysync.model.file_differences import FileDifference, FileStatus, Pair, below

Step = tuple[str, ...]
"""`rename, from, to, top` or `delete, name, top`: of files below the directory `top`; or of names of copied files
`record, name…, place of the record, top` and `forget, name…, place of the record, top`."""


Removed = Callable[[int, str], object]
"""Called with a number of files that were removed, and the location of the first, by any thread."""


Elsewhere = Callable[[Pair], Pair | None]
"""Called with a pair from whose second directory files would go; gives the pair to take instead, if there is one."""


def nowhere(_: Pair) -> None:
    """Files go from the directory where they are."""


RECORD = ".pysync-copied"
"""The file with the names of copied files in each directory, as the Java class knows it."""


_STEPS_PER_CALL = 500


@dataclass(frozen=True, slots=True)
class Copied:
    """What copying came to: `same` files were there already, `missing` directories are not at the source.

    `links` are symbolic links at both ends, and `foreign` files at the target that pysync did not copy: both were left
    as they are. `first_removed` is the location of one of the `removed` files.
    """

    files: int = 0
    bytes: int = 0
    same: int = 0
    removed: int = 0
    missing: tuple[Pair, ...] = ()
    links: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    first_removed: str = ""

    def plus(self, other: Copied) -> Copied:
        """The sum of both."""
        return Copied(
            self.files + other.files,
            self.bytes + other.bytes,
            self.same + other.same,
            self.removed + other.removed,
            self.missing + other.missing,
            self.links + other.links,
            self.foreign + other.foreign,
            self.first_removed or other.first_removed,
        )


@dataclass(slots=True)
class _Call:
    """Steps that are taken in one call, in this order."""

    records: list[Step] = field(default_factory=list)
    changes: list[Step] = field(default_factory=list)
    forgets: list[Step] = field(default_factory=list)

    @property
    def steps(self) -> list[Step]:
        return [*self.records, *self.changes, *self.forgets]

    def add(self, other: _Call) -> None:
        self.records += other.records
        self.changes += other.changes
        self.forgets += other.forgets


@dataclass(frozen=True, slots=True)
class Round:
    """What a survey found, and what is made of it; `prefix` begins the names of its unfinished files."""

    differences: Sequence[FileDifference]
    prefix: str
    temporary: dict[FileStatus, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, file in enumerate(file for difference in self.differences for file in difference.copies):
            self.temporary[file] = file.temporary(f"{self.prefix}{number}")

    @property
    def files(self) -> list[FileStatus]:
        """The files that are to be copied."""
        return list(self.temporary)

    def removes_or_replaces(self, difference: FileDifference) -> bool:
        """Whether something that readers of this directory see now will go."""
        return bool(self.extras(difference)) or any(file.replaces for file in difference.copies)

    def extras(self, difference: FileDifference) -> list[FileStatus]:
        """What is to be removed: nothing where the source has no such directory.

        Re-encoded files always go: else their rows would be there twice.
        """
        extras = difference.extras if difference.exists else []
        return extras if difference.pair.removes_extras else [it for it in extras if is_reencoded(it.name)]

    def stages(self, changed: Collection[Pair]) -> list[list[list[Step]]]:
        """Calls to publish all but the changed ones. Those of one stage are made at once, and before the next stage.

        All steps of a directory are in one call, so that old and new files are there together only for a moment. Where
        they are too many for one, its new files come first, in several calls. The names of copied files are recorded
        before they come and forgotten after they have gone: whatever dies in between, only what was copied is removed.
        """
        records: list[Step] = []
        renames: list[Step] = []
        last = [_Call()]
        for difference in self.differences:
            if difference.pair in changed:
                continue
            call = _Call(self._records(difference), self._renames(difference), self._forget_steps(difference))
            if len(call.changes) > _STEPS_PER_CALL:
                records += call.records
                renames += call.changes
                call = _Call(forgets=call.forgets)
            call.changes += self._deletes(difference)
            if last[-1].changes and len(last[-1].changes) + len(call.changes) > _STEPS_PER_CALL:
                last.append(_Call())
            last[-1].add(call)
        stages = [list(_batches(records)), list(_batches(renames)), [it.steps for it in last if it.steps]]
        return [stage for stage in stages if stage]

    def discards(self, pairs: Collection[Pair] | None = None) -> list[Step]:
        """Remove what was copied for these pairs (not given: all)."""
        copied = ((file.pair, name) for file, name in self.temporary.items() if pairs is None or file.pair in pairs)
        return [("delete", name, pair.target) for pair, name in copied]

    def came_to(self, changed: Collection[Pair]) -> Copied:
        """What was done, where nothing has changed meanwhile."""
        done = [difference for difference in self.differences if difference.pair not in changed]
        files = [file for difference in done for file in difference.copies]
        return Copied(
            files=len(files),
            bytes=sum(file.size for file in files),
            same=sum(difference.same for difference in done),
            removed=sum(len(self.extras(difference)) for difference in done),
            missing=tuple(difference.pair for difference in done if not difference.exists),
            links=tuple(link for difference in done for link in difference.links),
            foreign=tuple(file.target for difference in done for file in difference.foreign),
            first_removed=next((file.target for difference in done for file in self.extras(difference)), ""),
        )

    def _records(self, difference: FileDifference) -> list[Step]:
        return notes("record", difference.pair, [*(it.name for it in difference.copies), *difference.unrecorded])

    def _forget_steps(self, difference: FileDifference) -> list[Step]:
        names = [*(it.name for it in self.extras(difference)), *difference.stale]
        return notes("forget", difference.pair, names) if difference.exists else []

    def _renames(self, difference: FileDifference) -> list[Step]:
        """New files first, then those that replace one, and last those that vouch for others (_SUCCESS, …)."""
        ordered = sorted(difference.copies, key=lambda file: (is_hidden(file.name), file.replaces, file.name))
        return [("rename", self.temporary[file], file.target, file.pair.target) for file in ordered]

    def _deletes(self, difference: FileDifference) -> list[Step]:
        top = difference.pair.target
        return [("delete", file.target, top) for file in self.extras(difference)]


def notes(action: str, pair: Pair, names: Iterable[str]) -> list[Step]:
    """Steps that `record` or `forget` the names of copied files: one for each directory that these are in."""
    by_directory: dict[str, list[str]] = {}
    for name in names:
        directory, slash, last = name.rpartition("/")
        by_directory.setdefault(directory + slash, []).append(last)
    top = pair.target
    return [(action, *some, below(top, directory + RECORD), top) for directory, some in by_directory.items()]


def is_hidden(name: str) -> bool:
    """Whether readers of the directory pass the file by, as Hadoop does: it, or a directory on its way, is hidden."""
    return any(part.startswith(("_", ".")) for part in name.split("/"))


def _batches(steps: Sequence[Step]) -> Iterator[list[Step]]:
    return (list(steps[at : at + _STEPS_PER_CALL]) for at in range(0, len(steps), _STEPS_PER_CALL))
