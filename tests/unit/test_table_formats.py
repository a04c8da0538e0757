"""Where the files of tables and partitions are, as their definitions say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pysync.copy.copy_round import Copied
from pysync.copy.files import FilesFirst
from pysync.jobs.dump_listing import locations
from pysync.model.file_differences import Pair
from pysync.model.locations import SourceFiles
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutTable
from pysync.model.reencoding import Frame
from pysync.model.table_formats import data_location, format_of
from pysync.replay.window.mapping import NameMapping
from pysync.targets.settings import TargetSettings
from tests.support import partition
from tests.support.data_versions import VersionsInMemory
from tests.support.delta import registered
from tests.support.events import settings
from tests.support.refreshing import Hms
from tests.support.targets import FakeTarget

T = TableName("db", "t")
PROVIDER = "spark.sql.sources.provider"
MARK = Mark("here", 1, 7, 100)
MOVED = ("s3a://b/t", "s3a://c/t")
MOVE = {"hdfs://a": "hdfs://dr", "s3a://b": "s3a://c"}


def of_spark(location: str = "s3a://b/t", provider: str = "csv") -> Any:
    """An external table of Spark's; its placeholder is in the warehouse of the source."""
    found = registered(T, location, **{PROVIDER: provider})
    found.sd.location = "hdfs://a/wh/db.db/t-__PLACEHOLDER__"
    return found


def stored(input_format: str, serde: str = "", **parameters: str) -> Any:
    found = registered(T, "hdfs://a/t")
    found.sd.inputFormat, found.sd.serdeInfo.serializationLib = input_format, serde
    found.parameters = parameters
    return found


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (stored("org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"), "parquet"),
        (stored("org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"), "orc"),
        (stored("org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat"), "avro"),
        (stored("org.apache.hadoop.hive.ql.io.RCFileInputFormat"), "rcfile"),
        (stored("org.apache.hadoop.mapred.SequenceFileInputFormat"), "sequencefile"),
        (stored("org.apache.hadoop.mapred.TextInputFormat"), "text"),
        (stored("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hive.hcatalog.data.JsonSerDe"), "json"),
        (stored("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.serde2.OpenCSVSerde"), "csv"),
        (stored("org.apache.hudi.hadoop.HoodieParquetInputFormat"), "hudi"),
        (stored("org.apache.hadoop.mapred.TextInputFormat", table_type="iceberg"), "iceberg"),
        (stored("org.apache.hadoop.mapred.SequenceFileInputFormat", **{PROVIDER: "delta"}), "delta"),
        (stored("org.apache.hadoop.mapred.SequenceFileInputFormat", **{PROVIDER: "Parquet"}), "parquet"),
        (stored("org.apache.hadoop.mapred.TextInputFormat", **{PROVIDER: "jdbc"}), "other"),
        (stored("org.apache.hadoop.mapred.TextInputFormat", storage_handler="org.HBase"), "other"),
        (stored("com.example.Own"), "other"),
    ],
)
def test_the_format_of_a_table_has_a_name(item: Any, name: str) -> None:
    assert format_of(item) == name


class Copier:
    """Notes from where to where it is asked to copy."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def copy(self, pairs: Sequence[Pair], *, removed: object = None, elsewhere: object = None) -> Copied:  # noqa: ARG002
        self.asked += [(it.source, it.target) for it in pairs]
        return Copied()


def copied(how: TargetSettings, put: PutTable, *, of_dump: bool = False) -> list[tuple[str, str]]:
    copier = Copier()
    FilesFirst(copier, how, VersionsInMemory(), of_dump=of_dump).bring(
        FakeTarget(), put, lambda _: None, lambda _: None
    )
    return copier.asked


@pytest.mark.parametrize("provider", ["csv", "json", "text", "delta", "DELTA"])
def test_a_table_of_spark_is_where_the_path_of_its_serde_says(provider: str) -> None:
    assert data_location(of_spark(provider=provider)) == "s3a://b/t"


def test_other_tables_are_where_their_storage_says() -> None:
    hive = of_spark()
    del hive.parameters[PROVIDER]
    assert data_location(hive) == hive.sd.location
    hive.parameters[PROVIDER] = "hive"
    assert data_location(hive) == hive.sd.location
    pathless = of_spark()
    pathless.sd.serdeInfo.parameters = None
    assert data_location(pathless) == pathless.sd.location
    pathless.sd.serdeInfo = pathless.sd.location = None
    assert data_location(pathless) == ""
    pathless.sd = None
    assert data_location(pathless) == ""


def test_a_table_that_hive_has_renamed_is_where_its_storage_says() -> None:
    """Hive moves the files of a managed table, and leaves `path` as it is."""
    found = of_spark(provider="parquet")
    found.sd.location = "hdfs://a/wh/db.db/renamed"
    assert data_location(found) == "hdfs://a/wh/db.db/renamed"


def test_a_partition_is_where_its_storage_says() -> None:
    """Hive gives a new partition the serde of its table, with its `path`."""
    found = partition(of_spark(), ["1"])
    found.sd.location, found.sd.serdeInfo = "s3a://b/t/p=1", of_spark().sd.serdeInfo
    assert data_location(found) == "s3a://b/t/p=1"


def test_the_files_of_a_table_of_spark_are_copied_from_its_path_to_its_path() -> None:
    found = of_spark()
    how = settings(locations=MOVE, copy=True)
    sources = NameMapping.of(how).apply_to(found)
    assert sources == {"s3a://c/t": SourceFiles("s3a://b/t", removes_extras=True)}
    assert copied(how, PutTable(table=T, definition=found, sources=sources, mark=MARK)) == [MOVED]


def test_a_load_refuses_no_table_for_its_placeholder() -> None:
    """Only the location of the files has to be below a prefix of locations."""
    found = of_spark()
    how = settings(locations={"s3a://b": "s3a://c"}, copy=True)
    sources = NameMapping.of(how).apply_to(found)
    assert copied(how, PutTable(table=T, definition=found, sources=sources, mark=MARK), of_dump=True) == [MOVED]


def test_the_files_of_a_dump_are_those_of_the_path() -> None:
    source = Hms()
    source.found[T] = of_spark()
    assert list(locations(source, T)) == [["s3a://b/t"]]  # type: ignore[arg-type]


ARCHIVE = "har://hdfs-a:8020/wh/t/p=1/data.har"


@pytest.mark.parametrize("location", [ARCHIVE, f"{ARCHIVE}/", f"{ARCHIVE}/q=2"])
def test_an_archived_partition_is_in_the_directory_of_its_archive(location: str) -> None:
    """An archive can only be read: its own files are what can be copied."""
    found = partition(of_spark(), ["1"])
    found.sd.location = location
    assert data_location(found) == "hdfs://a:8020/wh/t/p=1/data.har"
    mapping = NameMapping.of(settings(locations={"hdfs://a:8020": "s3a://c"}, copy={"rewrite": "parquet"}))
    found.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    found.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    found.sd.serdeInfo.parameters = {"field.delim": ","}
    sources = mapping.apply_to_partition(found, Frame(plain=True))
    assert sources == {"s3a://c/wh/t/p=1/data.har": SourceFiles("hdfs://a:8020/wh/t/p=1/data.har", removes_extras=True)}
    assert found.sd.location == location.replace("hdfs-a:8020", "s3a-c")


@pytest.mark.parametrize("location", ["har:///wh/t/data.har", "har://hdfs-a/wh/t", "hdfs://a/wh/data.har/x"])
def test_what_names_no_archive_in_a_file_system_is_where_it_says(location: str) -> None:
    found = partition(of_spark(), ["1"])
    found.sd.location = location
    assert data_location(found) == location
