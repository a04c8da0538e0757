"""The kinds of targets, found by the entry points `pysync.targets`: a package may bring its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any

from pysync.base.errors import UsageError
from pysync.base.installation import install_extra
from pysync.base.text import meant, quoted
from pysync.targets.base import Target
from pysync.targets.settings import TargetSettings

GROUP = "pysync.targets"


@dataclass(frozen=True, slots=True)
class TargetKind:
    """What an entry point of `pysync.targets` names: the settings of a kind, and how to open a target with them."""

    settings: type[TargetSettings]
    open: Callable[[Any], Target]


@cache
def installed() -> EntryPoints:
    """The entry points of all kinds. Read once: the metadata of every package that is installed takes some 10 ms."""
    return entry_points(group=GROUP)


def kind_names() -> list[str]:
    """The kinds that are installed, sorted."""
    return sorted(installed().names)


def target_kind(name: str) -> TargetKind:
    """The kind of that name. Raises UsageError when there is none, or when its extra is not installed."""
    for point in installed().select(name=name):
        try:
            kind: TargetKind = point.load()
        # pysync installs the entry points of all its kinds, but the libraries of a kind only with its extra.
        except ImportError as error:
            raise UsageError(f"target kind {name!r} needs the package {error.name}", _extra(name)) from error
        return kind
    raise UsageError(f"there is no target kind {quoted(name)}", meant(name, kind_names(), "use one of"))


def _extra(name: str) -> str:
    return f"install it: {install_extra({'athena': 'aws', 'glue': 'aws'}.get(name, name))}"
