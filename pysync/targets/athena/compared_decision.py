"""The decision of an Athena target about an object that is compared. Pure."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.athena.decisions import Decision, Leftover, marks
from pysync.targets.athena.partition_decisions import decide_put
from pysync.targets.athena.table_decisions import decide_database, decide_table, inexpressible_reason


def decision_of(
    expected: Any, existing: Any | None, table: Any | None, with_owner: Callable[[Any | None], Any | None]
) -> Decision:
    """What it would do to bring the object that is `existing` to `expected`, whoever owns it."""
    if isinstance(expected, hive.Function):
        return Decision((), (Leftover("a Hive function"),))
    if isinstance(expected, hive.Database):
        return decide_database(_marked(with_owner(expected), existing), with_owner(existing))
    if isinstance(expected, hive.Table):
        return decide_table(_marked(expected, existing), existing)
    reason = inexpressible_reason(table)
    if reason is not None:
        return Decision((), (Leftover(reason),))
    return decide_put(
        table, [expected], {tuple(expected.values): existing} if existing is not None else {}, only_ddl=True
    )


def _marked(wanted: Any, existing: Any | None) -> Any:
    """The wanted object with the mark of the one at the target, so that marks make no difference."""
    if existing is None:
        return wanted
    marked = copy(wanted)
    marked.parameters = {**(wanted.parameters or {}), **marks(existing.parameters)}
    return marked
