"""Files: where those of a table or partition are at the source, and what becomes of them on the way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """How the files of a directory are to be read (`parquet`, `orc`, `json`, `text`), and `to` what they become.

    `columns` are names and Hive's types; `delimiter`, `null` and `header` (lines of each file) are of text alone.
    """

    format: str
    to: str
    columns: tuple[tuple[str, str], ...]
    delimiter: str = ""
    null: str = ""
    header: int = 0


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Files in a directory of the source, and how they are written anew; None: they are carried byte for byte."""

    location: str
    form: Form | None = None
