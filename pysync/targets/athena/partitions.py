"""Partitions: the decision that brings those that are there to those that are wanted. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pysync.targets.athena import statements as ddl
from pysync.targets.athena.decision import Decision, Leftover, Properties
from pysync.targets.athena.quoting import UnsayableError
from pysync.targets.athena.tables import same_columns, same_format, same_location, storage_leftovers

MOST_MOVES = 10
"""How many locations statements set, one partition each; beyond that the Glue API does a hundred in one call."""

_Values = tuple[str, ...]


def decide_put(table: Any, wanted: Sequence[Any], there: Mapping[_Values, Any], *, only_ddl: bool) -> Decision:
    """ADD what is absent, SET LOCATION where only that differs; all other differences are left over.

    `table` is the table at the target, `there` its partitions by their values. With `only_ddl` every location is set,
    however many there are, and even where more than the location differs.
    """
    absent = [item for item in wanted if tuple(item.values) not in there]
    present = [item for item in wanted if tuple(item.values) in there]
    added, left = _sayable(absent, lambda item: next(ddl.add_partitions(table, [item])))
    moved, stay = _moves(table, present, there, only_ddl=only_ddl)
    left += [what for item in added for what in _beyond(item, table.sd, {})]
    left += stay
    return Decision((*ddl.add_partitions(table, added), *moved), _told(left))


def decide_drop(table: Any, there: Iterable[_Values]) -> Decision:
    """DROP the partitions that are there; one with a value that Hive would read as another is left over."""
    dropped, left = _sayable(list(there), lambda values: next(ddl.drop_partitions(table, [values])))
    return Decision(tuple(ddl.drop_partitions(table, dropped)), _told(left))


def _moves(
    table: Any, present: Sequence[Any], there: Mapping[_Values, Any], *, only_ddl: bool
) -> tuple[list[str], list[Leftover]]:
    statements: list[str] = []
    left: list[Leftover] = []
    for item in present:
        its = there[tuple(item.values)]
        beyond = list(_beyond(item, its.sd, its.parameters))
        if same_location(item.sd.location, its.sd.location) or (beyond and not only_ddl):
            left += beyond
            continue
        try:
            statements.append(ddl.set_partition_location(table, item))
        except UnsayableError as error:
            beyond.append(Leftover(str(error)))
        left += beyond
    if len(statements) > MOST_MOVES and not only_ddl:
        return [], [*left, *([Leftover("another location")] * len(statements))]
    return statements, left


def _beyond(item: Any, storage: Any, parameters: Mapping[str, str]) -> Iterator[Leftover]:
    """How a partition differs from this storage and these parameters in what no statement can say."""
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


def _sayable(items: Sequence[Any], say: Callable[[Any], str]) -> tuple[list[Any], list[Leftover]]:
    """The items that a statement can say, and why the others cannot be said."""
    found: list[Any] = []
    left: list[Leftover] = []
    for item in items:
        try:
            say(item)
        except UnsayableError as error:
            left.append(Leftover(str(error)))
        else:
            found.append(item)
    return found, left


def _told(left: Iterable[Leftover]) -> tuple[Leftover, ...]:
    """Each leftover once, with the number of partitions that it is about."""
    return tuple(
        Leftover(f"{leftover.what} (partitions: {count})", harmless=leftover.harmless)
        for leftover, count in Counter(left).items()
    )
