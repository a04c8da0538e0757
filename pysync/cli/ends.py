"""Ends that hang: a command that reads source and targets by itself first asks them whether they answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import closing
from functools import partial

from pysync.base.bounded import Questions
from pysync.cli.output import echo
from pysync.config import Config
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

_SECONDS = 30.0
_SILENT_SECONDS = 3.0
_ALWAYS_THERE = "default"


def assert_ends_answer(config: Config, targets: Sequence[TargetSettings], *, source: bool = True) -> None:
    """Ask these targets, and the source, all at once. Says on standard error which of them it waits for.

    Raises NoAnswer, which names the end, after half a minute. Any answer will do, an error as well: the command comes
    upon it. A Spark session is not asked: to start it may take as long.
    """
    access = config.source_access() if source else None
    jobs: dict[str, Callable[[], object]] = {} if access is None else {"the source": partial(_ask_source, access)}
    jobs |= {f"target {it.name}": partial(_ask_target, it) for it in targets if it.kind != "spark"}
    questions = Questions()
    asked = [questions.begin(place, job, _SECONDS) for place, job in jobs.items()]
    wait([it.future for it in asked], _SILENT_SECONDS)
    if late := [it.place for it in asked if not it.future.done()]:
        echo(f"waiting for {' and '.join(late)}", err=True)
    for it in asked:
        wait([it.future], max(0.0, it.until - time.monotonic()))
        if not it.future.done():
            it.answer()


def _ask_source(access: MetastoreAccess) -> None:
    # It is waited for above, not here: an error would count as its answer.
    with closing(Metastore(access, timeout=2 * _SECONDS)) as metastore:
        metastore.database(_ALWAYS_THERE)


def _ask_target(settings: TargetSettings) -> None:
    with closing(target_kind(settings.kind).open(settings)) as target:
        target.database(_ALWAYS_THERE)
