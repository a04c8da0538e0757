"""Crash points: named places in the code where a test can have the process die as if by a power cut.

PYSYNC_CRASH="append.committed:3" in the environment of a starting process makes it end itself (SIGKILL) the third time
that it comes by the point `append.committed`. Without it a point is a call of an empty function.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable

from pysync.base.errors import UsageError

VARIABLE = "PYSYNC_CRASH"

POINTS = (
    "append.written",  # events are in the transaction, which is not committed
    "append.committed",  # they are durable, and not acknowledged
    "append.answering",  # the bridge is about to say so
    "window.read",  # a target was given a window, and did nothing yet
    "apply.begun",  # an operation is about to go to the target
    "apply.done",  # the target has done it, all or one step of a refresh, and nobody wrote that down
    "advance.written",  # the new position is in the transaction, which is not committed
    "advance.committed",  # it is durable
    "park.written",  # as advance, for a window of which something was refused
    "park.committed",
    "trim.written",  # events are deleted in the transaction, which is not committed
    "trim.committed",
)


def armed(spelled: str | None) -> Callable[[str], None]:
    """What to call at every point, for the value of PYSYNC_CRASH. Raises UsageError for an unknown point."""
    if not spelled:
        return _pass
    point, _, count = spelled.partition(":")
    if point not in POINTS or not (count or "1").isdigit():
        raise UsageError(
            f"{VARIABLE}: there is no crash point {spelled!r}", f"write one of {', '.join(POINTS)}, then :COUNT"
        )
    hits, fatal = itertools.count(1), int(count or 1)  # the counter is safe in any number of threads

    def come_by(name: str) -> None:
        if name == point and next(hits) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    return come_by


def _pass(_: str) -> None:
    """Do nothing."""


crash_point = armed(os.environ.get(VARIABLE))
"""Call it with the name of the point; where nothing is armed it does nothing."""
