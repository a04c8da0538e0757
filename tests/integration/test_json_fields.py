"""What `--json` answers is what docs/status.md says: no field that is not there, none that is not described."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.docpages import ROOT, rows, sections, words
from tests.support.drains import create, create_database, drop
from tests.support.sidecars import FaultyPlace, Sidecar, send, sidecar, wait_for

PAGE = "status.md"
NAMED_BY_USERS = r"counts\.\w+|answers\.\w+|copy\.\w+|calls\.\w+|parts\.\w+|since_start\.\w+"
"""By result, answer, target, call and part: their names are values."""


def fields(value: Any, path: str = "") -> Iterator[str]:
    """The paths of an answer, `targets[].name`."""
    if isinstance(value, list):
        for it in value:
            yield from fields(it, f"{path}[]")
        return
    if path:
        yield path
    for key, it in value.items() if isinstance(value, dict) else ():
        inner = f"{path}.{key}".lstrip(".")
        # Of an empty list no more can be seen than that it is one.
        yield from [f"{inner}[]"] if isinstance(it, list) else []
        yield from fields(it, inner)


def described(command: str, prefix: str = "") -> dict[str, set[str]]:
    """The paths in the table of a command's section, and the words by which each row tells of what is within."""
    headings = sections((ROOT / "docs" / PAGE).read_text())
    (heading,) = [it for it in headings if it.startswith(f"`pysync {command} ") and "json" in it]
    found: dict[str, set[str]] = {}
    for cell, meaning in rows(PAGE, heading):
        first, *more = re.findall(r"`([^`]+)`", cell)
        # `gaps[].found_at`, `.closed_at`: within the same; `queued`, `parked`: beside it.
        within = prefix + first.rpartition(".")[0]
        paths = [prefix + first, *(f"{within}{it}" if it.startswith(".") else prefix + it for it in more)]
        found |= {path: set(words(meaning).split()) for path in paths}
    return found


def unknown(answer: dict[str, Any], pages: dict[str, set[str]]) -> set[str]:
    """The fields that no row tells of, neither by a path nor within that of what they are in."""
    return {
        path
        for path in fields(answer)
        if not any(page == path or page.startswith((f"{path}.", f"{path}[]")) for page in pages)
        and path.removesuffix("[]") not in pages
        and path.rpartition(".")[2].removesuffix("[]") not in pages.get(path.rpartition(".")[0], ())
        and not re.search(rf"(^|\.|\])({NAMED_BY_USERS})", path)
    }


def absent(answer: dict[str, Any], pages: dict[str, set[str]]) -> set[str]:
    """The paths that are described, and are not there, though what they are in is."""
    there = set(fields(answer))
    inside = {path.rpartition(".")[0] for path in there} | {""}
    return {path for path in pages if not {path, f"{path}[]"} & there and path.rpartition(".")[0] in inside}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Sidecar]:
    """With an event that is applied, one that is parked and one that waits behind it."""
    place = FaultyPlace(tmp_path)
    place.write(more='parked_retry_seconds = 0\nfaults = [{ kind = "refuse", tables = ["db.bad"], times = 9 }]\n')
    with sidecar(place) as running:
        send(running, create_database(), create("db.t"), create("db.bad"), drop("db.bad"))
        wait_for(running, queued=0, parked=2)
        yield running


@pytest.mark.parametrize(("command", "prefix"), [("status", ""), ("plan", "targets[]."), ("events", "")])
def test_the_fields_of_an_answer_are_those_of_the_page(running: Sidecar, command: str, prefix: str) -> None:
    assert isinstance(running.place, FaultyPlace)
    answer = running.place.ask(command, code=int(command == "status"))  # 1: something is parked
    pages = described(command, prefix)
    assert unknown(answer, pages) == set()
    assert absent(answer, pages) == set()


def test_a_field_that_no_page_knows_and_one_that_is_gone_are_found() -> None:
    pages = {"a": set(), "list[]": {"name"}, "list[].size": set(), "gone": set(), "null": {"x"}}
    answer = {"a": 1, "list": [{"name": "", "size": 1, "new": 1}], "null": None, "other": []}
    assert unknown(answer, pages) == {"list[].new", "other[]"}
    assert absent(answer, pages) == {"gone"}
