"""Moves the classes of a package into another one, by the names in their class files.

All names of a class file are texts of its constant pool (The Java Virtual Machine Specification, 4.4): those of classes
(`py4j/Protocol`), those within descriptors and signatures (`([Lpy4j/Protocol;I)V`), and what the program has as string
constants. Code refers to the pool by number, so that a text may become longer and nothing else changes.
"""

import re
import struct
from collections.abc import Iterator

MAGIC = b"\xca\xfe\xba\xbe"
UTF8, STRING = 1, 8
WIDE = (5, 6)  # long and double count as two entries
SIZES = {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}
LONGEST = 0xFFFF
BEFORE_A_TYPE = rb"[()<>;:*+\-^\[BCDFIJSZ]"


class RelocationError(Exception):
    """No class file, or one whose names cannot be told from what the program says."""


def relocate(code: bytes, old: str, new: str) -> bytes:
    """The class file with package `old` renamed to `new`, both as in `org/pysync`.

    Raises RelocationError for a string constant that holds the old name: only the program knows whether it is one.
    """
    entries = dict(pool(code))
    end = 10 + sum(map(len, entries.values()))
    spoken = {struct.unpack(">xH", entry)[0] for entry in entries.values() if entry[0] == STRING}
    for number, entry in entries.items():
        if entry[0] == UTF8:
            if number in spoken and old.encode() in entry[3:]:
                raise RelocationError(f"a string constant names {old}: {entry[3:].decode(errors='replace')}")
            entries[number] = renamed(entry, old, new)
    return code[:10] + b"".join(entries.values()) + code[end:]


def pool(code: bytes) -> Iterator[tuple[int, bytes]]:
    """The entries of the constant pool with their numbers, in order."""
    if code[:4] != MAGIC or len(code) < 10:
        raise RelocationError("this is no class file")
    (count,) = struct.unpack_from(">H", code, 8)
    number, at = 1, 10
    while number < count:
        end = at + size(code, at)
        if end > len(code):
            raise RelocationError("this class file is cut off")
        yield number, code[at:end]
        number, at = number + (2 if code[at] in WIDE else 1), end


def size(code: bytes, at: int) -> int:
    """How many bytes the entry takes that begins there."""
    head = code[at : at + 3]
    if len(head) < 3:
        raise RelocationError("this class file is cut off")
    if head[0] == UTF8:
        return 3 + int.from_bytes(head[1:], "big")
    if head[0] not in SIZES:
        raise RelocationError(f"the constant pool has an entry of the unknown kind {head[0]}")
    return SIZES[head[0]]


def renamed(entry: bytes, old: str, new: str) -> bytes:
    """A text in which each name of the package is the new one: at its begin, and after an L that begins a type."""
    names = rb"(\A|\AL|(?<=" + BEFORE_A_TYPE + rb")L)" + re.escape(old.encode()) + rb"/"
    text = re.sub(names, rb"\g<1>" + new.encode() + rb"/", entry[3:])
    if len(text) > LONGEST:
        raise RelocationError(f"a text of {len(entry) - 3} bytes has no room for longer names")
    return struct.pack(">BH", UTF8, len(text)) + text
