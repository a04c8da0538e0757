"""The tables of docs/aws.md on functions and casts are those that the rules make."""

from __future__ import annotations

from tests.views import tables
from tests.views.bring import ROOT


def test_the_tables_of_the_docs_are_made_from_the_rules() -> None:
    page = (ROOT / "docs/aws.md").read_text(encoding="utf-8")
    for table in (tables.functions(), tables.casts(), tables.differences()):
        assert table in page, f"python -m tests.views.tables prints:\n{table}"
