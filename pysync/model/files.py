"""Files: where the files of a table or partition are at the source, and what becomes of them on the way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """How to read the files of a directory (`parquet`, `orc`, `json`, `text`), and the format `to` write them in.

    `columns` are names and Hive types. `delimiter`, `null` and `header` (lines per file) are for text only.
    """

    format: str
    to: str
    columns: tuple[tuple[str, str], ...]
    delimiter: str = ""
    null: str = ""
    header: int = 0


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Files in a directory of the source, and how they are re-encoded; None: they are copied byte for byte."""

    location: str
    form: Form | None = None
