"""Existence: a name that nobody has is refused, so that no job goes on because of a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable

from pysync.base.errors import UsageError
from pysync.replay.drain import Drain
from pysync.sidecar.why.ends import SILENT, EndsReader


def assert_exists(ends: EndsReader, drains: Iterable[Drain], name: str) -> None:
    """Raises UsageError for a database or table that neither the source nor any of the targets has now.

    An end that cannot be asked may have it.
    """
    presence = None
    for drain in drains:
        at_target, answers = drain.translator.mapping.key(name), drain.progress.state not in SILENT
        presence = ends.read(drain.settings, name, at_target, target_answers=answers)
        if presence.at_source is not False or presence.at_target is not False:
            return
    if presence is not None:
        what, form = ("table", "db.table") if "." in name else ("database", "db")
        hint = f"did you mean {presence.near}?" if presence.near else f"write {form}, with the name at the source"
        raise UsageError(f"{what} {name} exists neither at the source nor at a target", hint)
