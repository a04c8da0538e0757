"""Locations in definitions: which keys hold them and who reads the key, where they stand, and what becomes of them."""

from __future__ import annotations

from typing import NamedTuple

PREFIXES = {
    "hdfs://a": "hdfs://dr",
    "hdfs://a:8020/wh": "hdfs://dr:8020/wh",
    "s3a://b": "s3a://c",
    "s3n://b": "s3a://c",
    "s3://b": "s3://c",
    "file:/wh": "file:/dr",
    "gs://b": "gs://c",
    "oss://b": "oss://c",
    "cosn://b": "cosn://c",
    "abfss://f@acct.dfs.core.windows.net": "abfss://f@dr.dfs.core.windows.net",
    "wasbs://f@acct.blob.core.windows.net": "wasbs://f@dr.blob.core.windows.net",
    "adl://acct.azuredatalakestore.net": "adl://dr.azuredatalakestore.net",
    "viewfs://a": "viewfs://dr",
    "ofs://om/vol": "ofs://dr/vol",
    "o3fs://bucket.vol.om": "o3fs://bucket.vol.dr",
    "dbfs:/mnt": "dbfs:/dr",
}
"""The setting `locations` of the corpus."""

REFUSED = "refused"


class Value(NamedTuple):
    """A location, and what the target gets: another, the same (None), or nothing, because it is refused."""

    name: str
    text: str
    mapped: str | None


VALUES = (
    Value("hdfs", "hdfs://a/wh/t", "hdfs://dr/wh/t"),
    Value("hdfs with a port", "hdfs://a:8020/wh/t", "hdfs://dr:8020/wh/t"),
    Value("hdfs, the root", "hdfs://a", "hdfs://dr"),
    Value("hdfs in capitals", "HDFS://a/wh/t", "hdfs://dr/wh/t"),
    Value("hdfs of another cluster", "hdfs://ab/wh/t", None),
    Value("hdfs, another port", "hdfs://a:9000/wh/t", None),
    Value("s3a", "s3a://b/t", "s3a://c/t"),
    Value("s3a in capitals", "S3A://b/t", "s3a://c/t"),
    Value("s3n", "s3n://b/t", "s3a://c/t"),
    Value("s3", "s3://b/t", "s3://c/t"),
    Value("s3, another bucket", "s3://bb/t", None),
    Value("file", "file:/wh/t", "file:/dr/t"),
    Value("file with an empty authority", "file:///wh/t", "file:/dr/t"),
    Value("file outside", "file:/where/t", None),
    Value("har of hdfs", "har://hdfs-a/wh/t/data.har", "har://hdfs-dr/wh/t/data.har"),
    Value("har of s3a", "har://s3a-b/t/data.har/p=1", "har://s3a-c/t/data.har/p=1"),
    Value("har of the default file system", "har:///wh/t/data.har", None),
    Value("gs", "gs://b/t", "gs://c/t"),
    Value("oss", "oss://b/t", "oss://c/t"),
    Value("cosn", "cosn://b/t", "cosn://c/t"),
    Value("abfss", "abfss://f@acct.dfs.core.windows.net/t", "abfss://f@dr.dfs.core.windows.net/t"),
    Value("wasbs", "wasbs://f@acct.blob.core.windows.net/t", "wasbs://f@dr.blob.core.windows.net/t"),
    Value("adl", "adl://acct.azuredatalakestore.net/t", "adl://dr.azuredatalakestore.net/t"),
    Value("viewfs", "viewfs://a/t", "viewfs://dr/t"),
    Value("ofs", "ofs://om/vol/b/t", "ofs://dr/vol/b/t"),
    Value("o3fs", "o3fs://bucket.vol.om/t", "o3fs://bucket.vol.dr/t"),
    Value("dbfs", "dbfs:/mnt/t", "dbfs:/dr/t"),
    Value("no scheme, on the default file system", "/wh/t", None),
    Value("relative", "data/t", None),
    Value("placeholder of Spark", "hdfs://a/wh/t-__PLACEHOLDER__", "hdfs://dr/wh/t-__PLACEHOLDER__"),
    Value("template of Athena", "s3://b/t/${day}/", "s3://c/t/${day}/"),
    Value("http", "http://registry/t.avsc", None),
    Value("up and down below the prefix", "hdfs://a/wh/x/../t", "hdfs://dr/wh/x/../t"),
    Value("out of the prefix", "s3a://b/../c/t", REFUSED),
    Value("empty", "", None),
)


class Key(NamedTuple):
    """A parameter, and the source or page that shows who reads it."""

    name: str
    read_by: str


LOCATION_KEYS = (
    Key("avro.schema.url", "Hive: AvroSerdeUtils; also of partitions and serdes"),
    Key("schema.url", "Hive: metatool -updateLocation … -serdePropKey schema.url"),
    Key("avroSchemaUrl", "Spark: option of the source avro"),
    Key("original_location", "Hive: ORIGINAL_LOCATION of archived partitions"),
    Key("hfile.family.path", "Hive: HiveHFileOutputFormat, HBaseStorageHandler"),
    Key("hive.kafka.ssl.keystore.location", "Hive: KafkaTableProperties, 'requires HDFS'"),
    Key("hive.kafka.ssl.truststore.location", "Hive: KafkaTableProperties, 'requires HDFS'"),
    Key("path", "Spark: HiveExternalCatalog, in the serde"),
    Key("PATH", "Spark: CaseInsensitiveMap of the storage's properties"),
    Key("option.path", "Spark: TableCatalog.OPTION_PREFIX"),
    Key("basePath", "Spark: option of sources of files"),
    Key("flink.path", "Flink: HiveCatalog, prefix flink. of generic tables"),
    Key("metadata_location", "Iceberg: BaseMetastoreTableOperations"),
    Key("previous_metadata_location", "Iceberg: BaseMetastoreTableOperations"),
    Key("location", "Iceberg: mr.Catalogs.LOCATION"),
    Key("iceberg.catalog_location", "Impala: IcebergTable.ICEBERG_CATALOG_LOCATION"),
    Key("write.data.path", "Iceberg: TableProperties"),
    Key("write.metadata.path", "Iceberg: TableProperties"),
    Key("write.object-storage.path", "Iceberg: TableProperties; Athena sets it"),
    Key("write.folder-storage.path", "Iceberg: TableProperties, deprecated"),
    Key("hoodie.base.path", "Hudi: HoodieWriteConfig"),
    Key("hoodie.bootstrap.base.path", "Hudi: HoodieTableConfig"),
    Key("paimon_location", "Paimon: LocationKeyExtractor"),
    Key("paimon.catalog_location", "Impala: PaimonUtil"),
    Key("__IMPALA_DATA_SOURCE_LOCATION", "Impala: DataSourceTable"),
    Key("storage.location.template", "Athena: partition projection"),
)

OTHER_KEYS = (
    Key("comment", "people: a text, whatever it begins with"),
    Key("hive.repl.ckpt.key", "Hive: the dump that REPL LOAD has loaded, compared as a text"),
    Key("hive.sql.jdbc.url", "Hive: JdbcStorageHandler, a database"),
    Key("hive.sql.dbcp.password.keystore", "Hive: a provider of credentials, jceks://hdfs@…"),
    Key("hbase.table.name", "Hive: HBaseStorageHandler"),
    Key("kudu.master_addresses", "Kudu: hosts"),
    Key("es.resource", "Elasticsearch: an index"),
    Key("druid.datasource", "Hive: DruidStorageHandler"),
    Key("spark.sql.sources.provider", "Spark: a name"),
    Key("spark.sql.sources.schema", "Spark: JSON"),
    Key("spark.sql.create.version", "Spark: a version"),
    Key("view.sqlConfig.spark.sql.warehouse.dir", "Spark: the setting at the time of CREATE VIEW"),
    Key("exclusions", "Glue: patterns of a crawler"),
    Key("field.delim", "Hive: LazySimpleSerDe"),
    Key("iceberg.table_identifier", "Impala: a name"),
    Key("paths", "nobody"),
    Key("path.filter", "nobody"),
)
"""Keys whose values are no locations, and stay as they are."""

FIELDS = (
    "database.locationUri",
    "database.managedLocationUri",
    "table.sd.location",
    "partition.sd.location",
)
"""Fields of the metastore's structs that are locations, but for those in lists and maps."""

BAGS = (
    "table.parameters",
    "table.sd.parameters",
    "table.sd.serdeInfo.parameters",
    "partition.parameters",
    "partition.sd.parameters",
    "partition.sd.serdeInfo.parameters",
)
"""Where the keys of parameters stand."""
