"""What was answered last, in a small file beside the queue: SQLite rolls a damaged log back without a word.

It is written after every commit of events or gaps, and not flushed: a commit would take twice as long. So it knows of
all that was answered when a process dies; after a power cut it may know less, but never more than was answered. What a
power cut takes of a damaged log as well shows in the numbers of the listeners, which died with the power and are
compared for.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from struct import Struct
from zlib import crc32

_BODY = Struct("<qqq")
_SUM = Struct("<I")
_SIZE = _BODY.size + _SUM.size


class Answered:
    """The file; for one owner. Positions and gaps count only within the `epoch` in which they were noted."""

    def __init__(self, file: Path) -> None:
        """Open it, or begin one; raises OSError."""
        self._descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def read(self, epoch: int) -> tuple[int, int]:
        """The last position that was answered in `epoch`, and how many gaps; zeros where nothing is known of it."""
        data = os.pread(self._descriptor, _SIZE, 0)
        body, checksum = data[: _BODY.size], data[_BODY.size :]
        # A file that was just begun, or torn by a power cut, knows nothing: that is safe, if less watchful.
        if checksum != _SUM.pack(crc32(body)):
            return 0, 0
        known, last, gaps = _BODY.unpack(body)
        return (last, gaps) if known == epoch else (0, 0)

    def note(self, epoch: int, last: int, gaps: int) -> None:
        """Note what is answered from now on. It does not fail: the commit is done, and this is only what watches it."""
        body = _BODY.pack(epoch, last, gaps)
        with suppress(OSError):
            os.pwrite(self._descriptor, body + _SUM.pack(crc32(body)), 0)

    def close(self) -> None:
        """Let go of the file; may be called once."""
        os.close(self._descriptor)
