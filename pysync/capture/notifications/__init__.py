"""The notification log: the changes of a metastore as it keeps them itself, for sources without the listener.

`poller` takes them into the queue; `log` and `reader` read them, `messages` makes events of them, `touched_objects`
names what they are about. See docs/versions.md.
"""

from pysync.capture.notifications.kinds import LEFT_OUT, REPLAYED
from pysync.capture.notifications.log import Notification, NotificationLog, NotificationLogEmpty, NotificationLogRefused
from pysync.capture.notifications.messages import Stamp, UndecodableMessage, decode_notification
from pysync.capture.notifications.poller import Poller, instance_of
from pysync.capture.notifications.reader import NewRows, Position, begin, read
from pysync.capture.notifications.touched_objects import Touched, named, reaches, touched

__all__ = [
    "LEFT_OUT",
    "REPLAYED",
    "NewRows",
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
