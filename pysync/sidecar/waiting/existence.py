"""Existence: a name that nobody has is refused, so that no job goes on because of a misspelt one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pysync.base.errors import UsageError
from pysync.replay.drain import Drain
from pysync.sidecar.waiting.reaching import out_of_scope
from pysync.sidecar.why.ends import SILENT, EndsReader


def assert_known(ends: EndsReader, drains: Collection[Drain], name: str) -> None:
    """Raises as `assert_exist` for a name that is in the scope of all these targets."""
    if not any(out_of_scope(it.translator.policy, name) for it in drains):
        assert_exist(ends, drains, [name])


def assert_exist(ends: EndsReader, drains: Collection[Drain], names: Sequence[str]) -> None:
    """Raises UsageError for databases and tables that neither the source nor any of the targets has now.

    An end that does not answer may have them. A target is asked only for what the source does not have: one that hangs
    must not hold up everybody.
    """
    absent = ends.absent(names)
    if not absent or any(it.progress.state in SILENT for it in drains):
        return
    keys = ((it.settings, {name: it.translator.mapping.key(name) for name in absent}) for it in drains)
    for name in sorted(set(absent).intersection(*ends.absent_at(keys))):
        what, form = ("table", "db.table") if "." in name else ("database", "db")
        hint = f"did you mean {absent[name]}?" if absent[name] else f"write {form}, with the name at the source"
        raise UsageError(f"{what} {name} exists neither at the source nor at a target", hint)
