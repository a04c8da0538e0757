"""One table, with its partitions and constraints, at both ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.constraints import Constraints, name_of, pairs
from pysync.model.definition import is_index
from pysync.model.names import TableName
from pysync.model.objects import OBJECTS
from pysync.replay.window.policy import typed_keys
from pysync.targets.base import Rejected, ReportsLosses, Target
from pysync.verify.findings import DIFFERENT, EQUAL, EXTRA, FOREIGN, MISSING, ComparedObject, listed
from pysync.verify.partitions import Keyed, Owner, PartitionTally, compare_few, excused
from pysync.verify.pool import ComparedEnds
from pysync.verify.rules import Rules

_ADAPTED = "the target keeps it as far as it can"
_KINDS = {struct: kind for kind, struct in OBJECTS.items()}


@dataclass(frozen=True, slots=True)
class SeenTable:
    """What was seen of a table: `compared` has the table, then its constraints. With `many` its partitions are to come.

    `stays` says why all of it is left as it is at the target; "" if it is not.
    """

    compared: tuple[ComparedObject, ...]
    many: Keyed | None = None
    stays: str = ""

    def judged(self) -> tuple[ComparedObject, ...]:
        """What was found; where it is left as it is, with the reason."""
        return tuple(
            replace(it, excuse=self.stays) if it.result != EQUAL and self.stays else it for it in self.compared
        )


def compare_table(ends: ComparedEnds, old: TableName, new: TableName, rules: Rules) -> SeenTable:
    """Compare a table that the source had a moment ago."""
    wanted = ends.source.table(old.database, old.table)
    if wanted is None or rules.policy.rule_against_definition(wanted) is not None:
        return compare_extra(ends, old, new, rules, wanted)
    if is_index(wanted):
        return SeenTable(())
    # These before `compared_with`, which rewrites `wanted` in place.
    stays = rules.stays(wanted)
    constraints = ends.source.constraints(wanted)
    frame, keys = rules.mapping.frame(wanted), typed_keys(wanted)
    there = ends.target.table(new)
    compared = compared_with(
        ends.target, rules, ComparedObject("table", str(new), EQUAL, source=str(old)), wanted, there
    )
    # What belongs to somebody else's table is not compared.
    if there is None or compared.result == FOREIGN:
        return SeenTable((compared,), stays=stays)
    more = tuple(_constraints(ends, rules, compared, rules.constraints(constraints), there))
    if not _have_same_partitions(wanted, there):
        return SeenTable((compared, *more), stays=stays)
    keyed = Keyed(old, new, keys)
    tally = compare_few(ends, Owner(keyed, frame, there), rules)
    if tally is None:
        return SeenTable((compared, *more), keyed, stays)
    return SeenTable((with_partitions(compared, tally), *more), stays=stays)


def compare_extra(
    ends: ComparedEnds, old: TableName, new: TableName, rules: Rules, wanted: Any | None = None
) -> SeenTable:
    """Look at a table of the target that the source does not have, or that is not in scope as the source has it."""
    there = ends.target.table(new)
    if there is None:
        return SeenTable(())
    compared = ComparedObject("table", str(new), EXTRA, source=str(old))
    names = rules.mapping.sources_of(new)
    in_scope = wanted is None and any(map(rules.policy.takes_table, names))
    return SeenTable((excused(compared, rules, there, in_scope=in_scope),))


def compared_with(
    target: Target, rules: Rules, blank: ComparedObject, wanted: Any, there: Any | None
) -> ComparedObject:
    """Compare a database or table of the source by the rules of target and ownership; `blank` names it.

    `wanted` is rewritten in place.
    """
    try:
        fields = target.differences(rules.rewritten(wanted), there)
    except Rejected as error:
        return rules.refused_object(blank, there, error)
    if there is None:
        return rules.missing_object(blank, wanted)
    rival = rules.rival(blank.source, there)
    if rival or (not rules.is_in_place(wanted, there) and rules.settings.on_conflict != "adopt"):
        return _of_others(rules, replace(blank, fields=listed(fields)), there, rival)
    if not fields:
        return _equal_or_adapted(target, blank, wanted)
    return replace(
        blank, result=DIFFERENT, fields=listed(fields), excuse=rules.excuse(blank.kind, DIFFERENT, blank.source)
    )


def _equal_or_adapted(target: Target, blank: ComparedObject, wanted: Any) -> ComparedObject:
    """What has the form in which the target can keep it: equal, unless the target lacks something for good."""
    lost = target.lost(wanted) if isinstance(target, ReportsLosses) else ()
    return replace(blank, result=DIFFERENT, fields=listed(lost), excuse=_ADAPTED) if lost else blank


def with_partitions(compared: ComparedObject, tally: PartitionTally) -> ComparedObject:
    """A table with what was found of its partitions."""
    fields = listed([*compared.fields, *tally.fields], len(compared.fields) + tally.differences)
    compared = replace(compared, parts=tally.parts)
    if tally.differences:
        return replace(compared, result=DIFFERENT, fields=fields, excuse="")
    if tally.excused and compared.result == EQUAL:
        return replace(
            compared,
            result=DIFFERENT,
            fields=listed(tally.excused),
            excuse="all differences are in partitions, and are allowed",
        )
    return compared


def _of_others(rules: Rules, compared: ComparedObject, there: Any, rival: str) -> ComparedObject:
    """What stands in the place of ours. A database may; a table is drift unless the settings allow it.

    `rival` is the object of the same source whose copy it is, if it is one.
    """
    excuse = f"the copy of {rival}" if rival else rules.owner_text(there)
    if compared.kind == "database":
        return replace(compared, result=FOREIGN if compared.fields else EQUAL, excuse=excuse if compared.fields else "")
    if rules.settings.on_conflict == "skip" and not rival:
        return replace(compared, result=FOREIGN, excuse=f'{excuse}, on_conflict = "skip"')
    return replace(compared, result=FOREIGN, fields=(f"another object has this name: {excuse}", *compared.fields))


def _have_same_partitions(wanted: Any, there: Any) -> bool:
    """Whether both have partitions by the same keys. If not, the table itself is reported as different."""
    keys = [key.name.lower() for key in wanted.partitionKeys or ()]
    return bool(keys) and keys == [key.name.lower() for key in there.partitionKeys or ()]


def _constraints(
    ends: ComparedEnds, rules: Rules, table: ComparedObject, wanted: Constraints, there: Any
) -> Iterator[ComparedObject]:
    """The constraints of the kinds that both ends have."""
    at_target = ends.target.constraints(there) if wanted else {}
    for kind in wanted.keys() & at_target.keys():
        for mine, other in pairs(wanted[kind], at_target[kind]):
            blank = ComparedObject(
                "constraint", f"{table.name}.{name_of((mine or other)[0])}", EQUAL, source=table.source
            )
            if not mine:
                yield replace(blank, result=EXTRA, excuse=rules.excuse("constraint", EXTRA, table.source))
            elif fields := ends.target.differences(mine, other or None):
                result = DIFFERENT if other else MISSING
                excuse = rules.excuse("constraint", result, table.source, _KINDS[kind])
                yield replace(blank, result=result, fields=listed(fields) if other else (), excuse=excuse)
