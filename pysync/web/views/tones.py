"""Tones: how urgent something is. The page shows each by a shape and a word, and by a colour beside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

GOOD, WARN, BAD, IDLE = "good", "warn", "bad", "idle"

_ORDER = (BAD, WARN, IDLE, GOOD)
_STATES = {
    "running": GOOD,
    "finished": GOOD,
    "heard": GOOD,
    "shadow": IDLE,
    "disabled": IDLE,
    "starting": IDLE,
    "expected": IDLE,
    "waiting": WARN,
    "paused": WARN,
    "failing": BAD,
    "stopped": BAD,
    "silent": BAD,
}
_OUTCOMES = {
    **dict.fromkeys(("applied", "done"), GOOD),
    **dict.fromkeys(("unchanged", "stale", "foreign", "shadowed", "unsupported", "kept"), IDLE),
    **dict.fromkeys(("failed", "waits", "conflict", "held"), WARN),
    **dict.fromkeys(("parked", "refused"), BAD),
}
OUTCOMES = tuple(_OUTCOMES)
"""The outcomes that the journal knows, as the filter offers them."""


def tone_of_state(state: str) -> str:
    """The tone of a worker's, target's or listener's state."""
    return _STATES.get(state, IDLE)


def tone_of_outcome(outcome: str) -> str:
    """The tone of what happened to an operation."""
    return _OUTCOMES.get(outcome, IDLE)


def tone_of_target(target: Mapping[str, Any]) -> str:
    """The tone of a target as a whole: its state, and whether anything is parked or has drifted."""
    if target.get("state") == "disabled":
        return IDLE
    own = BAD if target.get("brake") else tone_of_state("paused" if target.get("paused") else str(target.get("state")))
    has_drifted = bool((target.get("verify") or {}).get("drift"))
    return worst_tone([own, WARN if target.get("parked") or has_drifted else GOOD])


def urgency(tone: str) -> int:
    """The place of a tone in the order of urgency."""
    return _ORDER.index(tone)


def worst_tone(tones: Iterable[str]) -> str:
    """The most urgent of these tones; good if there is none."""
    return min(tones, key=urgency, default=GOOD)
