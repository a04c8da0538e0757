"""The pictures of the docs: drawn from what a run printed, and complete in themselves."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from tests.pictures import DEMO, PAGE
from tests.pictures.demo import draw

PRINTED = "\x1b[1mstep\x1b[0m    seconds\nSpark starts  <5 & more\n"


def texts(svg: str) -> str:
    """What a person reads in it; rich writes a space that counts as one that does not break."""
    return "".join(ElementTree.fromstring(svg).itertext()).replace("\xa0", " ")  # noqa: S314 - our own


def test_a_picture_shows_what_was_printed():
    text = texts(draw(PRINTED))
    assert "$ make demo" in text
    assert "Spark starts  <5 & more" in text


def test_the_same_print_is_the_same_picture():
    assert draw(PRINTED) == draw(PRINTED)


def test_the_picture_of_the_readme_loads_nothing_and_shows_equal_ends():
    svg = DEMO.read_text()
    assert set(re.findall(r"https?://[^\"' )]+", svg)) == {"http://www.w3.org/2000/svg"}
    assert re.search(r"(\d+) of \1 objects equal", texts(svg))
    assert f"docs/{DEMO.name}" in (DEMO.parents[1] / "README.md").read_text()


def test_the_picture_of_the_page_is_in_the_readme_and_is_no_burden():
    assert PAGE.read_bytes().startswith(b"\x89PNG")
    assert PAGE.stat().st_size < 300_000
    assert f"docs/{PAGE.name}" in (DEMO.parents[1] / "README.md").read_text()
