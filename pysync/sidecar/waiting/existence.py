"""Existence: a name that nobody has is refused, so that no job goes on because of a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable

from pysync.base.errors import UsageError
from pysync.replay.drain import Drain
from pysync.sidecar.waiting.reaching import out_of_scope
from pysync.sidecar.why.ends import SILENT, EndsReader


def assert_exists(ends: EndsReader, drains: Iterable[Drain], name: str) -> None:
    """Raises UsageError for a database or table that neither the source nor any of the targets has now.

    An end that cannot be asked may have it, and so may a target whose scope leaves it out. A target is asked only for
    what the source does not have: one that hangs must not hold up everybody.
    """
    is_there, near = ends.at_source(name)
    if is_there is not False or any(_may_have(ends, drain, name) for drain in drains):
        return
    what, form = ("table", "db.table") if "." in name else ("database", "db")
    hint = f"did you mean {near}?" if near else f"write {form}, with the name at the source"
    raise UsageError(f"{what} {name} exists neither at the source nor at a target", hint)


def _may_have(ends: EndsReader, drain: Drain, name: str) -> bool:
    if drain.progress.state in SILENT or out_of_scope(drain.translator.policy, name):
        return True
    return ends.at_target(drain.settings, drain.translator.mapping.key(name)) is not False
