"""The journal: a record of every operation at every target, and of what people did, for people to read.

`Journal` writes it, `Reader` reads it, from any process. Nothing else depends on it: a record may be lost, and the file
may be deleted while the sidecar is stopped (docs/status.md).
"""

from pysync.journal.reader import Query, Reader
from pysync.journal.record import Record
from pysync.journal.writer import Journal

__all__ = ["Journal", "Query", "Reader", "Record"]
