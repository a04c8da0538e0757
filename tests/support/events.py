"""Events as the listener sends them, and changes as the replay sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model import idl
from pysync.model.change import Change, decode_change
from pysync.model.event import Event, Kind
from pysync.model.wire import encode, encode_event
from pysync.targets.settings import TargetSettings
from tests.support import partition, table

INSTANCE = "00000000-0000-4000-8000-000000000001"


def event(
    kind: Kind,
    *,
    of: Any = None,
    before: Sequence[Any] = (),
    after: Sequence[Any] = (),
    sequence: int = 1,
    **fields: Any,
) -> Event:
    """An event whose objects are thrift structs; `of` is the table of partitions."""
    defaults = {"source": "onprem", "instance": INSTANCE, "time_ms": 1_700_000_000_000}
    return Event(
        kind=kind,
        sequence=sequence,
        table=encode(of) if of is not None else None,
        before=tuple(map(encode, before)),
        after=tuple(map(encode, after)),
        **(defaults | fields),
    )


def change(kind: Kind, *, position: int = 7, **what: Any) -> Change:
    """The change of `event(kind, **what)`."""
    found = decode_change(event(kind, **what), position)
    assert found is not None, f"{kind} is not replayed"
    return found


def settings(**values: Any) -> TargetSettings:
    """The settings of a target called `dr`."""
    return TargetSettings.model_validate({"name": "dr", "kind": "fake", **values})


def database(name: str, **fields: Any) -> Any:
    """A `ttypes.Database`."""
    return hive.Database(**{"name": name, "locationUri": f"hdfs://a/wh/{name}.db", "parameters": {}} | fields)


def create_table(name: str, **fields: Any) -> Event:
    """CREATE_TABLE of `db.table`."""
    return event(Kind.CREATE_TABLE, after=[table(*name.split("."))], **fields)


def rename_table(old: str, new: str, **fields: Any) -> Event:
    """ALTER_TABLE that renames."""
    return event(Kind.ALTER_TABLE, before=[table(*old.split("."))], after=[table(*new.split("."))], **fields)


def one_of_each_kind() -> dict[Kind, dict[str, Any]]:
    """For every kind that is replayed, the arguments of `event` and `change`: the objects that HMS would send."""
    plain, keyed = table("db", "t"), table("db", "t", partition_keys=[("day", "string")])
    day = partition(keyed, ["2026-01-01"])
    function = hive.Function(
        functionName="f",
        dbName="db",
        className="org.F",
        functionType=1,
        resourceUris=[hive.ResourceUri(1, "hdfs://a/f")],
    )
    key = hive.SQLPrimaryKey("db", "t", "id", 1, "pk", False, False, True)
    foreign = hive.SQLForeignKey("db", "p", "id", "db", "t", "pid", 1, 0, 0, "fk", "pk", False, False, True)
    column = {"catName": "hive", "table_db": "db", "table_name": "t", "column_name": "id"}
    return {
        Kind.CREATE_DATABASE: {"after": [database("db")]},
        Kind.ALTER_DATABASE: {"before": [database("db")], "after": [database("db", description="new")]},
        Kind.DROP_DATABASE: {"before": [database("db")]},
        Kind.CREATE_TABLE: {"after": [plain]},
        Kind.ALTER_TABLE: {"before": [plain], "after": [plain]},
        Kind.DROP_TABLE: {"before": [plain]},
        Kind.ADD_PARTITION: {"of": keyed, "after": [day]},
        Kind.ALTER_PARTITION: {"of": keyed, "before": [day], "after": [day]},
        Kind.DROP_PARTITION: {"of": keyed, "before": [day]},
        Kind.INSERT: {"of": plain, "attributes": {"database": "db", "table": "t", "replace": "false"}},
        Kind.CREATE_FUNCTION: {"after": [function]},
        Kind.DROP_FUNCTION: {"before": [function]},
        Kind.ADD_PRIMARYKEY: {"after": [key]},
        Kind.ADD_FOREIGNKEY: {"after": [foreign]},
        Kind.ADD_UNIQUECONSTRAINT: {"after": [idl.SQLUniqueConstraint(**column, key_seq=1, uk_name="uk")]},
        Kind.ADD_NOTNULLCONSTRAINT: {"after": [idl.SQLNotNullConstraint(**column, nn_name="nn")]},
        Kind.ADD_DEFAULTCONSTRAINT: {"after": [idl.SQLDefaultConstraint(**column, default_value="1", dc_name="d")]},
        Kind.ADD_CHECKCONSTRAINT: {"after": [idl.SQLCheckConstraint(**column, check_expression="x", dc_name="c")]},
        Kind.DROP_CONSTRAINT: {"attributes": {"database": "db", "table": "t", "constraint": "pk"}},
        Kind.COLUMN_STATISTICS: {"attributes": {"database": "db", "table": "t", "partitions": "p=1"}},
        Kind.REFRESH: {"attributes": {"database": "db", "table": "t"}},
    }


def append(queue: Any, *events: Event) -> None:
    """Take events into a queue, as the bridge does."""
    for item in events:
        queue.intake.append(item.instance, item.sequence, item.source, encode_event(item))
