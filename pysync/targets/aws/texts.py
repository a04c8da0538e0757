"""The texts that Glue takes: how long they may be, and with which characters. Pure.

Lengths count in UTF-16 units, as Glue's service (in Java) counts. Its documentation says bytes in places, but it takes
comments that are longer than 255 bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pysync.base.text import count
from pysync.base.text import shown as in_words
from pysync.targets.base import Rejected

# Characters, as they stand between the brackets of a regular expression.
_LINE = r"\t\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff"
_LINES = r"\r\n" + _LINE
_ANY = r"\s\S"
_S3 = re.compile(r"s3[an]://", re.IGNORECASE)
_SHOWN = 60  # characters of a text that an error quotes


@dataclass(frozen=True, slots=True)
class TextLimit:
    """How long one kind of text may be, and which characters it may have."""

    longest: int
    characters: str = _LINE
    shortest: int = 0


NAME = TextLimit(255, shortest=1)
OPTIONAL_NAME = TextLimit(255)  # left out where it is empty
KEY = TextLimit(255, shortest=1)
VALUE = TextLimit(512_000, _ANY)
TYPE = TextLimit(131_072)
COMMENT = TextLimit(255)
DESCRIPTION = TextLimit(2048, _LINES)
LOCATION = TextLimit(2056, _LINES)
DATABASE_LOCATION = TextLimit(1024, _LINES, shortest=1)
URI = TextLimit(1024, _LINES, shortest=1)
FORMAT = TextLimit(128)
VIEW_TEXT = TextLimit(409_600, _ANY)
RESOURCES = 1000
"""The most files that a function has."""
PARTITION_VALUE = TextLimit(1024, _ANY, shortest=1)


def checked(limit: TextLimit, text: str, name: str) -> str:
    """The text, if Glue takes it. Raises Rejected, which says what it is and what is wrong with it."""
    if not limit.shortest <= length(text) <= limit.longest:
        raise Rejected(
            f"{name} has {count(length(text), 'character')}; Glue accepts {limit.shortest} to {limit.longest:,}"
        )
    if not re.fullmatch(f"[{limit.characters}]*", text):
        raise Rejected(f"{name} has characters that Glue does not accept: {shown(text)}")
    return text


def fitted(limit: TextLimit, text: str, name: str, changes: list[str]) -> str:
    """The text as Glue takes it, other characters made spaces and the end cut off; what was done goes to `changes`."""
    plain = re.sub(f"[^{limit.characters}]", " ", text)
    if plain != text:
        changes.append(f"{name}: characters that Glue does not accept are replaced by spaces")
    if length(plain) <= limit.longest:
        return plain
    changes.append(f"{name}: cut from {length(plain):,} to {limit.longest:,} characters")
    # The cut may go through a surrogate pair: "ignore" drops the first half.
    return plain.encode("utf-16-le")[: 2 * limit.longest].decode("utf-16-le", "ignore")


def length(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def shown(value: object) -> str:
    """The beginning of a text, or of a list of them, as it can be printed in a line."""
    text = in_words(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def s3_location(location: str) -> str:
    """A location with the scheme that Athena and Glue know, where Hadoop's is s3a or s3n."""
    return _S3.sub("s3://", location, count=1) if _S3.match(location) else location
