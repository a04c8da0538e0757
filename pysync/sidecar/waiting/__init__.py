"""Waiting: whether a target has what the source had at a moment, and where an object is at a target."""

from pysync.sidecar.waiting.capture import Capture
from pysync.sidecar.waiting.existence import assert_exist
from pysync.sidecar.waiting.last_ids import LastIds
from pysync.sidecar.waiting.object_status import ObjectStatus
from pysync.sidecar.waiting.waits import Waits

__all__ = ["Capture", "LastIds", "ObjectStatus", "Waits", "assert_exist"]
