"""Again: the word by which clusters that replicate to each other have an object read anew (docs/both-ways.md). Pure.

It has to be told whatever it is of, be that there or not. So a function tells it, which is made in `default` and
dropped at once: its class name says what is meant, and which way the word took.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

PLACE = "default"
"""The database in which it is said: each metastore has it."""

_SAYS = "pysync.again "
_NAMED = "pysync_again_"
_MOST_WORDS = 4

WORD = re.compile(rf"{_NAMED}[0-9a-f]{{16}}".encode())
"""The name of a word in the bytes of an event; the same of all that say the same on the same way."""


@dataclass(frozen=True, slots=True)
class Again:
    """What is to be read anew: a table, a function, or of a database the definition alone.

    `home` is where it is at home, as far as who says it knows (""). `path` are the clusters where this was said before,
    in order: with the home among them it is the home's word, else a question to the home. What it said may be a
    conflict again, of which the next word tells: `words` counts them. There are no more than a few; more is a loop.
    """

    database: str
    table: str = ""
    function: str = ""
    home: str = ""
    path: Sequence[str] = ()
    words: int = 1

    @property
    def is_worth_saying(self) -> bool:
        """Whether it is no loop of those who take each other for the home."""
        return self.words <= _MOST_WORDS

    def told_by(self, speaker: str) -> Any:
        """The hive.Function that says so; two of different speakers have different names."""
        text = json.dumps(asdict(self) | {"path": list(self.path)})
        name = _NAMED + sha256(f"{speaker} {text}".encode()).hexdigest()[:16]
        return hive.Function(name, PLACE, _SAYS + text, speaker, hive.PrincipalType.USER, 0, 1, [])

    def attributes(self) -> dict[str, str]:
        """Those of the refresh which it asks for; what was meant may be absent by now."""
        names = {"database": self.database, "table": self.table, "function": self.function}
        return {key: name for key, name in names.items() if name} | {
            "again": "true",
            "home": self.home,
            "absent": "true",
            "words": str(self.words),
        }


def is_word(function: str) -> bool:
    """Whether a function of that name is none, but such a word."""
    return function.lower().startswith(_NAMED)


def says_again(function: Any) -> bool:
    """Whether a hive.Function is no function, but such a word."""
    return is_word(function.functionName) and str(function.className or "").startswith(_SAYS)


def again_of(function: Any) -> Again:
    """What it says. Raises ValueError where somebody else has made it."""
    try:
        said: Mapping[str, Any] = json.loads(str(function.className).removeprefix(_SAYS))
        names = {key: str(said[key]) for key in ("database", "table", "function", "home")}
        return Again(**names, path=tuple(map(str, said["path"])), words=int(said["words"]))
    except (TypeError, KeyError) as error:
        raise ValueError(f"no word of pysync: {function.className}") from error
