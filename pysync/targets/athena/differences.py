"""The decision of an Athena target about an object that is compared. Pure."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.athena.decision import Decision, Leftover, marks
from pysync.targets.athena.partitions import decide_put
from pysync.targets.athena.tables import decide_database, decide_table, unsayable


def decision_of(
    kept: Any, there: Any | None, table: Any | None, with_owner: Callable[[Any | None], Any | None]
) -> Decision:
    """What it would do to bring the object that is `there` to `kept`, whoever owns it."""
    if isinstance(kept, hive.Function):
        return Decision((), (Leftover("a Hive function"),))
    if isinstance(kept, hive.Database):
        return decide_database(_marked(with_owner(kept), there), with_owner(there))
    if isinstance(kept, hive.Table):
        return decide_table(_marked(kept, there), there)
    reason = unsayable(table)
    if reason is not None:
        return Decision((), (Leftover(reason),))
    return decide_put(table, [kept], {tuple(kept.values): there} if there is not None else {}, only_ddl=True)


def _marked(wanted: Any, there: Any | None) -> Any:
    """The wanted object with the mark of the one at the target, so that marks make no difference."""
    if there is None:
        return wanted
    found = copy(wanted)
    found.parameters = {**(wanted.parameters or {}), **marks(there.parameters)}
    return found
