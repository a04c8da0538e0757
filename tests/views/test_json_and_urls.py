"""JSON and URLs: what Hive takes out of texts of all kinds, or an error that names what helps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.views.json_and_urls import (
    COLUMNS,
    FAILING,
    JSON_VIEWS,
    JSON_VIEWS_WITHOUT_ID,
    KNOWN,
    OTHER_URLS,
    TEXTS,
    URL_VIEWS,
    URLS,
    rows,
)
from tests.views.report import tell
from tests.views.trino import CATALOG, Failed
from tests.views.world import SETTINGS, World, write_rows


@pytest.mark.parametrize("world", SETTINGS, indirect=True)
def test_json_and_urls_give_the_same_texts_or_an_error(world: World, tmp_path: Path) -> None:
    world.create_database("texts")
    for name, texts in (("j", TEXTS), ("u", URLS)):
        write_rows(world.spark.session, COLUMNS, tuple(rows(texts)), tmp_path / name)
        world.create_table("texts", name, COLUMNS, tmp_path / name)
    plain = [it.format(j=KNOWN) for it in (*JSON_VIEWS, *JSON_VIEWS_WITHOUT_ID)] + [*URL_VIEWS]
    assert_equal(world, "without differences", plain, "")
    assert_equal(world, "with json-text", [it.format(j="j") for it in JSON_VIEWS], "json-text")
    assert_equal(world, "with odd-url", [it.replace(OTHER_URLS, "true") for it in URL_VIEWS[:-1]], "odd-url")
    assert_errors(world)


def assert_equal(world: World, title: str, views: Sequence[str], accepted: str) -> None:
    outcomes = (
        world.try_accepted("texts", f"view_{world.next_number()}", it, accepted)
        if accepted
        else world.try_view("texts", f"view_{world.next_number()}", it)
        for it in views
    )
    counts = tell(f"JSON and URLs {title}, by {world.judge}", outcomes)
    assert counts["equal"] == len(views)


def assert_errors(world: World) -> None:
    """Each text that has no known translation is an error of its own."""
    name = f"view_{world.next_number()}"
    assert world.try_view("texts", name, "select id, get_json_object(s, '$.a') as x from j").kind == "wrong"
    for place, text in enumerate(TEXTS, 1):
        query = f'select x from {CATALOG}."texts"."{name}" where id = {place}'
        if text in FAILING:
            with pytest.raises(Failed, match="see json-text of views_accept"):
                world.trino.rows(query)
        else:
            assert len(world.trino.rows(query)) == 1
