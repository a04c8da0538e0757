"""What Glue should hold for an object of a metastore, by docs/aws.md alone: pysync's own translation is not used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pysync.model.mark import MARK_KEYS

_OWN = frozenset(
    {"transient_lastDdlTime", "last_modified_by", "last_modified_time"} | MARK_KEYS | {"pysync.parameters"}
)
_STATISTICS = frozenset({"COLUMN_STATS_ACCURATE", "numFiles", "numRows", "rawDataSize", "totalSize", "numPartitions"})
_KINDS = {1: "USER", 2: "ROLE", 3: "GROUP"}

Located = Callable[[str], str]
Form = dict[str, Any]

# What docs/aws.md calls lost where Athena's statements do everything.
_LOST = ("Owner", "Retention")
_LOST_OF_STORAGE = ("Compressed", "StoredAsSubDirectories", "Parameters", "SortColumns", "SkewedInfo")


def database(item: Any, located: Located) -> Form:
    owner = {"pysync.owner": item.ownerName, "pysync.owner_type": _KINDS[item.ownerType]} if item.ownerName else {}
    return _present(
        Description=item.description,
        LocationUri=located(item.locationUri),
        Parameters={**(item.parameters or {}), **owner},
    )


def table(item: Any, located: Located) -> Form:
    return _present(
        Owner=item.owner,
        Retention=item.retention,
        TableType=item.tableType,
        PartitionKeys=_columns(item.partitionKeys),
        StorageDescriptor=_storage(item.sd, located),
        Parameters=_parameters(item.parameters),
        ViewOriginalText=item.viewOriginalText,
        ViewExpandedText=item.viewExpandedText,
    )


def partition(item: Any, located: Located) -> Form:
    return _present(StorageDescriptor=_storage(item.sd, located), Parameters=_parameters(item.parameters))


def seen(item: Mapping[str, Any]) -> Form:
    """The same of what boto3 gives, without what Glue sets by itself."""
    kept = ("Description", "LocationUri", "Owner", "Retention", "TableType", "ViewOriginalText", "ViewExpandedText")
    found: Form = {name: item.get(name) for name in kept}
    if "StorageDescriptor" in item:
        storage = item["StorageDescriptor"]
        columns = [_column(it["Name"], it["Type"], it.get("Comment")) for it in storage.get("Columns", ())]
        serde = _present(**storage.get("SerdeInfo", {}))
        skew = _present(**storage.get("SkewedInfo", {}))  # pysync writes it empty, so that no skew of others remains
        place = storage.get("Location", "").rstrip("/")
        forms = {"Columns": columns, "SerdeInfo": serde, "SkewedInfo": skew, "Location": place}
        found["StorageDescriptor"] = _present(**{**storage, **forms})
    keys = item.get("PartitionKeys", ())
    found["PartitionKeys"] = [_column(it["Name"], it["Type"], it.get("Comment")) for it in keys]
    return _present(**found, Parameters=_parameters(item.get("Parameters")))


def without_lost(form: Form) -> Form:
    """What is left of it where only statements are sent."""
    found = {key: value for key, value in form.items() if key not in _LOST}
    if "StorageDescriptor" in found:
        storage = {key: value for key, value in found["StorageDescriptor"].items() if key not in _LOST_OF_STORAGE}
        storage["SerdeInfo"] = {key: value for key, value in storage.get("SerdeInfo", {}).items() if key != "Name"}
        found["StorageDescriptor"] = storage
    parameters = {key: value for key, value in form.get("Parameters", {}).items() if key not in _STATISTICS}
    return _present(**{**found, "Parameters": parameters})


def _storage(item: Any, located: Located) -> Form:
    serde = item.serdeInfo
    return _present(
        Columns=_columns(item.cols),
        Location=located(item.location or "").rstrip("/"),
        InputFormat=item.inputFormat,
        OutputFormat=item.outputFormat,
        Compressed=item.compressed,
        NumberOfBuckets=item.numBuckets,
        SerdeInfo=_present(
            Name=serde.name, SerializationLibrary=serde.serializationLib, Parameters=serde.parameters or {}
        ),
        BucketColumns=item.bucketCols,
        SortColumns=[{"Column": it.col, "SortOrder": it.order} for it in item.sortCols or ()],
        Parameters=item.parameters,
        StoredAsSubDirectories=item.storedAsSubDirectories,
    )


def _columns(items: Iterable[Any] | None) -> list[Form]:
    return [_column(it.name, it.type, it.comment) for it in items or ()]


def _column(name: str, kind: str, comment: str | None) -> Form:
    """Types as Hive writes them; comments without the characters that Glue does not take, and cut at 255."""
    plain = re.sub(r"\bdecimal(?!\()", "decimal(10,0)", re.sub(r"\s", "", kind).lower())
    text = re.sub(r"[^\t\x20-\ufffd\U00010000-\U0010ffff]", " ", comment or "")[:255]
    return _present(Name=name, Type=plain, Comment=text)


def _parameters(pairs: Mapping[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (pairs or {}).items() if key not in _OWN}


def _present(**fields: Any) -> Form:
    return {key: value for key, value in fields.items() if value not in (None, "", [], {}, False, 0)}
