"""Re-encoding: which files Spark reads and writes again, how it reads them, and what happens to the definition.

Pure. `form_of` is the one decision: whatever it does not know for sure is carried byte for byte as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pysync.base.text import whole_number
from pysync.model.definition import STATISTICS
from pysync.model.locations import Form, Transactional

_ORC = "org.apache.hadoop.hive.ql.io.orc."
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet."
_TEXT_INPUT = "org.apache.hadoop.mapred.TextInputFormat"
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"

# The input format, the output format and the serde of what is written.
_WRITTEN: Mapping[str, tuple[str, str, str]] = {
    "parquet": (
        f"{_PARQUET}MapredParquetInputFormat",
        f"{_PARQUET}MapredParquetOutputFormat",
        f"{_PARQUET}serde.ParquetHiveSerDe",
    ),
    "orc": (f"{_ORC}OrcInputFormat", f"{_ORC}OrcOutputFormat", f"{_ORC}OrcSerde"),
}
_READ: Mapping[tuple[str, str], str] = {
    (_WRITTEN["parquet"][0], _WRITTEN["parquet"][2]): "parquet",
    (_WRITTEN["orc"][0], _WRITTEN["orc"][2]): "orc",
    (_TEXT_INPUT, "org.apache.hive.hcatalog.data.JsonSerDe"): "json",
    (_TEXT_INPUT, "org.apache.hadoop.hive.serde2.JsonSerDe"): "json",
    (_TEXT_INPUT, _LAZY): "text",
}

_HEADER, _FOOTER = "skip.header.line.count", "skip.footer.line.count"
_FIELD, _FORMAT, _NULL = "field.delim", "serialization.format", "serialization.null.format"
# Hive before 3.0 misspells the first one as the second (HIVE-16922).
_NESTED = ("collection.delim", "colelction.delim", "mapkey.delim")  # of types that are not read from text
_KNOWN: Mapping[str, frozenset[str]] = {
    "parquet": frozenset({_FORMAT, "path"}),
    "orc": frozenset({_FORMAT, "path"}),
    "json": frozenset({_FORMAT}),
    "text": frozenset({_FORMAT, _FIELD, _NULL, "line.delim", *_NESTED}),
}
"""The parameters that a serde may have. Those of a table may be anybody's: they are only checked for `_UNREAD`."""
_UNREAD = (
    "escape.delim",
    "quote.delim",
    "serialization.encoding",
    "serialization.escape.crlf",
    "serialization.last.column.takes.rest",
    "timestamp.formats",
    "hive.lazysimple.extended_boolean_literal",
    "textinputformat.record.delimiter",
    "ignore.malformed.json",
)
_OF_TRANSACTIONS = frozenset({"transactional", "transactional_properties", "bucketing_version"})
_OF_TEXT = frozenset({_HEADER, _FOOTER, _FIELD, _NULL, "line.delim", "classification", "delimiter", *_NESTED})

_SIZED_TYPES = r"decimal(\([0-9, ]{1,19}\))?|(char|varchar)(\([0-9 ]{1,19}\))?"
_SIMPLE = re.compile(rf"tinyint|smallint|int|bigint|float|double|boolean|string|date|timestamp|{_SIZED_TYPES}")
_WORDED = re.compile(r"[a-z0-9_<>,:() ]+", re.IGNORECASE)
_UNTYPED = re.compile(r"uniontype|interval|void|zone|localtz|variant", re.IGNORECASE)
_STRUCTURED = re.compile(r"struct|binary", re.IGNORECASE)
_DECIMAL = re.compile(r"decimal\s*\(\s*([0-9]+)", re.IGNORECASE)
_DOUBLE_DIGITS = 15  # decimal digits that a double keeps for sure
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Frame:
    """What a table's definition says of the files of all its partitions. Unless `plain`, none is rewritten.

    Of a `transactional` table only some rows in the files count; `by_place` and `created` as for a Form.
    """

    plain: bool
    provider: str = ""
    transactional: Transactional = ""
    by_place: bool = False
    created: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[tuple[str, str], ...] = ()


def frame_of(table: Any) -> Frame:
    """The frame of a table as the source has it."""
    storage, parameters = table.sd, table.parameters or {}
    if storage is None or storage.serdeInfo is None or table.tableType not in {"MANAGED_TABLE", "EXTERNAL_TABLE"}:
        return Frame(plain=False)
    provider = parameters.get("spark.sql.sources.provider", "hive").lower()
    plain = (
        "storage_handler" not in parameters
        and "spark.sql.sources.schema.numBuckets" not in parameters
        and "table_type" not in parameters  # Iceberg's
    )
    properties = {**(storage.serdeInfo.parameters or {}), **parameters}
    return Frame(
        plain,
        "" if provider == "hive" else provider,
        transactional_kind(table),
        table.id is not None,  # as Hive 4 reads them, which alone sets it
        table.createTime or 0,
        properties,
        _columns(storage),
    )


def transactional_kind(table: Any) -> Transactional:
    """Which kind of Hive's transactional tables it is, if any."""
    parameters = table.parameters or {}
    if parameters.get("transactional", "").lower() != "true":
        return ""
    return "insert_only" if parameters.get("transactional_properties", "").lower() == "insert_only" else "full"


def form_of(
    storage: Any, parameters: Mapping[str, str] | None, frame: Frame, to: str, *, snapshots: bool = False
) -> Form | None:
    """How the files of this storage descriptor with these parameters are read and rewritten; None: not at all.

    None for views and for tables of a storage handler, bucketed or skewed; for those of Spark's own data sources,
    unless that is the very format `to`; and for any input format, serde, serde parameter or column type that is not
    listed above. None for transactional tables, unless `snapshots` of them are read; buckets are no obstacle then.
    """
    if storage is None or storage.serdeInfo is None or not storage.location or _is_skewed(storage):
        return None
    is_plain = frame.plain and not (frame.transactional or _is_bucketed(storage))
    if not is_plain and not (frame.plain and frame.transactional and snapshots):
        return None
    serde = storage.serdeInfo.parameters or {}
    kind = _READ.get((storage.inputFormat or "", storage.serdeInfo.serializationLib or ""))
    if kind is None or not serde.keys() <= _KNOWN[kind] or (frame.provider and not frame.provider == kind == to):
        return None
    columns = _columns(storage) or frame.columns
    if not columns or not all(_is_read(of, kind) for _, of in columns) or not _are_distinct(columns):
        return None
    form = _form(kind, to, columns, frame.properties, {**frame.properties, **serde, **(parameters or {})})
    if form is None or not frame.transactional:
        return form
    return replace(form, transactional=frame.transactional, by_place=frame.by_place, created=frame.created)


def alter(item: Any, form: Form) -> None:
    """Alter a Table or Partition in place, so that it describes the written files. Idempotent.

    Parameters for reading text go. Where the files keep their format, nothing changes. A transactional table becomes an
    external one without buckets: its metastore has no transactions, and the files no row ids.
    """
    if form.transactional:
        _end_transactions(item)
    elif form.format == form.to:
        return
    storage = item.sd
    storage.inputFormat, storage.outputFormat, storage.serdeInfo.serializationLib = _WRITTEN[form.to]
    storage.serdeInfo.parameters = {_FORMAT: "1"}
    storage.compressed = False
    old = f"{form.format}."
    item.parameters = {k: v for k, v in (item.parameters or {}).items() if k not in _OF_TEXT and not k.startswith(old)}


def _end_transactions(item: Any) -> None:
    storage = item.sd
    storage.numBuckets, storage.bucketCols, storage.sortCols = -1, [], []
    item.parameters = {k: v for k, v in (item.parameters or {}).items() if k not in _OF_TRANSACTIONS | STATISTICS}
    if hasattr(item, "tableType"):
        item.tableType = "EXTERNAL_TABLE"
        item.parameters["EXTERNAL"] = "TRUE"


def _form(
    kind: str, to: str, columns: tuple[tuple[str, str], ...], table: Mapping[str, str], all_: Mapping[str, str]
) -> Form | None:
    """`table` are the properties of the table, by which Hive counts headers; `all_` those of the partition, too."""
    header = whole_number(table.get(_HEADER) or "0")
    if header is None or (table.get(_FOOTER) or "0") != "0" or any(all_.get(key) for key in _UNREAD):
        return None
    if kind in {"parquet", "orc"}:
        return Form(kind, to, columns) if header == 0 else None
    if kind == "json":
        return Form(kind, to, columns, header=header)
    delimiter = _delimiter(all_)
    if delimiter is None or all_.get("line.delim") not in {None, "\n"}:
        return None
    return Form(kind, to, columns, delimiter, all_.get(_NULL, "\\N"), header)


def _delimiter(properties: Mapping[str, str]) -> str | None:
    """The delimiter as LazySimpleSerDe reads it: a number is a byte, else the first character. None: not ASCII."""
    value = properties.get(_FIELD, properties.get(_FORMAT)) or "\x01"
    code = int(value) if _NUMBER.fullmatch(value) and -128 <= int(value) <= 127 else ord(value[0])
    return chr(code) if 0 < code < 128 and chr(code) not in "\r\n" else None


def _columns(storage: Any) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, column.type) for column in storage.cols or ())


def _is_bucketed(storage: Any) -> bool:
    """Whether single files are buckets, which a rewrite would lose."""
    return (storage.numBuckets or 0) > 0 or bool(storage.bucketCols)


def _is_skewed(storage: Any) -> bool:
    """Whether directories within have skewed values, which a rewrite would lose."""
    skewed = storage.skewedInfo is not None and bool(storage.skewedInfo.skewedColNames)
    return skewed or bool(storage.storedAsSubDirectories)


def _is_read(kind: str, form: str) -> bool:
    """Whether Spark gives a column of this type the values that Hive gives it."""
    if form == "text":
        return _SIMPLE.fullmatch(kind) is not None
    known = _WORDED.fullmatch(kind) is not None and _UNTYPED.search(kind) is None
    return known and (form != "json" or (_STRUCTURED.search(kind) is None and _is_exact(kind)))


def _is_exact(kind: str) -> bool:
    """Whether a number of this type survives as a double, which Spark makes of any JSON number with a point."""
    digits = map(whole_number, _DECIMAL.findall(kind))
    return all(it is not None and it <= _DOUBLE_DIGITS for it in digits)


def _are_distinct(columns: Iterable[tuple[str, str]]) -> bool:
    names = [name.lower() for name, _ in columns]
    return len(set(names)) == len(names)
