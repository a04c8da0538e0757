"""Text for people: what comes from outside (names, values, messages of servers) made harmless, and times."""

from __future__ import annotations

import re

# What moves the cursor, recolours or reorders what stands around it (Unicode's control and bidirectional characters,
# and its line separators); tabs and line feeds stay.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

LONGEST = 500
"""Characters of an error's message: it travels in logs, in status and on the web page."""


def plain(text: str) -> str:
    r"""The text with its control characters spelled out (`\x1b`), so that a terminal shows them and obeys none."""
    return _CONTROLS.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text in at most `longest` characters; what is cut off its end is an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def one_line(text: str, longest: int = LONGEST) -> str:
    """The text as one line of at most `longest` characters, as it may stand in a log, in status or on the web page."""
    return shortened(" ".join(text.split()), longest)


def clock(seconds: float) -> str:
    """`1:02:03`, `2:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
