"""Notifications: what has become visible at targets, and which problems begin and end, by POST to receivers.

A `Notifier` serves one `[[notify]]` of pysync.toml (docs/monitoring.md): at least once, in order, never in the way of
replay. `ReceiverNotes` keeps how far all of them are.
"""

from pysync.notify.notes import ReceiverNotes
from pysync.notify.notifier import Notifier
from pysync.notify.receiver import EventsRefused, assert_receiver_answers

__all__ = ["EventsRefused", "Notifier", "ReceiverNotes", "assert_receiver_answers"]
