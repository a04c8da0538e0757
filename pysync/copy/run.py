"""One round of a copy: which files go where, and in which order they are published. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from pysync.copy.requests import Difference, File, Pair, below

Step = tuple[str, ...]
"""`rename, from, to, top` or `delete, name, top`: of files below the directory `top`."""

_STEPS_PER_CALL = 500


@dataclass(frozen=True, slots=True)
class Copied:
    """What copying came to: `same` files were there already, `missing` directories are not at the source.

    `links` are symbolic links at both ends, which were left as they are.
    """

    files: int = 0
    bytes: int = 0
    same: int = 0
    removed: int = 0
    missing: tuple[Pair, ...] = ()
    links: tuple[str, ...] = ()

    def plus(self, other: Copied) -> Copied:
        """The sum of both."""
        return Copied(
            self.files + other.files,
            self.bytes + other.bytes,
            self.same + other.same,
            self.removed + other.removed,
            self.missing + other.missing,
            self.links + other.links,
        )


@dataclass(frozen=True, slots=True)
class Round:
    """What a survey found, and what is made of it; `prefix` begins the names of its unfinished files."""

    found: Sequence[Difference]
    delete: bool
    prefix: str
    temporary: dict[File, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, file in enumerate(file for difference in self.found for file in difference.copies):
            self.temporary[file] = file.temporary(f"{self.prefix}{number}")

    @property
    def files(self) -> list[File]:
        """The files that are to be copied."""
        return list(self.temporary)

    def takes_away(self, difference: Difference) -> bool:
        """Whether something that readers of this directory see now will go."""
        return bool(self.extras(difference)) or any(file.replaces for file in difference.copies)

    def extras(self, difference: Difference) -> list[str]:
        """What is to be removed: nothing where the source has no such directory."""
        return difference.extras if self.delete and difference.exists else []

    def calls(self, changed: Collection[Pair]) -> tuple[list[list[Step]], list[list[Step]]]:
        """Calls to publish all but the changed ones; those of the first list come before those of the second.

        All steps of a directory are in one call, so that old and new files are there together only for a moment. Where
        they are too many for one, its new files come first, in several calls.
        """
        first: list[list[Step]] = []
        then: list[list[Step]] = [[]]
        for difference in self.found:
            if difference.pair in changed:
                continue
            renames, deletes = self._renames(difference), self._deletes(difference)
            if len(renames) > _STEPS_PER_CALL:
                first += _batches(renames)
                renames = []
            if len(then[-1]) + len(renames) + len(deletes) > _STEPS_PER_CALL:
                then.append([])
            then[-1] += [*renames, *deletes]
        return first, [steps for steps in then if steps]

    def discards(self, pairs: Collection[Pair] | None = None) -> list[Step]:
        """Remove what was copied for these pairs (not given: all)."""
        found = ((file.pair, name) for file, name in self.temporary.items() if pairs is None or file.pair in pairs)
        return [("delete", name, pair.target) for pair, name in found]

    def came_to(self, changed: Collection[Pair]) -> Copied:
        """What was done, where nothing has changed meanwhile."""
        done = [difference for difference in self.found if difference.pair not in changed]
        files = [file for difference in done for file in difference.copies]
        return Copied(
            files=len(files),
            bytes=sum(file.size for file in files),
            same=sum(difference.same for difference in done),
            removed=sum(len(self.extras(difference)) for difference in done),
            missing=tuple(difference.pair for difference in done if not difference.exists),
            links=tuple(link for difference in done for link in difference.links),
        )

    def _renames(self, difference: Difference) -> list[Step]:
        """New files first, then those that replace one, and last those that vouch for others (_SUCCESS, …)."""
        ordered = sorted(difference.copies, key=lambda file: (is_hidden(file.name), file.replaces, file.name))
        return [("rename", self.temporary[file], file.target, file.pair.target) for file in ordered]

    def _deletes(self, difference: Difference) -> list[Step]:
        top = difference.pair.target
        return [("delete", below(top, name), top) for name in self.extras(difference)]


def is_hidden(name: str) -> bool:
    """Whether readers of the directory pass the file by, as Hadoop does: it, or a directory on its way, is hidden."""
    return any(part.startswith(("_", ".")) for part in name.split("/"))


def _batches(steps: Sequence[Step]) -> Iterator[list[Step]]:
    return (list(steps[at : at + _STEPS_PER_CALL]) for at in range(0, len(steps), _STEPS_PER_CALL))
