"""File differences: which files a directory of a target lacks, or has differently, beside one of the source. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from pysync.model.locations import Form


@dataclass(frozen=True, slots=True)
class Pair:
    """Two directories: the second shall have the files of the first; with a `form`, their rows in other files.

    `removes_extras`: copied files that the first does not have any more are removed from the second. `replaces`: the
    second takes the place of a directory that readers look at until then.
    """

    source: str
    target: str
    form: Form | None = None
    removes_extras: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file that the target lacks or has differently; `name` is relative, `time` in ms since 1970.

    `foreign`: what it would replace was not copied by pysync.
    """

    pair: Pair
    name: str
    size: int
    time: int
    replaces: bool = False
    foreign: bool = False

    @property
    def source(self) -> str:
        """Where it is."""
        return below(self.pair.source, self.name)

    @property
    def target(self) -> str:
        """Where it shall be."""
        return below(self.pair.target, self.name)

    def temporary(self, prefix: str) -> str:
        """Where it is until it is complete: beside its place, under a name that no reader looks at."""
        return f"{self.target.rpartition('/')[0]}/{prefix}"


@dataclass(slots=True)
class FileDifference:
    """The `copies` that a target directory lacks. `fingerprint` is of the source.

    Files that only the target has are `extras` if pysync copied or re-encoded them, else `foreign`. The names of copied
    files are recorded at the target: `unrecorded` are files that are the same but not in that record, `stale` are names
    in it without a file. `links` are the locations of symbolic links at both ends: they are not copied, removed or
    followed. `rows` says in words how the rows of re-encoded files differ from those of the source.
    """

    pair: Pair
    exists: bool = False
    fingerprint: str = ""
    same: int = 0
    copies: list[FileStatus] = field(default_factory=list)
    extras: list[FileStatus] = field(default_factory=list)
    foreign: list[FileStatus] = field(default_factory=list)
    unrecorded: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)


def below(directory: str, name: str) -> str:
    """The location of a file in a directory."""
    return f"{directory.rstrip('/')}/{name}"
