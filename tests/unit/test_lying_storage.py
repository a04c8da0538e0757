"""An S3 that sends more than it is asked for: no more is read."""

from __future__ import annotations

import io
from typing import Any

from pysync.targets.glue.s3_directory import S3Directory


class Endless(io.RawIOBase):
    """A body without end, which knows how much of it was read."""

    def __init__(self) -> None:
        self.sent = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "all of it is wanted"
        self.sent += size
        return b"x" * size


class LyingClient:
    """A client of S3 whose only object is said to have ten bytes."""

    def __init__(self) -> None:
        self.body = Endless()

    def head_object(self, **_: Any) -> dict[str, Any]:
        return {"ETag": "a", "ContentLength": 10}

    def get_object(self, **_: Any) -> dict[str, Any]:
        return {"Body": self.body}


def test_no_more_is_read_than_the_object_has() -> None:
    lying = LyingClient()
    opened = S3Directory(lying, "s3://bucket/prefix").open("name")
    assert opened is not None
    assert opened.read() == b"x" * 10
    assert (lying.body.sent, lying.body.closed) == (10, True)
