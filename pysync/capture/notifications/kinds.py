"""Kinds: Hive's words in the notification log, as kinds of events, and what is left out of the log, each with a reason.

The words are those of EventMessage.EventType in Hive 2.3 to 4.2. A word that is in neither table is of a newer Hive:
its object is read at the source (pysync.capture.notifications.unread_rows).
"""

from __future__ import annotations

from collections.abc import Mapping

from pysync.model.event import Kind

_SAME = (
    Kind.CREATE_DATABASE,
    Kind.ALTER_DATABASE,
    Kind.DROP_DATABASE,
    Kind.CREATE_TABLE,
    Kind.ALTER_TABLE,
    Kind.DROP_TABLE,
    Kind.ADD_PARTITION,
    Kind.ALTER_PARTITION,
    Kind.DROP_PARTITION,
    Kind.INSERT,
    Kind.CREATE_FUNCTION,
    Kind.DROP_FUNCTION,
    Kind.ADD_PRIMARYKEY,
    Kind.ADD_FOREIGNKEY,
    Kind.ADD_UNIQUECONSTRAINT,
    Kind.ADD_NOTNULLCONSTRAINT,
    Kind.ADD_DEFAULTCONSTRAINT,
    Kind.ADD_CHECKCONSTRAINT,
    Kind.DROP_CONSTRAINT,
)

REPLAYED: Mapping[str, Kind] = {
    **{kind.value: kind for kind in _SAME},
    "ALTER_PARTITIONS": Kind.ALTER_PARTITION,  # Hive 4.1 and later: many in one
    "UPDATE_TBL_COL_STAT_EVENT": Kind.COLUMN_STATISTICS,
    "DELETE_TBL_COL_STAT_EVENT": Kind.COLUMN_STATISTICS,
    "UPDATE_PART_COL_STAT_EVENT": Kind.COLUMN_STATISTICS,
    "DELETE_PART_COL_STAT_EVENT": Kind.COLUMN_STATISTICS,
}
"""The words that are replayed, and as which kind of event."""

_OF_TRANSACTIONS = "it is about transactions, and transactional tables are not replicated"
_OF_CATALOGS = "catalogs themselves are not replicated"
_OF_SCHEMAS = "the schema registry is not replicated"
_OF_CONNECTORS = "data connectors are not replicated"
_OF_INDEXES = "indexes are not replicated"
_NO_CHANGE = "no definition changes with it"

LEFT_OUT: Mapping[str, str] = {
    "OPEN_TXN": _OF_TRANSACTIONS,
    "COMMIT_TXN": _OF_TRANSACTIONS,
    "ABORT_TXN": _OF_TRANSACTIONS,
    "ALLOC_WRITE_ID_EVENT": _OF_TRANSACTIONS,
    "ACID_WRITE_EVENT": _OF_TRANSACTIONS,
    "BATCH_ACID_WRITE_EVENT": _OF_TRANSACTIONS,
    "COMMIT_COMPACTION_EVENT": _OF_TRANSACTIONS,
    "CREATE_CATALOG": _OF_CATALOGS,
    "ALTER_CATALOG": _OF_CATALOGS,
    "DROP_CATALOG": _OF_CATALOGS,
    "CREATE_ISCHEMA": _OF_SCHEMAS,
    "ALTER_ISCHEMA": _OF_SCHEMAS,
    "DROP_ISCHEMA": _OF_SCHEMAS,
    "ADD_SCHEMA_VERSION": _OF_SCHEMAS,
    "ALTER_SCHEMA_VERSION": _OF_SCHEMAS,
    "DROP_SCHEMA_VERSION": _OF_SCHEMAS,
    "CREATE_DATACONNECTOR": _OF_CONNECTORS,
    "ALTER_DATACONNECTOR": _OF_CONNECTORS,
    "DROP_DATACONNECTOR": _OF_CONNECTORS,
    "CREATE_INDEX": _OF_INDEXES,
    "ALTER_INDEX": _OF_INDEXES,
    "DROP_INDEX": _OF_INDEXES,
    "RELOAD": _NO_CHANGE,
    "CONFIG_CHANGE_EVENT": _NO_CHANGE,
}
"""The words that are not replayed, each with the reason, as it is logged."""

OTHER_CATALOG = "no target takes the catalog"
"""The reason for every row of such a catalog."""
