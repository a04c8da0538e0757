"""Classes that Athena has and pyspark's Hive has not: empty ones stand in, so that tables may be made of them.

A serde that knows its columns by itself does so only in the real class; these take the columns of the statement.
"""

from __future__ import annotations

from pathlib import Path

_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_INPUT = "org.apache.hadoop.mapred.TextInputFormat"
_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"

_STANDINS = {
    "org.openx.data.jsonserde.JsonSerDe": _LAZY,
    "org.apache.hive.hcatalog.data.JsonSerDe": _LAZY,
    "com.amazonaws.glue.serde.GrokSerDe": _LAZY,
    "com.amazon.emr.hive.serde.CloudTrailSerde": _LAZY,
    "com.amazon.emr.cloudtrail.CloudTrailInputFormat": _INPUT,
    "com.amazon.ionhiveserde.IonHiveSerDe": _LAZY,
    "com.amazon.ionhiveserde.formats.IonInputFormat": _INPUT,
    "com.amazon.ionhiveserde.formats.IonOutputFormat": _OUTPUT,
}

# Those of Hive's own whose tables have the columns of the statement; its default for the setting, less what is gone.
_KEEPING_COLUMNS = (
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe",
    "org.apache.hadoop.hive.serde2.columnar.ColumnarSerDe",
    "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    "org.apache.hadoop.hive.serde2.lazybinary.LazyBinarySerDe",
)
SERDES_THAT_KEEP_COLUMNS = ",".join(
    (*_KEEPING_COLUMNS, *(name for name in _STANDINS if name.lower().endswith("serde")))
)
"""The value of hive.serdes.using.metastore.for.schema; the columns of others are what the serde says."""


def java_sources(directory: Path) -> list[Path]:
    """Write the sources of the classes below a directory, and say which files they are."""
    return [_write(directory, name, parent) for name, parent in _STANDINS.items()]


def _write(directory: Path, name: str, parent: str) -> Path:
    package, _, short = name.rpartition(".")
    lines = [f"package {package};", f"public class {short} extends {parent} {{"]
    lines += [f"    public {short}() throws Exception {{", "    }", "}", ""]
    file = directory / package.replace(".", "/") / f"{short}.java"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines), encoding="utf-8")
    return file
