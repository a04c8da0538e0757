"""The durable queue: one ordered log of events, a position per target, and what was set aside.

Everything is in one SQLite file (`database`) with one owner (`queue_file`), which the parts of `EventQueue` share:
`intake` appends, `received` knows which numbers have arrived, `target_queue` is what one target has; `gaps` and `notes`
are beside. See `EventQueue` for what is promised.
"""

from pysync.queue.at_rest import queue_at_rest
from pysync.queue.data_versions import DataVersion, DataVersions
from pysync.queue.errors import QueueClosed, QueueDamaged, QueueFailed, QueueFull
from pysync.queue.event_queue import EventQueue
from pysync.queue.intake import Intake
from pysync.queue.notes import Notes
from pysync.queue.parked import ParkedEvents
from pysync.queue.removals import Removal, Removals
from pysync.queue.resyncs import Resync, StoredResyncs
from pysync.queue.sequences import Sequences
from pysync.queue.targets import note_of
from pysync.queue.values import (
    Depth,
    Entry,
    Gap,
    History,
    Instance,
    Park,
    Parked,
    ParkedTable,
    Pause,
    Queued,
    Unreadable,
)

__all__ = [
    "DataVersion",
    "DataVersions",
    "Depth",
    "Entry",
    "EventQueue",
    "Gap",
    "History",
    "Instance",
    "Intake",
    "Notes",
    "Park",
    "Parked",
    "ParkedEvents",
    "ParkedTable",
    "Pause",
    "QueueClosed",
    "QueueDamaged",
    "QueueFailed",
    "QueueFull",
    "Queued",
    "Removal",
    "Removals",
    "Resync",
    "Sequences",
    "StoredResyncs",
    "Unreadable",
    "note_of",
    "queue_at_rest",
]
