"""The queue of a directory, for a process without a sidecar."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysync.base.errors import PysyncError
from pysync.queue import EventQueue, queue_at_rest


def test_where_there_is_no_queue_none_is_made(tmp_path: Path) -> None:
    with queue_at_rest(tmp_path) as queue:
        assert queue is None
    assert list(tmp_path.iterdir()) == []


def test_a_queue_that_is_there_is_opened(tmp_path: Path) -> None:
    with EventQueue(tmp_path) as queue:
        queue.notes.put("key", "text")
    with queue_at_rest(tmp_path) as queue:
        assert queue is not None
        assert queue.notes.get("key") == "text"


def test_a_queue_that_another_process_has_is_left_alone(tmp_path: Path) -> None:
    with EventQueue(tmp_path), pytest.raises(PysyncError), queue_at_rest(tmp_path):
        pass
