"""What pysync adds to hmsclient's IDL: the fields and constraints of Hive 3.1 and 4.x, and skewed tables with places.

The bytes are written out by hand where they matter: thrift's TBinaryProtocol is type (1 byte), id (2), value, and 0.
"""

from __future__ import annotations

from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from pysync.model import idl
from pysync.model.definition import definition, differences
from pysync.model.wire import decode, encode
from pysync.targets.diff import same
from tests.support import table

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)


def with_newer(**fields: Any) -> Any:
    """A table with newer fields; hmsclient's constructor does not know them."""
    new = table("db", "t")
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def test_the_owner_type_of_a_table_is_field_18_and_survives() -> None:
    data = encode(with_newer(ownerType=hive.PrincipalType.ROLE))
    assert b"\x08\x00\x12\x00\x00\x00\x02" in data, "an i32 (8) with the id 18 (0x12) and the value 2"
    assert decode(hive.Table, data).ownerType == hive.PrincipalType.ROLE
    assert encode(decode(hive.Table, data)) == data


def test_a_field_that_is_not_there_is_none_and_is_not_written() -> None:
    data = encode(table("db", "t"))
    found = decode(hive.Table, data)
    assert found.ownerType is None
    assert found.creationMetadata is None
    assert encode(found) == data


def test_a_database_of_hive_4_keeps_its_place_for_managed_tables_and_its_connector() -> None:
    new = hive.Database(name="db", parameters={})
    new.managedLocationUri, new.type, new.connector_name, new.remote_dbname = "file:/m", 2, "pg", "public"
    found = decode(hive.Database, encode(new))
    assert (found.managedLocationUri, found.type) == ("file:/m", 2)
    assert (found.connector_name, found.remote_dbname) == ("pg", "public")


def test_the_fields_of_a_nested_struct_survive_within_a_table() -> None:
    new = table("db", "t")
    new.sd.serdeInfo.description, new.sd.serdeInfo.serializerClass = "about", "org.example.S"
    found = decode(hive.Table, encode(new))
    assert found.sd.serdeInfo.description == "about"
    assert found.sd.serdeInfo.serializerClass == "org.example.S"


def test_a_materialized_view_keeps_the_tables_that_it_is_made_of() -> None:
    made = idl.CreationMetadata(catName="hive", dbName="db", tblName="v", tablesUsed={"db.a", "db.b"})
    found = decode(hive.Table, encode(with_newer(creationMetadata=made))).creationMetadata
    assert (found.dbName, found.tblName) == ("db", "v")
    assert found.tablesUsed == {"db.a", "db.b"}


def test_structs_of_ours_are_equal_only_if_their_fields_are() -> None:
    one, other = idl.SQLNotNullConstraint(nn_name="n", rely_cstr=True), idl.SQLNotNullConstraint(nn_name="n")
    assert one != other
    assert not same([one], [other])
    assert one == decode(idl.SQLNotNullConstraint, encode(one))
    assert one != idl.SQLCheckConstraint()
    assert repr(one) == "SQLNotNullConstraint(nn_name='n', rely_cstr=True)"


def of_tables(*counted: tuple[str, int], used: set[str]) -> Any:
    """What a view is made of, with so many rows inserted into each table since."""
    sources = [
        idl.SourceTable(
            table=hive.Table(dbName=name.split(".")[0], tableName=name.split(".")[1]),
            insertedCount=count,
            updatedCount=0,
            deletedCount=0,
        )
        for name, count in counted
    ]
    return idl.CreationMetadata(catName="hive", dbName="db", tblName="v", tablesUsed=used, sourceTables=sources or None)


def test_a_materialized_view_of_hive_4_keeps_how_many_rows_have_changed_since() -> None:
    made = of_tables(("db.a", 3), used={"db.a"})
    (found,) = decode(hive.Table, encode(with_newer(creationMetadata=made))).creationMetadata.sourceTables
    assert (found.table.dbName, found.table.tableName, found.insertedCount) == ("db", "a", 3)


@pytest.mark.parametrize(
    ("wanted", "there", "equal"),
    [
        (of_tables(("db.a", 1), ("db.b", 2), used={"db.a", "db.b"}), None, True),  # its server counts none
        (of_tables(("db.a", 1), ("db.b", 2), used={"db.a", "db.b"}), [("db.b", 2), ("db.a", 1)], True),
        (of_tables(("db.a", 1), ("db.b", 2), used={"db.a", "db.b"}), [("db.b", 1), ("db.a", 2)], False),
        (of_tables(("db.a", 1), used={"hive.db.a"}), [("db.a", 2)], False),
        (of_tables(("old.a", 1), used={"db.a"}), [("db.a", 0)], True),  # renamed on the way: it is not known whose
    ],
)
def test_counts_of_a_materialized_view_are_compared_where_both_sides_know_them(
    wanted: Any, there: list[tuple[str, int]] | None, equal: bool
) -> None:
    its = of_tables(*there or (), used=wanted.tablesUsed)
    assert same(with_newer(creationMetadata=wanted), with_newer(creationMetadata=its, ownerType=1)) is equal


@given(st.dictionaries(st.lists(TEXT, min_size=1, max_size=3).map(tuple), TEXT, max_size=4))
def test_a_skewed_table_stored_as_directories_can_be_read_and_written(places: dict[tuple[str, ...], str]) -> None:
    new = table("db", "t")
    new.sd.skewedInfo = hive.SkewedInfo(["id"], [list(values) for values in places], places)
    data = encode(new)
    found = decode(hive.Table, data)
    assert found.sd.skewedInfo.skewedColValueLocationMaps == places
    assert encode(found) == data
    assert same(new, found)


def test_a_skewed_table_with_another_place_is_another_definition() -> None:
    one, other = table("db", "t"), table("db", "t")
    one.sd.skewedInfo = hive.SkewedInfo(["id"], [["1"]], {("1",): "file:/a"})
    other.sd.skewedInfo = hive.SkewedInfo(["id"], [["1"]], {("1",): "file:/b"})
    assert not same(one, other)
    assert differences(definition(one), definition(other))


@pytest.mark.parametrize("kind", idl.CONSTRAINTS, ids=lambda kind: kind.__name__)
def test_a_constraint_survives_and_two_names_are_not_the_same(kind: Any) -> None:
    _, name = idl.CONSTRAINTS[kind]
    place = {"catName": "hive", "table_db": "db", "table_name": "t", "column_name": "id"}
    new = kind(**place, **{name: "the_name"}, enable_cstr=False, validate_cstr=False, rely_cstr=True)
    found = decode(kind, encode(new))
    assert vars(found) == vars(new)
    assert same(new, found)
    setattr(found, name, "another")
    assert not same(new, found)


def test_an_unknown_field_of_a_struct_is_an_error() -> None:
    with pytest.raises(TypeError, match="SQLCheckConstraint has no nn_name"):
        idl.SQLCheckConstraint(nn_name="x")


class Server:
    """The other end of a client: `answer` is what it reads, `request` what it wrote."""

    def __init__(self) -> None:
        self.answers, self.requests = TMemoryBuffer(), TMemoryBuffer()
        self.client = idl.Client(TBinaryProtocolAccelerated(self.answers), TBinaryProtocolAccelerated(self.requests))

    def answer(self, name: str, kind: int, struct: Any) -> None:
        protocol = TBinaryProtocolAccelerated(self.answers)
        protocol.writeMessageBegin(name, kind, 0)
        struct.write(protocol)
        protocol.writeMessageEnd()
        self.answers.cstringio_buf.seek(0)

    def asked(self) -> tuple[str, Any]:
        self.requests.cstringio_buf.seek(0)
        protocol = TBinaryProtocolAccelerated(self.requests)
        name, _, _ = protocol.readMessageBegin()
        args = idl.struct("args", idl.part(1, "req", idl.ConstraintsRequest))()
        args.read(protocol)
        return name, args.req


def test_the_constraints_of_a_table_are_asked_for_by_catalog_database_and_table() -> None:
    server = Server()
    column = idl.SQLNotNullConstraint(catName="hive", table_db="db", table_name="t", column_name="id", nn_name="n")
    response = idl.struct("response", idl.parts(1, "constraints", idl.SQLNotNullConstraint))
    result = idl.struct("result", idl.part(0, "success", response))
    server.answer("get_not_null_constraints", TMessageType.REPLY, result(success=response(constraints=[column])))
    request = idl.ConstraintsRequest(catName=idl.CATALOG, db_name="db", tbl_name="t")
    (found,) = server.client.get_not_null_constraints(request)
    assert vars(found) == vars(column)
    name, asked = server.asked()
    assert name == "get_not_null_constraints"
    assert (asked.catName, asked.db_name, asked.tbl_name) == ("hive", "db", "t")


def test_an_error_that_the_call_declares_is_raised() -> None:
    server = Server()
    result = idl.struct("result", idl.part(1, "o1", hive.NoSuchObjectException))
    server.answer("add_check_constraint", TMessageType.REPLY, result(o1=hive.NoSuchObjectException("no table")))
    with pytest.raises(hive.NoSuchObjectException, match="no table"):
        server.client.add_check_constraint(idl.constraint_request(idl.SQLCheckConstraint, []))


def test_a_server_that_does_not_know_the_call_is_told_apart() -> None:
    server = Server()
    unknown = TApplicationException(TApplicationException.UNKNOWN_METHOD, "Invalid method name")
    server.answer("get_check_constraints", TMessageType.EXCEPTION, unknown)
    with pytest.raises(TApplicationException) as error:
        server.client.get_check_constraints(idl.ConstraintsRequest())
    assert error.value.type == TApplicationException.UNKNOWN_METHOD


def test_the_call_that_alters_a_materialized_view_raises_whatever_it_declares() -> None:
    server = Server()
    result = idl.struct("result", idl.part(3, "o3", hive.MetaException))
    server.answer("update_creation_metadata", TMessageType.REPLY, result(o3=hive.MetaException("no view")))
    with pytest.raises(hive.MetaException, match="no view"):
        server.client.update_creation_metadata("hive", "db", "v", of_tables(used={"db.a"}))


def test_a_table_at_a_server_that_does_not_know_owner_types_is_the_same() -> None:
    assert same(with_newer(ownerType=hive.PrincipalType.ROLE), table("db", "t"))
    assert not same(with_newer(ownerType=hive.PrincipalType.ROLE), with_newer(ownerType=hive.PrincipalType.USER))


def test_a_materialized_view_is_the_same_whenever_it_was_made() -> None:
    made = idl.CreationMetadata(catName="hive", dbName="db", tblName="v", tablesUsed={"db.a"}, materializationTime=1)
    later = idl.CreationMetadata(catName="hive", dbName="db", tblName="v", tablesUsed={"db.a"}, materializationTime=2)
    other = idl.CreationMetadata(catName="hive", dbName="db", tblName="v", tablesUsed={"db.b"}, materializationTime=1)
    one = with_newer(creationMetadata=made, ownerType=1)
    assert same(one, with_newer(creationMetadata=later, ownerType=1))
    assert not same(one, with_newer(creationMetadata=other, ownerType=1))


def test_the_default_of_a_newer_field_is_no_difference_to_a_server_that_lacks_it() -> None:
    assert not differences(definition(with_newer(ownerType=hive.PrincipalType.USER)), definition(table("db", "t")))
    assert differences(definition(with_newer(ownerType=hive.PrincipalType.ROLE)), definition(table("db", "t")))
