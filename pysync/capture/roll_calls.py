"""Roll calls: whether every listener has reported since a moment, and so whether its earlier changes have come.

The answer to a listener's report names the newest roll call, and the listener's next report says which one it has
heard. It asks for that before it asks how many events there are. So a report that has heard of a roll call counts every
event whose callback had ended when the roll call began, whatever the clocks say and however long reports take.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pysync.capture.clocks import MOST_LISTENERS

_HEARD = re.compile(r"([0-9a-f]{8})-([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class HeardCall:
    """The newest roll call that a listener has heard, and the last number that it had given to an event since then."""

    call: int
    sequence: int


@dataclass(slots=True)
class RollCalls:
    """The roll calls of this process, from any thread. Listeners that heard one of another process have heard none."""

    _process: str = field(default_factory=lambda: secrets.token_hex(4))
    _newest: int = 0
    _answers: dict[str, HeardCall] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> int:
        """Begin a roll call; returns its number. It is over for a listener whose `answered` has that number or more."""
        with self._lock:
            self._newest += 1
            return self._newest

    def answer_report(self, instance: str, sequence: int, report: Mapping[str, Any]) -> str:
        """Note a report of a listener; returns what to answer.

        `ok`, and to a report of every two seconds the newest roll call, with `soon` if the listener did not know it.
        """
        answer = report.get("heard")
        # A report with events still waiting was sent before them: it says nothing of what has come.
        if report.get("waiting") != 0 or not isinstance(answer, str):
            return "ok"
        call = self._number_of(answer)
        with self._lock:
            if len(self._answers) < MOST_LISTENERS or instance in self._answers:
                self._answers[instance] = HeardCall(call, sequence)
            newest = self._newest
        return f"ok {self._process}-{newest}" + (" soon" if call < newest else "")

    def answered(self, instance: str) -> HeardCall | None:
        """What a listener has answered last; None if it has not reported to this process."""
        with self._lock:
            return self._answers.get(instance)

    def _number_of(self, text: str) -> int:
        """The number of a roll call of this process; 0 for any other text."""
        match = _HEARD.fullmatch(text)
        return int(match[2]) if match and match[1] == self._process else 0
