"""Births: the clusters where a database was created under one name, as far as that is known where it is now. Pure.

For clusters that replicate to each other (docs/both-ways.md). A drop of the database means the births that the dropping
cluster knew; one that was still on its way stays, and arrives.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pysync.model.home import home_of
from pysync.model.mark import Mark

BIRTHS_KEY = "pysync.births"
"""The parameter of a database that lists the clusters where it was born, by comma, if there are several."""


def births_of(parameters: Mapping[str, str] | None, cluster: str) -> frozenset[str]:
    """The clusters where a database with these parameters, found at `cluster`, is known to be born."""
    mark = Mark.read(parameters)
    others = (parameters or {}).get(BIRTHS_KEY, "").split(",")
    return frozenset({cluster if mark is None else mark.source, *others} - {""})


def first_home(parameters: Mapping[str, str] | None, cluster: str, *, relay: bool) -> str:
    """The home of parts without a mark in a database: in a ring the smallest name of its births.

    In pairs it is the cluster that told of the database last: each tells of its own births and drops.
    """
    # In a mesh the smallest birth may be of a database that is gone, and functions would wait for its cluster for ever.
    return min(births_of(parameters, cluster)) if relay else home_of(parameters, cluster)


def with_births(parameters: Mapping[str, str] | None, births: Collection[str]) -> dict[str, str]:
    """The parameters with these births; a single birth is not written."""
    others = {key: value for key, value in (parameters or {}).items() if key != BIRTHS_KEY}
    return others | ({BIRTHS_KEY: ",".join(sorted(births))} if len(births) > 1 else {})
