"""Objects: which struct the events of each kind hold, and the form in which HMS stores it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model import idl
from pysync.model.catalogs import qualify
from pysync.model.definition import is_external
from pysync.model.event import Kind
from pysync.model.names import normalized
from pysync.model.wire import UnreadableEvent, decode

OBJECTS: Mapping[Kind, Any] = {
    Kind.CREATE_DATABASE: hive.Database,
    Kind.ALTER_DATABASE: hive.Database,
    Kind.DROP_DATABASE: hive.Database,
    Kind.CREATE_TABLE: hive.Table,
    Kind.ALTER_TABLE: hive.Table,
    Kind.DROP_TABLE: hive.Table,
    Kind.ADD_PARTITION: hive.Partition,
    Kind.ALTER_PARTITION: hive.Partition,
    Kind.DROP_PARTITION: hive.Partition,
    Kind.INSERT: hive.Partition,
    Kind.CREATE_FUNCTION: hive.Function,
    Kind.DROP_FUNCTION: hive.Function,
    Kind.ADD_PRIMARYKEY: hive.SQLPrimaryKey,
    Kind.ADD_FOREIGNKEY: hive.SQLForeignKey,
    Kind.ADD_UNIQUECONSTRAINT: idl.SQLUniqueConstraint,
    Kind.ADD_NOTNULLCONSTRAINT: idl.SQLNotNullConstraint,
    Kind.ADD_DEFAULTCONSTRAINT: idl.SQLDefaultConstraint,
    Kind.ADD_CHECKCONSTRAINT: idl.SQLCheckConstraint,
    Kind.DROP_CONSTRAINT: None,
    Kind.COLUMN_STATISTICS: None,
    Kind.REFRESH: None,
}
"""The kinds that can be replayed, and the struct of their objects. All other kinds are skipped, and counted."""

_NEEDED: Mapping[Any, tuple[str, ...]] = {
    hive.Database: ("name",),
    hive.Table: ("dbName", "tableName"),
    hive.Partition: ("dbName", "values"),
    hive.Function: ("dbName", "functionName"),
    hive.SQLPrimaryKey: ("table_db", "table_name"),
    hive.SQLForeignKey: ("fktable_db", "fktable_name", "pktable_db", "pktable_name"),
    idl.SQLUniqueConstraint: ("table_db", "table_name"),
    idl.SQLNotNullConstraint: ("table_db", "table_name"),
    idl.SQLDefaultConstraint: ("table_db", "table_name"),
    idl.SQLCheckConstraint: ("table_db", "table_name"),
}
"""The fields that identify an object."""

_LOWER_CASE: Mapping[Any, tuple[str, ...]] = {
    hive.Database: ("name",),
    hive.Table: ("dbName", "tableName"),
    hive.Partition: ("dbName", "tableName"),
    hive.Function: ("dbName", "functionName"),
}
"""The names that HMS normalizes."""


def stored(struct: Any, raw: bytes, catalog: str | None = None) -> Any:
    """The object in `raw`, as HMS stores it. Raises UnreadableEvent, also if nothing identifies the object.

    Names of databases say the catalog (pysync.model.catalogs): the object's, or `catalog` if it names none.
    """
    item = qualify(decode(struct, raw), catalog)
    for name in _NEEDED[struct]:
        value = getattr(item, name)
        if not (value.strip() if isinstance(value, str) else value):
            raise UnreadableEvent(f"the {struct.__name__} has no {name}")
    as_stored(item)
    return item


def as_stored(item: Any) -> None:
    """Bring an object, as a client sent it, to the form in which HMS stores it, in place.

    Names become lower case. A table is external only if its parameter EXTERNAL says so, whatever its tableType (seen on
    HMS 2.3, 3.1 and 4.0).
    """
    # Events of HMS 2.3 and 3.1 have names in the client's case; 4.0 lowers them first.
    for name in _LOWER_CASE.get(type(item), ()):
        if (value := getattr(item, name)) is not None:
            setattr(item, name, normalized(value))
    if isinstance(item, hive.Table) and item.tableType in {"EXTERNAL_TABLE", "MANAGED_TABLE"}:
        item.tableType = "EXTERNAL_TABLE" if is_external(item) else "MANAGED_TABLE"
