"""Births: at which clusters a database of one name was born, as far as it is known where it is now. Pure.

For clusters that replicate to each other (docs/both-ways.md). Whoever drops a database has meant those births that had
come to him; one that was still on its way stays, and comes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pysync.model.home import home_of
from pysync.model.mark import Mark

BIRTHS_KEY = "pysync.births"
"""The parameter of a database: the clusters where it was born, by comma, where they are several."""


def births_of(parameters: Mapping[str, str] | None, cluster: str) -> frozenset[str]:
    """The clusters where a database with these parameters, that is found at a cluster, is known to be born."""
    mark = Mark.read(parameters)
    others = (parameters or {}).get(BIRTHS_KEY, "").split(",")
    return frozenset({cluster if mark is None else mark.source, *others} - {""})


def first_home(parameters: Mapping[str, str] | None, cluster: str, *, relay: bool) -> str:
    """The home of what a database has in it that bears no mark: round a ring the smallest name of those births.

    In pairs each tells of its own, also that it is there no more, so it is what has been told of last.
    """
    return min(births_of(parameters, cluster)) if relay else home_of(parameters, cluster)


def with_births(parameters: Mapping[str, str] | None, births: Collection[str]) -> dict[str, str]:
    """The parameters with these births in them; a single one needs no word."""
    others = {key: value for key, value in (parameters or {}).items() if key != BIRTHS_KEY}
    return others | ({BIRTHS_KEY: ",".join(sorted(births))} if len(births) > 1 else {})
