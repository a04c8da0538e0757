"""IDL: what the metastore's IDL has beyond hmsclient's, which is Hive 2.3's. The only place that adds to it.

Imported for its effect: afterwards hmsclient's structs read and write the fields below, too. A server skips fields that
it does not know, so older servers may get them. A struct that was read without such a field has it as None.

- Fields of Hive 3.1 and 4.x that a client defines. Those that the server sets by itself are left out, but for a table's
  id: only Hive 4 sets one, so it says how that table's metastore treats files.
- Bit vectors of column statistics: hmsclient takes them for text, Hive 3.1 and 4.x send bytes.
- SkewedInfo's locations: their keys are lists, which cannot be keys of a dict, so a table with them was unreadable.
  Here they are tuples.
- The constraints of Hive 3.1 and 4.x with their calls, the call that alters what a materialized view is made of, and
  those that tell which transactions are committed: `Client` is hmsclient's, with these calls. hmsclient's own
  `get_open_txns` takes the list of Hive 3 and newer for an absent set, and so for no transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBase import TBase
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.TRecursive import fix_spec

CATALOG = "hive"
"""The default catalog, which requests of Hive 3.1 must name."""

TEXTS = (TType.STRING, "UTF8", False)
_FIXED_TEXT = (TType.STRING, "UTF8", True)  # read as a tuple, not as a list

_NUMBERS = ("Long", "Double", "Decimal", "Date")

_UPDATE_CREATION = "update_creation_metadata"

_CREATE_CATALOG = "create_catalog"


def text(at: int, name: str) -> tuple[Any, ...]:
    """A text field; `at` is its id, here and below."""
    return (at, TType.STRING, name, "UTF8", None)


def number(at: int, name: str, kind: int = TType.I32) -> tuple[Any, ...]:
    """A field that is a number, a flag (TType.BOOL) or an enum value."""
    return (at, kind, name, None, None)


def _bytes(at: int, name: str) -> tuple[Any, ...]:
    """A field that is bytes."""
    return (at, TType.STRING, name, "BINARY", None)


def part(at: int, name: str, kind: Any) -> tuple[Any, ...]:
    """A field that is a struct."""
    return (at, TType.STRUCT, name, [kind, kind.thrift_spec], None)


def parts(at: int, name: str, kind: Any) -> tuple[Any, ...]:
    """A field that is a list of structs."""
    return (at, TType.LIST, name, (TType.STRUCT, [kind, kind.thrift_spec], False), None)


def _spec(fields: tuple[tuple[Any, ...], ...]) -> tuple[Any, ...]:
    """A thrift_spec: each field at the index that is its id."""
    spec: list[Any] = [None] * (1 + max((field[0] for field in fields), default=0))
    for field in fields:
        spec[field[0]] = field
    return tuple(spec)


def struct(name: str, *fields: tuple[Any, ...]) -> Any:
    """A class for a thrift struct; its constructor takes the fields by name."""

    def init(self: Any, **values: Any) -> None:
        for field in fields:
            setattr(self, field[2], values.pop(field[2], None))
        if values:
            raise TypeError(f"{name} has no {', '.join(sorted(values))}")

    return type(name, (_Struct,), {"thrift_spec": _spec(fields), "__init__": init, "__module__": __name__})


class _Struct(TBase):  # type: ignore[misc]
    """Compares fields. TBase compares slots only, and would take any two objects without slots for equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({values})"


# The table's name is enough: a metastore looks the table up by it. The rest changes all the time.
SourceTable = struct(
    "SourceTable",
    part(1, "table", struct("Table", text(1, "tableName"), text(2, "dbName"))),
    number(2, "insertedCount", TType.I64),
    number(3, "updatedCount", TType.I64),
    number(4, "deletedCount", TType.I64),
)


CreationMetadata = struct(
    "CreationMetadata",
    text(1, "catName"),
    text(2, "dbName"),
    text(3, "tblName"),
    (4, TType.SET, "tablesUsed", TEXTS, None),
    text(5, "validTxnList"),
    number(6, "materializationTime", TType.I64),
    parts(7, "sourceTables", SourceTable),
)


NEWER_FIELDS: Mapping[Any, tuple[tuple[Any, ...], ...]] = {
    ttypes.AddPartitionsRequest: (text(6, "catName"), part(10, "environmentContext", ttypes.EnvironmentContext)),
    ttypes.ColumnStatisticsDesc: (text(6, "catName"),),
    ttypes.Database: (
        text(8, "catalogName"),
        text(10, "managedLocationUri"),
        number(11, "type"),
        text(12, "connector_name"),
        text(13, "remote_dbname"),
    ),
    ttypes.DropConstraintRequest: (text(4, "catName"),),
    ttypes.DropPartitionsRequest: (text(9, "catName"),),
    ttypes.ForeignKeysRequest: (text(5, "catName"),),
    ttypes.Function: (text(9, "catName"),),
    ttypes.GetTableRequest: (text(4, "catName"),),
    ttypes.GetTablesRequest: (text(4, "catName"),),
    ttypes.Partition: (text(9, "catName"),),
    ttypes.PartitionsStatsRequest: (text(5, "catName"),),
    ttypes.PrimaryKeysRequest: (text(3, "catName"),),
    ttypes.SQLForeignKey: (text(15, "catName"),),
    ttypes.SQLPrimaryKey: (text(9, "catName"),),
    ttypes.SerDeInfo: (
        text(4, "description"),
        text(5, "serializerClass"),
        text(6, "deserializerClass"),
        number(7, "serdeType"),
    ),
    ttypes.Table: (
        part(16, "creationMetadata", CreationMetadata),
        text(17, "catName"),
        number(18, "ownerType"),
        number(25, "id", TType.I64),
    ),
    ttypes.TableStatsRequest: (text(4, "catName"),),
}
"""By struct: the fields that are added."""


Timestamp = struct("Timestamp", number(1, "secondsSinceEpoch", TType.I64))


TimestampColumnStatsData = struct(
    "TimestampColumnStatsData",
    part(1, "lowValue", Timestamp),
    part(2, "highValue", Timestamp),
    number(3, "numNulls", TType.I64),
    number(4, "numDVs", TType.I64),
    _bytes(5, "bitVectors"),
    _bytes(6, "histogram"),
)


_STATISTICS: Mapping[Any, tuple[tuple[Any, ...], ...]] = {
    **{
        getattr(ttypes, f"{name}ColumnStatsData"): (_bytes(5, "bitVectors"), _bytes(6, "histogram"))
        for name in _NUMBERS
    },
    ttypes.StringColumnStatsData: (_bytes(5, "bitVectors"),),
    ttypes.BooleanColumnStatsData: (_bytes(4, "bitVectors"),),
    ttypes.BinaryColumnStatsData: (_bytes(4, "bitVectors"),),
    ttypes.ColumnStatisticsData: (part(8, "timestampStats", TimestampColumnStatsData),),
}
"""The same for column statistics."""


def _extend() -> None:
    for kind, fields in (*NEWER_FIELDS.items(), *_STATISTICS.items()):
        for field in fields:
            # A default on the class: hmsclient's constructors do not know the field.
            setattr(kind, field[2], None)
        kind.thrift_spec = _spec((*filter(None, kind.thrift_spec), *fields))
    skewed = (TType.LIST, _FIXED_TEXT, TType.STRING, "UTF8", False)
    maps = (3, TType.MAP, "skewedColValueLocationMaps", skewed, None)
    ttypes.SkewedInfo.thrift_spec = (*ttypes.SkewedInfo.thrift_spec[:3], maps)
    # Specs that embed an extended struct hold its old spec: this resolves them again.
    for module in (ttypes, ThriftHiveMetastore):
        fix_spec([struct for struct in vars(module).values() if getattr(struct, "thrift_spec", None)])


_extend()


def _constraint(name: str, *own: str) -> Any:
    """The struct of one column of a constraint: its place, its own fields, and three flags about enforcement."""
    names = ["catName", "table_db", "table_name", "column_name", *own]
    fields = [number(at, n) if n == "key_seq" else text(at, n) for at, n in enumerate(names, 1)]
    flags = ("enable_cstr", "validate_cstr", "rely_cstr")
    fields += [number(at, flag, TType.BOOL) for at, flag in enumerate(flags, len(names) + 1)]
    return struct(name, *fields)


SQLUniqueConstraint = _constraint("SQLUniqueConstraint", "key_seq", "uk_name")


SQLNotNullConstraint = _constraint("SQLNotNullConstraint", "nn_name")


SQLDefaultConstraint = _constraint("SQLDefaultConstraint", "default_value", "dc_name")


SQLCheckConstraint = _constraint("SQLCheckConstraint", "check_expression", "dc_name")


ConstraintsRequest = struct("ConstraintsRequest", text(1, "catName"), text(2, "db_name"), text(3, "tbl_name"))


CONSTRAINTS = {
    SQLUniqueConstraint: ("unique_constraint", "uk_name"),
    SQLNotNullConstraint: ("not_null_constraint", "nn_name"),
    SQLDefaultConstraint: ("default_constraint", "dc_name"),
    SQLCheckConstraint: ("check_constraint", "dc_name"),
}
"""By struct: its name in the calls, and the field that holds the constraint's name."""


ANY_CONSTRAINT = (ttypes.SQLPrimaryKey, ttypes.SQLForeignKey, *CONSTRAINTS)
"""The structs of all constraints, for isinstance."""


def constraint_request(kind: Any, columns: list[Any]) -> Any:
    """The request of an `add_…` call for the columns of one constraint."""
    return _REQUESTS[kind](columns=columns)


def call(client: Any, name: str, args: Any, result: Any) -> Any:
    """Make a call that hmsclient's client lacks, and read the answer into `result`. Raises the errors it declares."""
    client._oprot.writeMessageBegin(name, TMessageType.CALL, client._seqid)
    args.write(client._oprot)
    client._oprot.writeMessageEnd()
    client._oprot.trans.flush()
    _, kind, _ = client._iprot.readMessageBegin()
    answer = TApplicationException() if kind == TMessageType.EXCEPTION else result
    answer.read(client._iprot)
    client._iprot.readMessageEnd()
    refusals = [getattr(result, name, None) for name in ("o1", "o2", "o3")]
    errors = [answer] if kind == TMessageType.EXCEPTION else refusals
    for error in filter(None, errors):
        raise error
    return getattr(result, "success", None)


def _caller(name: str, request: Any, errors: tuple[Any, Any], answer: Any = None) -> Callable[[Any, Any], Any]:
    """A client's method for a call with one request; it returns the constraints in the answer."""
    args = struct(f"{name}_args", part(1, "req", request))
    fields = [part(at, f"o{at}", error) for at, error in enumerate(errors, 1)]
    result = struct(f"{name}_result", *fields, *((part(0, "success", answer),) if answer else ()))

    def method(client: Any, value: Any) -> Any:
        answered = call(client, name, args(req=value), result())
        return answered.constraints if answer else None

    return method


_REQUESTS = {kind: struct(f"Add{kind.__name__}", parts(1, "columns", kind)) for kind in CONSTRAINTS}


_UpdateCreation = struct(
    f"{_UPDATE_CREATION}_args",
    text(1, "catName"),
    text(2, "dbName"),
    text(3, "tblName"),
    part(4, "made", CreationMetadata),
)


_UpdatedCreation = struct(
    f"{_UPDATE_CREATION}_result",
    part(1, "o1", ttypes.NoSuchObjectException),
    part(2, "o2", ttypes.InvalidOperationException),
    part(3, "o3", ttypes.MetaException),
)


_Catalog = struct("Catalog", text(1, "name"), text(2, "description"), text(3, "locationUri"))


_CatalogRequest = struct("CreateCatalogRequest", part(1, "catalog", _Catalog))


_CreateCatalog = struct(f"{_CREATE_CATALOG}_args", part(1, "request", _CatalogRequest))


_CreatedCatalog = struct(
    f"{_CREATE_CATALOG}_result",
    part(1, "o1", ttypes.AlreadyExistsException),
    part(2, "o2", ttypes.InvalidObjectException),
    part(3, "o3", ttypes.MetaException),
)


_OPEN_TXNS, _VALID_WRITE_IDS = "get_open_txns", "get_valid_write_ids"


GetOpenTxnsResponse = struct(
    "GetOpenTxnsResponse",
    number(1, "txn_high_water_mark", TType.I64),
    (2, TType.LIST, "open_txns", (TType.I64, None, False), None),
    number(3, "min_open_txn", TType.I64),
    _bytes(4, "abortedBits"),
)


TableValidWriteIds = struct(
    "TableValidWriteIds",
    text(1, "fullTableName"),
    number(2, "writeIdHighWaterMark", TType.I64),
    (3, TType.LIST, "invalidWriteIds", (TType.I64, None, False), None),
    number(4, "minOpenWriteId", TType.I64),
    _bytes(5, "abortedBits"),
)


_WriteIdsRequest = struct(
    "GetValidWriteIdsRequest", (1, TType.LIST, "fullTableNames", TEXTS, None), text(2, "validTxnList")
)


_WriteIdsResponse = struct("GetValidWriteIdsResponse", parts(1, "tblValidWriteIds", TableValidWriteIds))


_OpenTxns = struct(f"{_OPEN_TXNS}_args")


_OpenTxnsAnswer = struct(f"{_OPEN_TXNS}_result", part(0, "success", GetOpenTxnsResponse))


_WriteIds = struct(f"{_VALID_WRITE_IDS}_args", part(1, "rqst", _WriteIdsRequest))


_WriteIdsAnswer = struct(
    f"{_VALID_WRITE_IDS}_result",
    part(0, "success", _WriteIdsResponse),
    part(1, "o1", ttypes.NoSuchTxnException),
    part(2, "o2", ttypes.MetaException),
)


class Client(ThriftHiveMetastore.Client):  # type: ignore[misc]
    """hmsclient's client with `add_…` and `get_…` for the constraints above; each takes one request."""

    def create_catalog(self, name: str, location: str) -> None:
        """Create a catalog, where databases without a location of their own go to `location`. Hive 3.0 and later."""
        request = _CatalogRequest(catalog=_Catalog(name=name, locationUri=location))
        call(self, _CREATE_CATALOG, _CreateCatalog(request=request), _CreatedCatalog())

    def get_open_txns(self) -> Any:
        """The open and the aborted transactions, as a GetOpenTxnsResponse."""
        return call(self, _OPEN_TXNS, _OpenTxns(), _OpenTxnsAnswer())

    def get_valid_write_ids(self, tables: Sequence[str], transactions: str) -> list[Any]:
        """A TableValidWriteIds for each of the tables `db.table`, in lower case. Hive 3.0 and later.

        `transactions` is what get_open_txns answered, as a ValidReadTxnList. A table that is not there has the highest
        write id 0, as one that nobody has written to.
        """
        request = _WriteIdsRequest(fullTableNames=list(tables), validTxnList=transactions)
        answer = call(self, _VALID_WRITE_IDS, _WriteIds(rqst=request), _WriteIdsAnswer())
        return list(answer.tblValidWriteIds or ())

    def update_creation_metadata(self, catalog: str, database: str, view: str, made: Any) -> None:
        """Say what a materialized view is made of; alter_table cannot. Hive 3.0 and later."""
        args = _UpdateCreation(catName=catalog, dbName=database, tblName=view, made=made)
        call(self, _UPDATE_CREATION, args, _UpdatedCreation())


def _add_calls() -> None:
    refusals = (ttypes.NoSuchObjectException, ttypes.MetaException)
    for kind, (name, _) in CONSTRAINTS.items():
        answer = struct(f"{name}s_response", parts(1, "constraints", kind))
        setattr(Client, f"add_{name}", _caller(f"add_{name}", _REQUESTS[kind], refusals))
        # The get calls declare the two errors in the other order, and thrift knows them by number only.
        setattr(Client, f"get_{name}s", _caller(f"get_{name}s", ConstraintsRequest, refusals[::-1], answer))


_add_calls()
