"""The durable queue: one ordered log of events, a position per target, and what was set aside.

Everything is in one SQLite file with one owner (`store`), which the parts of `EventQueue` share: `intake` appends,
`received` knows which numbers have arrived, `target_queue` is what one target has; `gaps` and notes are beside. See
`EventQueue` for what is promised.
"""

from pysync.queue.errors import QueueClosed, QueueDamaged, QueueFailed, QueueFull
from pysync.queue.event_queue import EventQueue
from pysync.queue.intake import Intake
from pysync.queue.received import Sequences
from pysync.queue.removals import Removal, Removals
from pysync.queue.target_queue import Notes, ParkedEvents, note_of
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
    "Sequences",
    "Unreadable",
    "note_of",
]
