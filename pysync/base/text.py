"""Text for people: what comes from outside (names, values, messages of servers) made harmless; numbers, sizes, times.

The commands and the page show the same value as the same text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from datetime import datetime
from difflib import get_close_matches
from typing import Any

UNKNOWN = "not known"
"""The text of a value that is None: an older part of pysync does not report it, or there is none yet."""

_STEPS = {"y": 31536000, "d": 86400, "h": 3600, "m": 60, "s": 1}

# What moves the cursor, recolours or reorders what stands around it (Unicode's control and bidirectional characters,
# and its line separators), and bytes that are no text (Python reads them as halves of surrogate pairs, which cannot be
# printed); tabs and line feeds stay. And what nobody sees, by which names differ that look the same (Unicode's property
# Default_Ignorable_Code_Point).
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

# Where a page begins that a server, or a proxy before it, answers instead of a message. `b'` is Python's, of bytes.
_PAGE = re.compile(r"(?:\bb['\"])?(?<!\w)<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^<>]*>([^<]+)", re.IGNORECASE)

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
_MOST_DIGITS = 19  # of a number of 64 bits
_JUST_NOW = 1.5  # seconds, before or after

_NEAR = 0.65  # of difflib: two letters exchanged in a word of three

LONGEST = 500
"""Characters of an error's message: it travels in logs, in status and on the web page."""


def plain(text: str) -> str:
    r"""The text with its control and invisible characters spelled out (`\x1b`), so that a terminal obeys none."""
    return _CONTROLS.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text in at most `longest` characters; what is cut off its end is an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def without_middle(text: str, longest: int) -> str:
    """The text in about `longest` characters: of a longer one the beginning and the end, which says what happened."""
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 2 :]}"


def last_line(text: str, longest: int = LONGEST) -> str:
    """The last line of a text, which says the most where it is a traceback."""
    return shortened((text.strip().splitlines() or [""])[-1], longest)


def one_line(text: str, longest: int = LONGEST) -> str:
    """The text as one line of at most `longest` characters, as it may stand in a log, in status or on the web page.

    An HTML page in it is replaced by its title.
    """
    return shortened(" ".join(without_pages(text).split()), longest)


def without_pages(text: str) -> str:
    """The text with the title of an HTML page in place of the page."""
    page = _PAGE.search(text)
    if page is None:
        return text
    title = _TITLE.search(text, page.end())
    name = f", {' '.join(title[1].split())!r}" if title else ""
    return f"{text[: page.start()].rstrip()} an HTML page{name}"


def quoted(text: str, longest: int = 80) -> str:
    """The text in quotes, in one line, as a message names what somebody wrote."""
    return as_written(shortened(text, longest))


def as_written(text: str) -> str:
    """The text in quotes, with backslashes as somebody wrote them: `repr` doubles them."""
    return repr(text).replace("\\\\", "\\")


def shown(value: Any) -> str:
    """A value of whatever type: a text in quotes, what has parts as JSON, and `nothing` for None."""
    if isinstance(value, (str, float)):  # a float may be inf, which JSON does not know
        return repr(value)
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def meant(given: str, known: Collection[str], listed: str = "known") -> str:
    """What to write instead of `given`, as a hint: the nearest of the `known` words, else all of them.

    `did you mean dr?`, `its targets: dr, lake`; `listed` is what stands before all of them.
    """
    near = nearest(given, known)
    return f"did you mean {near}?" if near else f"{listed}: {', '.join(known) or 'none'}"


def nearest(given: str, known: Collection[str]) -> str | None:
    """The one of the `known` words that is most like `given`; None if none is."""
    words = {_bare(word): word for word in known}
    near = get_close_matches(_bare(given), words, n=1, cutoff=_NEAR)
    return words[near[0]] if near else None


def error_text(error: BaseException) -> str:
    """What an error says, without Python's words round it: of the system's errors neither number nor file."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _bare(word: str) -> str:
    return word.strip().lower().lstrip("-")


def whole_number(text: str) -> int | None:
    """The number in a text from outside of up to 19 ASCII digits; None for any other text.

    Python's int() takes the digits of all scripts, fails at some that isdigit() takes, and at thousands of them.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def count(number: int, word: str, plural: str | None = None) -> str:
    """`1 partition`, `1,200 partitions`; `plural` is for words that take more than an s."""
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"


def span(word: str, first: int, last: int) -> str:
    """`event 2`, `events 2 to 4`."""
    return f"{word} {first}" if first == last else f"{word}s {first} to {last}"


def number(value: float | None) -> str:
    """`1,234`, `5.2`: one decimal place for fractions below 100."""
    if value is None:
        return UNKNOWN
    return f"{value:,.1f}" if value % 1 and value < 99.95 else f"{value:,.0f}"


def size(count_: float | None) -> str:
    """A number of bytes as `512 B`, `1.5 KiB`, `81 GiB`."""
    if count_ is None:
        return UNKNOWN
    value, units = float(count_), list(_SIZES)
    while value >= 1023.5 and len(units) > 1:  # 1023.5 would be shown as 1,024
        value, units = value / 1024, units[1:]
    has_fraction = value < 9.95 and units[0] != "B"
    return f"{value:,.1f} {units[0]}" if has_fraction else f"{value:,.0f} {units[0]}"


def duration(seconds: float | None) -> str:
    """`0 s` (also for less), `3 ms`, `12.4 s`, `5m 3s`, `2h 5m`, `9d 4h`, `3y 9d`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0.0005:
        return "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _STEPS["m"] - 0.05:
        return f"{seconds:.1f} s"
    left, parts = round(seconds), list[str]()
    for unit, length in _STEPS.items():
        number, left = divmod(left, length)
        if number or parts:
            parts.append(f"{number}{unit}")
    return " ".join(it for it in parts[:2] if not it.startswith("0"))


def ago(at: float | None, now: float) -> str:
    """`just now`, `12 s ago`, `2h 5m ago`, `in 3m`; both times are in seconds since 1970."""
    if at is None:
        return UNKNOWN
    seconds = abs(now - at)
    if seconds < _JUST_NOW:
        return "just now"
    text = f"{seconds:.0f} s" if seconds < _STEPS["m"] - 0.5 else duration(max(seconds, _STEPS["m"]))
    return f"{text} ago" if now > at else f"in {text}"


def local_time(seconds: float) -> str:
    """`2026-11-23 12:40:02+01:00`: a time in seconds since 1970, in this machine's zone; all commands show it so."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")


def toml_string(value: str) -> str:
    """The text as TOML writes it, in quotes."""
    # JSON leaves DEL as it is, and TOML forbids it.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
