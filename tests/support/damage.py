"""What a disk does to a file that it should have kept: bits flip, sectors are lost, pages change places."""

from __future__ import annotations

import random

PAGE = 4096
SECTOR = 512


def flipped_bit(data: bytearray, chance: random.Random) -> str:
    """One bit anywhere."""
    at, bit = chance.randrange(len(data)), chance.randrange(8)
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at} flipped"


def garbled_bytes(data: bytearray, chance: random.Random) -> str:
    """Up to 16 bytes that are others."""
    at, size = chance.randrange(len(data)), chance.randrange(1, 17)
    data[at : at + size] = chance.randbytes(min(size, len(data) - at))
    return f"{size} bytes from {at} garbled"


def zeroed_sector(data: bytearray, chance: random.Random) -> str:
    """A sector that was never written."""
    at = chance.randrange(len(data) // SECTOR) * SECTOR
    data[at : at + SECTOR] = bytes(SECTOR)
    return f"sector at {at} zeroed"


def garbled_sector(data: bytearray, chance: random.Random) -> str:
    """A sector of something else."""
    at = chance.randrange(len(data) // SECTOR) * SECTOR
    data[at : at + SECTOR] = chance.randbytes(SECTOR)
    return f"sector at {at} garbled"


def swapped_pages(data: bytearray, chance: random.Random) -> str:
    """Two pages, each where the other should be."""
    one, other = (it * PAGE for it in chance.sample(range(len(data) // PAGE), 2))
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]
    return f"pages at {one} and {other} swapped"


def stale_page(data: bytearray, chance: random.Random) -> str:
    """A page that holds what is in another."""
    one, other = (it * PAGE for it in chance.sample(range(len(data) // PAGE), 2))
    data[one : one + PAGE] = data[other : other + PAGE]
    return f"page at {one} has the content of that at {other}"


KINDS = (flipped_bit, flipped_bit, flipped_bit, garbled_bytes, zeroed_sector, garbled_sector, swapped_pages, stale_page)
