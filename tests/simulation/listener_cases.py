"""What a listener does in some cases: the jar (tests/listener/test_cases.py) and its model here do the same.

Steps are words: `create NAME [PADDING]`; `gone` and `back` (the sidecar, which is gone in the beginning), `no_room` and
`room` (it refuses events, or takes them), `unheard` and `heard` (its answers get lost, or come); `kill` (of the
metastore, and the next process begins); `quiet`, `noticed` and `refused` (time passes: until all is delivered, until
the listener knows that the sidecar is gone, or until some more tries have failed).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("listener_cases.json")


@dataclass(frozen=True, slots=True)
class Case:
    """Events are named `PROCESS/SEQUENCE NAME`: what `came`, each once, in order; what came again (`repeated`); what is
    `spooled` in the end. `calls` are the numbers of events in each call, `ended` the processes that are told of as
    dead; `reported` is the last report. None: not looked at.
    """

    case: str
    steps: Sequence[str]
    came: Sequence[str]
    spooled: Sequence[str] = ()
    repeated: Sequence[str] = ()
    calls: Sequence[int] | None = None
    ended: Sequence[int] = ()
    reported: dict[str, Any] | None = None


@dataclass(slots=True)
class Seen:
    """What a sidecar got: all events as they came, the calls they came in, reports; and what is spooled in the end."""

    came: list[str] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    reported: dict[str, Any] | None = None
    spooled: list[str] = field(default_factory=list)

    def report(self, shown: dict[str, Any], process: int) -> None:
        """Note a report of this process."""
        if shown.get("ended"):
            self.ended += [] if process in self.ended else [process]
        else:
            kept = {key: shown[key] for key in ("sequence", "lost")}
            self.reported = {"process": process, **kept, "waiting": shown["waiting"] > 0}

    def as_asked(self, case: Case) -> Case:
        """The same case, with what was seen for what is looked at."""
        repeated = [event for event, count in Counter(self.came).items() if count > 1]
        return Case(
            case.case,
            case.steps,
            list(dict.fromkeys(self.came)),
            self.spooled,
            repeated,
            None if case.calls is None else self.calls,
            sorted(self.ended),
            None if case.reported is None else self.reported,
        )


def cases() -> list[Case]:
    """All of them."""
    return [Case(**{"spooled": [], "repeated": [], "ended": [], **it}) for it in json.loads(_FILE.read_text("utf-8"))]
