"""The notification log: the changes of a metastore as it keeps them itself, for sources without the listener.

`poller` takes them into the queue; `log` reads them, and names the objects that they are about. See docs/versions.md.
"""

from pysync.capture.notifications.log import (
    LEFT_OUT,
    REPLAYED,
    Notification,
    NotificationLog,
    NotificationLogEmpty,
    NotificationLogRefused,
)
from pysync.capture.notifications.messages import (
    Stamp,
    Touched,
    UndecodableMessage,
    decode_notification,
    named,
    reaches,
    touched,
)
from pysync.capture.notifications.poller import Poller, instance_of
from pysync.capture.notifications.rows import Batch, Position, begin, read

__all__ = [
    "LEFT_OUT",
    "REPLAYED",
    "Batch",
    "Notification",
    "NotificationLog",
    "NotificationLogEmpty",
    "NotificationLogRefused",
    "Poller",
    "Position",
    "Stamp",
    "Touched",
    "UndecodableMessage",
    "begin",
    "decode_notification",
    "instance_of",
    "named",
    "reaches",
    "read",
    "touched",
]
