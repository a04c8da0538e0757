"""Again: the message, called a word, that has an object read anew by clusters which replicate to each other. Pure.

A word must get through whether its object exists or not. So it is a function that is created in `default` and dropped
at once: its class name says which object is meant, and which path the word has taken (docs/both-ways.md).
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
"""The database of these functions: every metastore has it."""

_SAYS = "pysync.again "
_NAMED = "pysync_again_"
_MOST_WORDS = 4

WORD = re.compile(rf"{_NAMED}[0-9a-f]{{16}}".encode())
"""The name of a word in the bytes of an event. Words with the same content and path have the same name."""


@dataclass(frozen=True, slots=True)
class Again:
    """What to read anew: a table, a function, or the definition of a database without its contents.

    Without a database: everything, because the cluster `home` may have lost changes.

    `home` is the object's home, as far as the speaker knows it (""). `path` lists the clusters that said this before,
    in order: with the home among them it is the home's state, else a question to the home. Reading the object may find
    a conflict, which causes the next word. `words` counts these; more than a few are a loop.
    """

    database: str
    table: str = ""
    function: str = ""
    home: str = ""
    path: Sequence[str] = ()
    words: int = 1

    @property
    def is_worth_saying(self) -> bool:
        """Whether it is no loop of clusters that take each other for the home."""
        return self.words <= _MOST_WORDS

    def told_by(self, speaker: str) -> Any:
        """The hive.Function that says so; words of different speakers have different names."""
        # Two clusters may say the same at once: with one name the second create would fail, and only one be heard.
        text = json.dumps(asdict(self) | {"path": list(self.path)})
        name = _NAMED + sha256(f"{speaker} {text}".encode()).hexdigest()[:16]
        return hive.Function(name, PLACE, _SAYS + text, speaker, hive.PrincipalType.USER, 0, 1, [])

    def attributes(self) -> dict[str, str]:
        """The attributes of the refresh that the word asks for. The object may be absent by now."""
        names = {"database": self.database, "table": self.table, "function": self.function}
        return {key: name for key, name in names.items() if name} | {
            "again": "true",
            "home": self.home,
            "absent": "true",
            "words": str(self.words),
        }


def is_word(function: str) -> bool:
    """Whether a function of that name is such a word, not a real function."""
    return function.lower().startswith(_NAMED)


def says_again(function: Any) -> bool:
    """Whether a hive.Function is such a word, not a real function."""
    return is_word(function.functionName) and str(function.className or "").startswith(_SAYS)


def again_of(function: Any) -> Again:
    """The content of a word. Raises ValueError if pysync did not create the function."""
    try:
        fields: Mapping[str, Any] = json.loads(str(function.className).removeprefix(_SAYS))
        names = {key: str(fields[key]) for key in ("database", "table", "function", "home")}
        return Again(**names, path=tuple(map(str, fields["path"])), words=int(fields["words"]))
    except (TypeError, KeyError) as error:
        raise ValueError(f"no word of pysync: {function.className}") from error
