"""The table of docs/aws.md on ordinary views, made from what the judges said last.

make test SUITE=views ARGS="-k ordinary"
python -m tests.views.ordinary_table
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.views.bring import CACHE
from tests.views.ordinary.views import VIEWS
from tests.views.report import KINDS
from tests.views.world import SETTINGS

ZONES = ("Europe/Berlin", "UTC")
_DIRECTORY = CACHE / "ordinary"
_TOLD = ("equal", "accepted", "refused", "wrong")

Counts = Mapping[str, Mapping[str, int]]


def note(judge: str, zone: str, counts: Counts) -> None:
    """Keep what became of the views of each category."""
    _DIRECTORY.mkdir(exist_ok=True, parents=True)
    _file(judge, zone).write_text(json.dumps({it: dict(found) for it, found in counts.items()}, indent=1))


def _file(judge: str, zone: str) -> Path:
    return _DIRECTORY / f"{judge}-{zone.replace('/', '-')}.json"


def table() -> str:
    """A row for each zone and Hive that were judged; then one for each category, in the first zone."""
    return "\n".join([*_by_zone(), "", *_by_category()])


def _read(judge: str, zone: str) -> Counts:
    found: Counts = json.loads(_file(judge, zone).read_text())
    return found


def _by_category() -> Iterator[str]:
    judges = {it: _read(it, ZONES[0]) for it in SETTINGS}
    yield f"| {ZONES[0]} | views | {' | '.join(it.replace('hive-', 'Hive ') for it in judges)} |"
    yield "|---" * (len(judges) + 2) + "|"
    for category, queries in VIEWS.items():
        cells = (_in_words(counts[category]) for counts in judges.values())
        yield f"| {category} | {len(queries)} | {' | '.join(cells)} |"


def _in_words(found: Mapping[str, int]) -> str:
    """`12`, or `10, 1 accepted, 1 refused`: those that are equal, and what became of the others."""
    others = (f"{found[it]} {it}" for it in KINDS[1:] if found.get(it))
    return ", ".join([str(found.get("equal", 0)), *others])


def _by_zone() -> Iterator[str]:
    yield f"| time zone | Hive | {' | '.join(_TOLD)} | no view in this Hive |"
    yield "|---" * (len(_TOLD) + 3) + "|"
    for zone in ZONES:
        for judge in (it for it in SETTINGS if _file(it, zone).exists()):
            total = sum(map(Counter, _read(judge, zone).values()), Counter[str]())
            cells = (str(total[it]) for it in (*_TOLD, "unread"))
            yield f"| {zone} | {judge.removeprefix('hive-')} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print(table())
