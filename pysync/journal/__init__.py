"""The journal: a record of every operation at every target, and of what people did, for people to read; and curves.

`Journal` writes it, `Reader` reads it, from any process. Nothing else depends on it: a record may be lost, and the file
may be deleted while the sidecar is stopped (docs/status.md).
"""

from pysync.journal.curves import DAY_HOURS, MONTH_HOURS, Point, Sample, step_of
from pysync.journal.reader import Query, Reader
from pysync.journal.record import Record
from pysync.journal.writer import Journal

__all__ = ["DAY_HOURS", "MONTH_HOURS", "Journal", "Point", "Query", "Reader", "Record", "Sample", "step_of"]
