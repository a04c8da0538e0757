"""All ordinary views, by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.views.ordinary import calendar, people_and_money, sales, shapes, staging, web

VIEWS: Mapping[str, Sequence[str]] = {
    category: tuple(" ".join(query.split()) for query in queries)
    for views in (staging, calendar, web, sales, people_and_money, shapes)
    for category, queries in views.VIEWS.items()
}
"""Each a SELECT over the tables of `tables`, on one line."""


def named(category: str) -> list[tuple[str, str]]:
    """Those of a category, each with a name."""
    head = category.replace(" ", "_").replace("-", "_")
    return [(f"{head}_{number}", query) for number, query in enumerate(VIEWS[category], 1)]
