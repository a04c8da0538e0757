"""The kinds of targets, found by the entry points `pysync.targets`: a package may bring its own."""

from __future__ import annotations

from importlib.metadata import entry_points

from pysync.errors import UsageError
from pysync.targets.base import TargetKind
from pysync.text import meant, quoted

GROUP = "pysync.targets"


def kind_names() -> list[str]:
    """The kinds that are installed, sorted."""
    return sorted(point.name for point in entry_points(group=GROUP))


def target_kind(name: str) -> TargetKind:
    """The kind of that name. Raises UsageError when there is none, or when its extra is not installed."""
    for point in entry_points(group=GROUP, name=name):
        try:
            kind: TargetKind = point.load()
        # pysync installs the entry points of all its kinds, but the libraries of a kind only with its extra.
        except ImportError as error:
            raise UsageError(f"target kind {name!r} needs the package {error.name}", _extra(name)) from error
        return kind
    raise UsageError(f"there is no target kind {quoted(name)}", meant(name, kind_names(), "use one of"))


def _extra(name: str) -> str:
    extra = {"athena": "aws", "glue": "aws"}.get(name, name)
    return f"install it: pip install 'pysync[{extra}]'"
