"""Requests to the Java class that touches the files, and its answers: lines of fields, URL-encoded. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote_plus, unquote_plus

from pysync.base.errors import PysyncError
from pysync.model.locations import Form


@dataclass(frozen=True, slots=True)
class Pair:
    """Two directories: the second shall have the files of the first; with a `form`, their rows in other files."""

    source: str
    target: str
    form: Form | None = None


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

    Files that only the target has are `extras` if pysync copied them there, else `foreign`. The names of copied files
    are recorded at the target: `unrecorded` are files that are the same but not in that record, `stale` are names in it
    without a file. `links` are the locations of symbolic links at both ends: they are not copied, removed or followed.
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


class CopyRefused(PysyncError):
    """These files cannot be copied, however often it is tried."""


class Failed(PysyncError):
    """The file system did not do it now."""


def encode(records: Iterable[Sequence[object]]) -> str:
    """Lines of tab-separated fields."""
    return "".join("\t".join(quote_plus(str(value)) for value in record) + "\n" for record in records)


def decode(text: str) -> list[list[str]]:
    """The fields of such lines."""
    return [[unquote_plus(value) for value in line.split("\t")] for line in text.split("\n") if line]


def differences(pairs: Sequence[Pair], answer: str) -> list[FileDifference]:
    """What `survey` answered about these pairs. Raises CopyRefused or Failed."""
    result = [FileDifference(pair) for pair in pairs]
    for kind, number, *values in decode(answer):
        difference = result[int(number)]
        if kind == "failed":
            raise failure(*values)
        if kind == "copy":
            name, size, time, state_at_target = values
            file = FileStatus(
                difference.pair, name, int(size), int(time), state_at_target != "none", state_at_target == "foreign"
            )
            difference.copies.append(file)
        elif kind in {"extra", "foreign"}:
            target_only = difference.extras if kind == "extra" else difference.foreign
            target_only.append(FileStatus(difference.pair, values[0], int(values[1]), 0))
        elif kind in {"link", "unrecorded", "stale"}:
            names = {"link": difference.links, "unrecorded": difference.unrecorded, "stale": difference.stale}
            names[kind].append(values[0])
        else:
            difference.exists = values[0] == "true"
            difference.fingerprint, difference.same = values[1], int(values[2])
    return result


def files_missing(answer: str) -> list[bool]:
    """For each record of a request to `copy` or `publish` whether its file is gone. Raises CopyRefused or Failed."""
    records = decode(answer)
    for result, *values in records:
        if result == "failed":
            raise failure(*values)
    return [result == "gone" for result, *_ in records]


def failure(kind: str, why: str) -> PysyncError:
    """The error that a `failed` record describes."""
    return CopyRefused(f"cannot copy {why}") if kind == "refused" else Failed(f"cannot copy {why}")


def below(directory: str, name: str) -> str:
    """The location of a file in a directory."""
    return f"{directory.rstrip('/')}/{name}"
