"""Report: what `pysync verify` found as one HTML file, which needs nothing beside it. Extra `web`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from pysync.web.site import STATIC, environment
from pysync.web.views.verify import Object, Tile, VerifyView, of_database, verify_view


def verify_html(source: str, reports: Sequence[Mapping[str, Any]], now: float) -> str:
    """The page, of reports as `pysync verify --json` prints them with their `databases`; `now` is when it is made."""
    views = [verify_view(it["target"], it, f"#{quote(it['target'])}/") for it in reports]
    text = environment().get_template("verify_report.html")
    style = (STATIC / "page.css").read_text(encoding="utf-8")
    # The style is a file of ours, and no text of others.
    own = Markup(style)  # noqa: S704
    return text.render(source=source, views=views, by_tile=_by_tile, style=own, now=now, here="", session=None)


def _by_tile(view: VerifyView) -> Iterator[tuple[Tile, list[Object]]]:
    """Each database in which something differs, with the objects that do; the others have their tile alone."""
    for tile in view.tiles:
        objects = of_database(view, tile.name)
        if objects:
            yield tile, objects
