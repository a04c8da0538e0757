"""Requests to the Java class that touches the files, and its answers: lines of fields, URL-encoded. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote_plus, unquote_plus

from pysync.base.errors import PysyncError
from pysync.model.file_differences import FileDifference, FileStatus, Pair

REENCODED_MARKER = ".pysync-remaining-"
"""How the name of the hidden file begins that names the files which a re-encoding has written."""


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
            is_own = kind == "extra" or is_reencoded(values[0])
            target_only = difference.extras if is_own else difference.foreign
            target_only.append(FileStatus(difference.pair, values[0], int(values[1]), 0))
        elif kind in {"link", "unrecorded", "stale"}:
            names = {"link": difference.links, "unrecorded": difference.unrecorded, "stale": difference.stale}
            names[kind].append(values[0])
        else:
            difference.exists = values[0] == "true"
            difference.fingerprint, difference.same = values[1], int(values[2])
    return result


def is_reencoded(name: str) -> bool:
    """Whether a re-encoding has written the file: no other writer gives such a name."""
    start, _, rest = name.rpartition("-")
    digest, dot, end = rest.partition(".")
    is_data = start.startswith("part-") and len(start) == 10 and len(digest) == 16
    return name.startswith(REENCODED_MARKER) or (is_data and bool(dot) and end in {"snappy.parquet", "snappy.orc"})


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
