"""What an Athena target would write, of all in which its objects differ by Glue's rules. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.athena.decision import Decision, Leftover, marks
from pysync.targets.athena.partitions import decide_put
from pysync.targets.athena.session import database_as_kept, partition_as_kept, table_as_kept
from pysync.targets.athena.tables import decide_database, decide_table, unsayable
from pysync.targets.base import Rejected

# What Hive's DDL writes into a table that it alters.
_ENGINES = ("Parameters.last_modified_by: ", "Parameters.last_modified_time: ")


def written_differences(
    found: Sequence[str], wanted: Any, there: Any | None, table: Any | None, *, only_ddl: bool
) -> list[str]:
    """The differences `found` by Glue's rules, if anything would be written for them.

    With `only_ddl` what statements do not say, and nobody misses, is none. Raises Rejected, with the reasons, where it
    is missed: the change of it is parked.
    """
    decision = _decision(wanted, there, table)
    if only_ddl and decision.needed:
        raise Rejected("no statement of Athena says it: " + "; ".join(decision.needed))
    if decision.is_nothing or (only_ddl and not decision.statements):
        return []
    return [line for line in found if not line.startswith(_ENGINES)] or list(found)


def _decision(wanted: Any, there: Any | None, table: Any | None) -> Decision:
    if isinstance(wanted, hive.Function):
        return Decision((), (Leftover("a function of Hive's"),))
    if isinstance(wanted, hive.Database):
        return decide_database(_marked(database_as_kept(wanted), there), there and database_as_kept(there))
    if isinstance(wanted, hive.Table):
        return decide_table(_marked(table_as_kept(wanted), there), there)
    reason = unsayable(table)
    if reason is not None:
        return Decision((), (Leftover(reason),))
    kept = partition_as_kept(wanted, table)
    return decide_put(table, [kept], {tuple(kept.values): there} if there is not None else {}, only_ddl=True)


def _marked(wanted: Any, there: Any | None) -> Any:
    """With the mark that the one at the target has: whose it is, is not asked here."""
    if there is not None:
        wanted.parameters = {**(wanted.parameters or {}), **marks(there.parameters)}
    return wanted
