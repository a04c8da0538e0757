"""Translations: the views of the source, what Athena has of each, and which setting brings most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pysync.base.text import whole_number
from pysync.web.views.tables import PAGE, Facet
from pysync.web.views.tones import BAD, GOOD, IDLE, WARN
from pysync.web.words import segment

_TONES = {"refused": BAD, "failing": WARN, "accepted": WARN, "translated": GOOD, "kept": IDLE}
"""The states of views, as they are listed; `failing` are translated ones at some of whose values Athena fails."""
_TEXTS = {"failing": "fails at some values"}
_FILTERS = ("target", "state")


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A view at a target; `what` says what differs, or why it is refused, `helps` what a person can do."""

    name: str
    link: str
    target: str
    tone: str
    state: str
    what: str
    helps: str


@dataclass(frozen=True, slots=True)
class StateOfViews:
    """How many views of a target are in a state, with the way to them."""

    tone: str
    facet: Facet


@dataclass(frozen=True, slots=True)
class TargetViews:
    """A target: how many views Athena reads of all, by state, and what settings bring, the best first."""

    name: str
    readable: int
    views: int
    states: tuple[StateOfViews, ...]
    gains: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class TranslationsPage:
    """A page of the list; `before` and `later` lead to the others."""

    as_of: float
    targets: tuple[TargetViews, ...]
    rows: tuple[ViewRow, ...]
    fitting: int
    is_filtered: bool
    before: str
    later: str


def translations_page(answer: Mapping[str, Any], query: Mapping[str, str]) -> TranslationsPage:
    """The page of an answer of `views`: those in trouble first."""
    chosen = {key: query[key] for key in _FILTERS if query.get(key)}
    fitting = [it for it in answer["views"] if _fits(it, chosen)]
    fitting.sort(key=lambda it: (list(_TONES).index(_state(it)), it["view"], it["target"]))
    first = max(0, whole_number(query.get("from", "")) or 0)
    return TranslationsPage(
        as_of=answer["as_of"],
        targets=tuple(_target(it, answer["views"], chosen) for it in answer["targets"]),
        rows=tuple(map(_row, fitting[first : first + PAGE])),
        fitting=len(fitting),
        is_filtered=bool(chosen),
        before=_link(chosen, max(0, first - PAGE)) if first else "",
        later=_link(chosen, first + PAGE) if first + PAGE < len(fitting) else "",
    )


def _fits(view: Mapping[str, Any], chosen: Mapping[str, str]) -> bool:
    return chosen.get("target") in {None, view["target"]} and chosen.get("state") in {None, _state(view)}


def _state(view: Mapping[str, Any]) -> str:
    return "failing" if view["fails_without"] else str(view["state"])


def _target(summary: Mapping[str, Any], views: Sequence[Mapping[str, Any]], chosen: Mapping[str, str]) -> TargetViews:
    name = summary["target"]
    states = [_state(it) for it in views if it["target"] == name]

    def facets() -> Iterator[StateOfViews]:
        for it in (it for it in _TONES if it in states):
            link = _link({"target": name, "state": it})
            is_chosen = chosen == {"target": name, "state": it}
            yield StateOfViews(_TONES[it], Facet(_TEXTS.get(it, it), states.count(it), link, is_chosen))

    return TargetViews(
        name=name,
        readable=len(states) - states.count("refused"),
        views=len(states),
        states=tuple(facets()),
        gains=tuple((it["setting"], it["views"]) for it in summary["settings"]),
    )


def _link(chosen: Mapping[str, str], first: int = 0) -> str:
    values = {**chosen, **({"from": str(first)} if first else {})}
    return "/views" + (f"?{urlencode(values)}" if values else "")


def _row(view: Mapping[str, Any]) -> ViewRow:
    state = _state(view)
    differences = f"differs: {', '.join(view['differences'])}" if view["differences"] else ""
    fails = f"Athena fails at values of {', '.join(view['fails_without'])}" if view["fails_without"] else ""
    return ViewRow(
        name=view["view"],
        link=f"/tables/{segment(view['view'])}",
        target=view["target"],
        tone=_TONES[state],
        state=_TEXTS.get(state, state),
        what=view["reason"] or "; ".join(filter(None, (differences, fails))),
        helps=view["helps"] or "",
    )
