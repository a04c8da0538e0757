"""Tables of every shape: names, types, serdes, places, properties, and kinds of tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from tests.support.corpus.case import Case, Make, Step, columns

_QL = "org.apache.hadoop.hive.ql.io"
_SERDE2 = "org.apache.hadoop.hive.serde2"
_TEXT = ("org.apache.hadoop.mapred.TextInputFormat", f"{_QL}.HiveIgnoreKeyTextOutputFormat")
_LAZY = f"{_SERDE2}.lazy.LazySimpleSerDe"

RESERVED = [
    "all", "alter", "and", "array", "as", "authorization", "between", "both", "by", "case", "cast", "column", "create",
    "cross", "current_date", "cursor", "database", "date", "delete", "describe", "drop", "else", "end", "exists",
    "external", "false", "fetch", "float", "for", "from", "full", "function", "grant", "group", "having", "import",
    "in", "inner", "insert", "interval", "into", "is", "join", "left", "like", "local", "map", "more", "none", "not",
    "null", "of", "on", "or", "order", "out", "outer", "partition", "percent", "primary", "range", "regexp", "reduce",
    "right", "row", "rows", "select", "set", "smallint", "table", "then", "timestamp", "to", "trigger", "true",
    "truncate", "union", "unique", "update", "user", "using", "values", "varchar", "when", "where", "window", "with",
]  # fmt: skip
NAMES = ["a b", "a-b", "ü", "日", "a`b", "`x", "x`", "a'b", 'a"b', "1", "_", "select;", "$", "a\\b", "%", "😀"]
UNSAYABLE = ["a.b", "a:b", "`x`"]
TYPES = [
    "tinyint", "smallint", "int", "bigint", "boolean", "float", "double", "string", "binary", "timestamp", "date",
    "char(255)", "varchar(65535)", "decimal(38,18)", "decimal(10,0)", "array<int>", "map<string,array<date>>",
    "struct<a:int>", "struct<date:int,order:array<struct<user:string,group:map<int,date>>>>",
    "array<map<string,decimal(5,2)>>", "map<varchar(3),struct<select:binary,x_1:char(2)>>",
]  # fmt: skip
UNSAYABLE_TYPES = ["uniontype<int,string>", "interval_year_month", "struct<a-b:int>"]

SERDES: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "text with delimiters": (
        _LAZY,
        *_TEXT,
        {
            "field.delim": "\t",
            "line.delim": "\n",
            "escape.delim": "\\",
            "mapkey.delim": "\x03",
            "colelction.delim": ",",
        },
    ),
    "csv": (f"{_SERDE2}.OpenCSVSerde", *_TEXT, {"separatorChar": ";", "quoteChar": '"', "escapeChar": "\\"}),
    "regex": (f"{_SERDE2}.RegexSerDe", *_TEXT, {"input.regex": r"^(\d+)'([^\"]*)\s\\(.*)$"}),
    "json of openx": ("org.openx.data.jsonserde.JsonSerDe", *_TEXT, {"ignore.malformed.json": "true"}),
    "json of hcatalog": ("org.apache.hive.hcatalog.data.JsonSerDe", *_TEXT, {}),
    "grok": ("com.amazonaws.glue.serde.GrokSerDe", *_TEXT, {"input.format": "%{WORD:a} '%{DATA:b}'"}),
    "parquet": (
        f"{_QL}.parquet.serde.ParquetHiveSerDe",
        f"{_QL}.parquet.MapredParquetInputFormat",
        f"{_QL}.parquet.MapredParquetOutputFormat",
        {},
    ),
    "orc": (f"{_QL}.orc.OrcSerde", f"{_QL}.orc.OrcInputFormat", f"{_QL}.orc.OrcOutputFormat", {"orc.compress": "ZLIB"}),
    "rc, text": (f"{_SERDE2}.columnar.ColumnarSerDe", f"{_QL}.RCFileInputFormat", f"{_QL}.RCFileOutputFormat", {}),
    "rc, binary": (
        f"{_SERDE2}.columnar.LazyBinaryColumnarSerDe",
        f"{_QL}.RCFileInputFormat",
        f"{_QL}.RCFileOutputFormat",
        {},
    ),
    "sequence file": (
        _LAZY,
        "org.apache.hadoop.mapred.SequenceFileInputFormat",
        f"{_QL}.HiveSequenceFileOutputFormat",
        {"field.delim": "\x01"},
    ),
    "cloudtrail": (
        "com.amazon.emr.hive.serde.CloudTrailSerde",
        "com.amazon.emr.cloudtrail.CloudTrailInputFormat",
        _TEXT[1],
        {},
    ),
    "ion": (
        "com.amazon.ionhiveserde.IonHiveSerDe",
        "com.amazon.ionhiveserde.formats.IonInputFormat",
        "com.amazon.ionhiveserde.formats.IonOutputFormat",
        {"ion.fail_on_overflow": "false"},
    ),
}
# Athena has these classes; the jars of the embedded one have not.
ATHENAS_OWN = ("json of openx", "json of hcatalog", "grok", "cloudtrail", "ion")
_NO_CLASS = r"Cannot validate serde|ClassNotFoundException|[Cc]annot find class|Unable to find"
# What a metastore takes and Hive's DDL does not, with Hive's words for it.
REFUSED: dict[str, tuple[tuple[str, str, str, dict[str, str]], str]] = {
    "of a class that nobody has": (("com.example.SerDe", *_TEXT, {}), "Cannot validate serde: com.example.SerDe"),
    "regex with a bad pattern": ((f"{_SERDE2}.RegexSerDe", *_TEXT, {"input.regex": "(("}), "Unclosed group"),
    "regex without a pattern": ((f"{_SERDE2}.RegexSerDe", *_TEXT, {}), "input.regex"),
    "avro with a schema that cannot be read": (
        (
            f"{_SERDE2}.avro.AvroSerDe",
            f"{_QL}.avro.AvroContainerInputFormat",
            f"{_QL}.avro.AvroContainerOutputFormat",
            {"avro.schema.url": "http://127.0.0.1:1/t.avsc"},
        ),
        "[Aa]vro",
    ),
    "with an input format that nobody has": ((_LAZY, "com.example.Input", _TEXT[1], {}), "com.example.Input"),
}
_AVRO = (
    f"{_SERDE2}.avro.AvroSerDe",
    f"{_QL}.avro.AvroContainerInputFormat",
    f"{_QL}.avro.AvroContainerOutputFormat",
    {
        "avro.schema.literal": '{"type":"record","name":"r","fields":[{"name":"a","type":["null","int"]},'
        '{"name":"b","type":["null","string"],"doc":"it\'s \\\\"}]}'
    },
)

PLACES = [
    "it's", "a b", " x", "a%20b", "a%b", "ü", "日本/😀", 'a"b', "a;b", "${x}", "a`b", "a#b", "a&b", "a+b", "a=b", "a,b",
    "(a)[b]", "a\\b", "~", "@", "!", "^", "-", "_", ".hidden", "x" * 200,
]  # fmt: skip


def cases() -> Iterator[Case]:
    for start in range(0, len(RESERVED), 8):
        words = RESERVED[start : start + 8]
        yield Case(f"columns {', '.join(words)}", _named(*words[:-2]), _keyed(*words[-2:]), (_added(*words[-2:]),))
    for name in NAMES:
        yield Case(f"the column {name!r}", _named(name, "b"), _keyed(f"{name}k"), (_added("v"),))
    for name in UNSAYABLE:
        yield Case(f"the column {name!r}", _named(name, "b"), said=False)
    for kind in TYPES:
        yield Case(f"the type {kind}", _typed(kind))
    for kind in UNSAYABLE_TYPES:
        yield Case(f"the type {kind}", _typed(kind), said=False)
    for title, serde in {**SERDES, "avro": _AVRO}.items():
        own = title in ATHENAS_OWN
        refused = _NO_CLASS if own else ""
        make = _with_serde(*serde)
        yield Case(f"the serde {title}", make, _keyed("k"), (_added("v"),), refused=refused, only_here=own)
    for title, (serde, words) in REFUSED.items():
        yield Case(f"the serde {title}", _with_serde(*serde), _keyed("k"), (_added("v"),), refused=words)
    for place in PLACES:
        yield Case(f"the place {place[:20]!r}", _placed(place), _keyed("k"), (_added("v"),))
    yield from _properties()
    yield from _kinds()


def _properties() -> Iterator[Case]:
    yield Case("no comment", lambda table: table.parameters.update(comment=""))
    yield Case("many properties", lambda table: table.parameters.update({f"k{n:03}": f"v'{n}" for n in range(300)}))
    yield Case("a long value", lambda table: table.parameters.update(spark=f"{'x' * 30_000}'"))
    yield Case("an odd key", lambda table: table.parameters.update({"a.b-c/d e'f\"g`h\\": "v"}))
    yield Case("the longest key", lambda table: table.parameters.update({"k" * 255: "v"}))
    yield Case("a key like Spark's", lambda table: table.parameters.update({"spark.sql.sources.schema": '{"a":"b"}'}))
    yield Case("the longest comment of a column", lambda table: setattr(table.sd.cols[0], "comment", "x'" * 127))
    yield Case("a comment that is cut", lambda table: setattr(table.sd.cols[0], "comment", "x" * 256))
    yield Case("a comment of many lines", lambda table: setattr(table.sd.cols[0], "comment", "a\nb\r\n\tc"))
    yield Case("three hundred columns", lambda table: setattr(table.sd, "cols", _many(300)))


def _kinds() -> Iterator[Case]:
    yield Case("buckets", lambda table: (setattr(table.sd, "bucketCols", ["a"]), setattr(table.sd, "numBuckets", 8)))
    yield Case("sorted buckets", _sorted)
    yield Case("a name for the serde", lambda table: setattr(table.sd.serdeInfo, "name", "its name"))
    yield Case("retention", lambda table: setattr(table, "retention", 7))
    yield Case("a managed table", _managed, said=False)
    yield Case("a view", _view, said=False)
    yield Case("an Iceberg table", lambda table: table.parameters.update(table_type="ICEBERG"), said=False)
    yield Case("a storage handler", lambda table: table.parameters.update(storage_handler="x.Y"), said=False)


def _many(count: int) -> list[Any]:
    return [hive.FieldSchema(f"c{number}", "string", f"it's {number}") for number in range(count)]


def _sorted(table: Any) -> None:
    table.sd.bucketCols, table.sd.numBuckets, table.sd.sortCols = ["a"], 4, [hive.Order("b", 1)]


def _managed(table: Any) -> None:
    table.tableType, table.parameters = "MANAGED_TABLE", {}


def _view(table: Any) -> None:
    table.tableType, table.parameters, table.sd.location = "VIRTUAL_VIEW", {}, None
    table.viewOriginalText = table.viewExpandedText = "SELECT 'it''s \\' AS `a``b` FROM `x`"


def _named(*names: str) -> Make:
    return lambda table: setattr(table.sd, "cols", columns(*((name, "string") for name in names)))


def _keyed(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, "string") for name in names)


def _added(*values: str) -> Step:
    return lambda play: play.add(list(values))


def _typed(kind: str) -> Make:
    return lambda table: setattr(table.sd, "cols", columns(("a", kind), ("b", "string")))


def _placed(place: str) -> Make:
    return lambda table: setattr(table.sd, "location", f"{table.sd.location}/{place}")


def _with_serde(library: str, reads: str, writes: str, parameters: dict[str, str]) -> Make:
    def make(table: Any) -> None:
        table.sd.cols = columns(("a", "string"), ("b", "string"))
        table.sd.inputFormat, table.sd.outputFormat = reads, writes
        table.sd.serdeInfo.serializationLib = library
        table.sd.serdeInfo.parameters |= parameters

    return make
