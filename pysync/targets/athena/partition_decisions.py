"""Partitions: the decision that brings those that are there to those that are wanted. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pysync.targets.athena import statements as ddl
from pysync.targets.athena.decisions import Decision, Leftover, Properties
from pysync.targets.athena.quoting import InexpressibleError
from pysync.targets.athena.table_decisions import same_columns, same_format, same_location, storage_leftovers

MOST_MOVES = 10
"""How many locations statements set, one partition each; beyond that the Glue API does a hundred in one call."""
_Values = tuple[str, ...]


def decide_put(table: Any, wanted: Sequence[Any], existing: Mapping[_Values, Any], *, only_ddl: bool) -> Decision:
    """ADD what is absent, SET LOCATION where only that differs; all other differences are left over.

    `table` is the table at the target, `existing` its partitions by their values. With `only_ddl` every
    location is set, however many there are, and even where more than the location differs.
    """
    absent = [item for item in wanted if tuple(item.values) not in existing]
    present = [item for item in wanted if tuple(item.values) in existing]
    added, leftovers = _expressible_items(absent, lambda item: next(ddl.add_partitions(table, [item])))
    moved, stay = _moves(table, present, existing, only_ddl=only_ddl)
    leftovers += [leftover for item in added for leftover in _beyond_partition(item, table.sd, {})]
    leftovers += stay
    return Decision((*ddl.add_partitions(table, added), *moved), _counted(leftovers))


def decide_drop(table: Any, existing: Iterable[_Values]) -> Decision:
    """DROP the partitions that are there; one with a value that Hive would read as another is left over."""
    dropped, leftovers = _expressible_items(list(existing), lambda values: next(ddl.drop_partitions(table, [values])))
    return Decision(tuple(ddl.drop_partitions(table, dropped)), _counted(leftovers))


def _moves(
    table: Any, present: Sequence[Any], existing: Mapping[_Values, Any], *, only_ddl: bool
) -> tuple[list[str], list[Leftover]]:
    statements: list[str] = []
    leftovers: list[Leftover] = []
    for item in present:
        existing_partition = existing[tuple(item.values)]
        beyond = list(_beyond_partition(item, existing_partition.sd, existing_partition.parameters))
        if same_location(item.sd.location, existing_partition.sd.location) or (beyond and not only_ddl):
            leftovers += beyond
            continue
        try:
            statements.append(ddl.set_partition_location(table, item))
        except InexpressibleError as error:
            beyond.append(Leftover(str(error)))
        leftovers += beyond
    if len(statements) > MOST_MOVES and not only_ddl:
        return [], [*leftovers, *([Leftover("another location")] * len(statements))]
    return statements, leftovers


def _beyond_partition(item: Any, storage: Any, parameters: Mapping[str, str]) -> Iterator[Leftover]:
    """How a partition differs from this storage and these parameters in what no statement can express."""
    if not same_columns(item.sd.cols, storage.cols):
        yield Leftover("columns that differ from those of the table")
    if not same_format(item.sd, storage):
        yield Leftover("a serde or format that differs from that of the table")
    yield from storage_leftovers(item.sd, storage)
    properties = Properties.between(item.parameters, parameters)
    if properties.changed or properties.removed:
        yield Leftover("parameters")
    if properties.counted:
        yield Leftover("statistics", harmless=True)


def _expressible_items(items: Sequence[Any], statement_of: Callable[[Any], str]) -> tuple[list[Any], list[Leftover]]:
    """The items that a statement can express, and the reasons for the others."""
    expressible: list[Any] = []
    leftovers: list[Leftover] = []
    for item in items:
        try:
            statement_of(item)
        except InexpressibleError as error:
            leftovers.append(Leftover(str(error)))
        else:
            expressible.append(item)
    return expressible, leftovers


def _counted(leftovers: Iterable[Leftover]) -> tuple[Leftover, ...]:
    """Each leftover once, with the number of partitions that it is about."""
    return tuple(
        Leftover(f"{leftover.description} (partitions: {count})", harmless=leftover.harmless)
        for leftover, count in Counter(leftovers).items()
    )
