"""What is particular to one version, each on its released server; the bodies of test_pairs.py cross the other traps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreUnsupported
from pysync.model import idl
from pysync.model.names import TableName
from pysync.targets.base import Outcome, Rejected
from pysync.targets.hms import HmsSettings, hms_target
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source, columns, partition, table
from tests.support import new_database
from tests.versions.conftest import Report
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need

HIVE_4 = "4.1.0"


@pytest.fixture(scope="module")
def server(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """A Hive 4 for all tests of this file."""
    need(report, HIVE_4)
    with metastore_of(HIVE_4)(tmp_path_factory.mktemp("hive4"), name="hive4") as found:
        yield found


@pytest.fixture
def hms(server: EmbeddedMetastore) -> Iterator[Metastore]:
    with Metastore(server.uri) as found:
        yield found


@pytest.fixture
def target(server: EmbeddedMetastore) -> Iterator[StoreTarget]:
    found = hms_target(HmsSettings(name="dr", kind="hms", metastore=server.uri))
    yield found
    found.close()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def database(target: StoreTarget, hms: Metastore, source: Source) -> str:
    name = new_database(hms)
    hms.call(lambda client: client.drop_database(name, False, False))
    target.apply(source.put_database(name))
    return name


def managed(database: str, location: str, **parameters: str) -> Any:
    """A managed table at a place of its own, which is not in the warehouse."""
    return table(TableName(database, "t"), location, external=False, parameters=parameters)


def test_hive_4_does_not_know_get_table_any_more(hms: Metastore, database: str) -> None:
    with pytest.raises(MetastoreUnsupported, match="does not know the call get_table"):
        hms.call(lambda client: client.get_table(database, "t"))
    assert hms.table(database, "t") is None, "we ask in another way"


def test_a_managed_table_becomes_external_and_stays_so(
    target: StoreTarget, hms: Metastore, source: Source, database: str, tmp_path: Path
) -> None:
    wanted = managed(database, f"file:{tmp_path}/t")
    assert target.apply(source.put_table(wanted)) == Outcome.APPLIED
    there = hms.table(database, "t")
    assert (there.tableType, there.parameters["TRANSLATED_TO_EXTERNAL"]) == ("EXTERNAL_TABLE", "TRUE")
    assert target.apply(source.put_table(wanted)) == Outcome.UNCHANGED
    wanted.sd.cols += columns(["more:int"])
    assert target.apply(source.put_table(wanted)) == Outcome.APPLIED, "though it is outside of Hive's own warehouse"
    there = hms.table(database, "t")
    assert (there.tableType, [column.name for column in there.sd.cols]) == ("EXTERNAL_TABLE", ["a", "b", "more"])
    assert target.apply(source.put_table(wanted)) == Outcome.UNCHANGED


@pytest.mark.parametrize("properties", [{}, {"transactional_properties": "insert_only"}], ids=["acid", "insert_only"])
def test_a_transactional_table_is_refused_with_the_reason(
    server: EmbeddedMetastore, source: Source, database: str, tmp_path: Path, properties: dict[str, str]
) -> None:
    """By us, and by the server itself where the settings would have it."""
    wanted = managed(database, f"file:{tmp_path}/t", transactional="true", **properties)
    for setting, reason in (("refuse", "is transactional"), ("metadata", "cannot create an ACID table")):
        settings = HmsSettings(name="dr", kind="hms", metastore=server.uri, transactional=setting)
        with closing(hms_target(settings)) as target, pytest.raises(Rejected, match=reason) as error:
            target.apply(source.put_table(wanted))
        assert "exclude the table" in str(error.value.hint)


def test_statistics_of_an_added_partition_are_the_sources(
    target: StoreTarget, hms: Metastore, source: Source, database: str, tmp_path: Path
) -> None:
    place = tmp_path / "t" / "k=1"
    place.mkdir(parents=True)
    (place / "file").write_text("1,2\n")
    owner = table(TableName(database, "t"), f"file:{tmp_path}/t", keys=["k"])
    target.apply(source.put_table(owner))
    added = partition(owner, ["1"])
    assert target.apply(source.put_partitions(owner, added)) == Outcome.APPLIED
    (there,) = hms.partitions(database, "t")
    assert there.parameters["numFiles"] == "3", "not the one file that is there"
    assert target.apply(source.put_partitions(owner, added)) == Outcome.UNCHANGED


def test_the_owner_type_of_a_table_is_altered_and_survives_an_alter(
    target: StoreTarget, hms: Metastore, source: Source, database: str, tmp_path: Path
) -> None:
    wanted = table(TableName(database, "t"), f"file:{tmp_path}/t")
    wanted.ownerType = hive.PrincipalType.ROLE
    target.apply(source.put_table(wanted))
    assert hms.table(database, "t").ownerType == hive.PrincipalType.ROLE
    wanted.parameters["x"] = "1"
    assert target.apply(source.put_table(wanted)) == Outcome.APPLIED
    assert hms.table(database, "t").ownerType == hive.PrincipalType.ROLE
    wanted.ownerType = hive.PrincipalType.USER
    assert target.apply(source.put_table(wanted)) == Outcome.APPLIED
    assert hms.table(database, "t").ownerType == hive.PrincipalType.USER


def test_a_directory_for_managed_tables_may_be_there_already(
    target: StoreTarget, hms: Metastore, source: Source, tmp_path: Path
) -> None:
    (tmp_path / "managed").mkdir()
    put = source.put_database("placed_" + tmp_path.name.lower()[:20])
    put.definition.managedLocationUri = f"file:{tmp_path}/managed"
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert hms.database(put.database).managedLocationUri == f"file:{tmp_path}/managed"


def test_a_crash_within_the_create_of_such_a_database_is_made_good(
    target: StoreTarget, hms: Metastore, source: Source, tmp_path: Path
) -> None:
    (tmp_path / "managed").mkdir()
    put = source.put_database("crashed_" + tmp_path.name.lower()[:20])
    target.apply(put)  # the first of the two calls
    put.definition.managedLocationUri = f"file:{tmp_path}/managed"
    assert target.apply(put) == Outcome.APPLIED
    assert hms.database(put.database).managedLocationUri == f"file:{tmp_path}/managed"


def test_what_a_materialized_view_is_made_of_is_altered(
    target: StoreTarget, hms: Metastore, source: Source, database: str, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        target.apply(source.put_table(table(TableName(database, name), f"file:{tmp_path}/{name}")))
    view = table(TableName(database, "mv"), f"file:{tmp_path}/mv")
    view.tableType, view.parameters, view.rewriteEnabled = "MATERIALIZED_VIEW", {}, True
    view.viewOriginalText = view.viewExpandedText = "SELECT 1"
    view.creationMetadata = _made_of(database, "one")
    assert target.apply(source.put_table(view)) == Outcome.APPLIED
    view.creationMetadata, view.rewriteEnabled = _made_of(database, "one", "two"), False
    assert target.apply(source.put_table(view)) == Outcome.APPLIED
    there = hms.table(database, "mv")
    assert there.creationMetadata.tablesUsed == {f"{database}.one", f"{database}.two"}
    assert sorted(it.insertedCount for it in there.creationMetadata.sourceTables) == [0, 1]
    assert there.rewriteEnabled is False
    assert target.apply(source.put_table(view)) == Outcome.UNCHANGED


def _made_of(database: str, *names: str) -> Any:
    sources = [
        idl.SourceTable(
            table=hive.Table(dbName=database, tableName=name), insertedCount=at, updatedCount=0, deletedCount=0
        )
        for at, name in enumerate(names)
    ]
    used = {f"{database}.{name}" for name in names}
    return idl.CreationMetadata(
        catName="hive", dbName=database, tblName="mv", tablesUsed=used, validTxnList="1:2::", sourceTables=sources
    )


def test_a_database_of_another_metastore_is_there_without_its_connector(
    target: StoreTarget, hms: Metastore, source: Source, tmp_path: Path
) -> None:
    put = source.put_database("remote_" + tmp_path.name.lower()[:20])
    put.definition.type, put.definition.connector_name, put.definition.remote_dbname = 2, "theirs", "public"
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    there = hms.database(put.database)
    assert (there.type, there.connector_name, there.remote_dbname) == (2, "theirs", "public")


@pytest.mark.parametrize("kind", idl.CONSTRAINTS, ids=lambda kind: kind.__name__)
def test_a_constraint_is_put_once_altered_and_dropped(
    *, target: StoreTarget, hms: Metastore, source: Source, database: str, tmp_path: Path, kind: Any
) -> None:
    name = TableName(database, "t")
    target.apply(source.put_table(table(name, f"file:{tmp_path}/t")))
    call, field = idl.CONSTRAINTS[kind]
    own = {"key_seq": 1} if kind is idl.SQLUniqueConstraint else {}
    place = {"catName": "hive", "table_db": database, "table_name": "t"}
    column = kind(**place, column_name="a", **own, **{field: f"c_{database}"}, rely_cstr=True)
    column.enable_cstr = column.validate_cstr = False
    if kind is idl.SQLDefaultConstraint:
        column.default_value = "1"
    if kind is idl.SQLCheckConstraint:
        column.check_expression = "a > 0"
    put = source.put_constraint(name, [column])
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    column.rely_cstr = False
    assert target.apply(source.put_constraint(name, [column])) == Outcome.APPLIED
    request = idl.ConstraintsRequest(catName="hive", db_name=database, tbl_name="t")
    (there,) = hms.call(lambda client: getattr(client, f"get_{call}s")(request))
    assert (there.column_name, there.rely_cstr) == ("a", False)
    drop = source.drop_constraint(name, f"C_{database}")
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]


def test_hive_2_goes_on_without_constraints_that_it_does_not_have(
    shared_metastore: EmbeddedMetastore, source: Source, tmp_path: Path
) -> None:
    with Metastore(shared_metastore.uri) as old:
        name = TableName(new_database(old), "t")
    target = hms_target(HmsSettings(name="dr", kind="hms", metastore=shared_metastore.uri))
    target.apply(source.put_table(table(name, f"file:{tmp_path}/t")))
    column = idl.SQLNotNullConstraint(
        catName="hive", table_db=name.database, table_name="t", column_name="a", nn_name="nn"
    )
    assert target.apply(source.put_constraint(name, [column])) == Outcome.UNSUPPORTED
    assert target.apply(source.drop_constraint(name, "nn")) == Outcome.UNCHANGED
    target.close()
