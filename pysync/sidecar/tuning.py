"""Tuning: what the sidecar asks of the Python that it runs in."""

from __future__ import annotations

import gc

_YOUNG, _MIDDLE, _OLD = 400_000, 20, 50


def collect_seldom() -> None:
    """Let the garbage collector look for cycles seldom.

    A window is a hundred thousand small objects that live for a moment and hold no cycles, so they go without it, and
    two or three windows are under way. With Python's own threshold (700) half of the drain's time was spent on looking
    at them, with that of one window a fifth (bench-replay, backlog).
    """
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
