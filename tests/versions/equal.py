"""Whether source and target are equal, and the differences between versions that docs/versions.md names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.show import compare
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreUnsupported
from pysync.model import idl
from pysync.verify.compare import DIFFERENT, EQUAL, ComparedObject
from tests.versions.body import Version


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that no replication can help: `where` and `what` are matched against object and field.

    It is one where the target is of a Hive below `target_below`, or of `target_from` or newer with a source below that,
    or the source of `source_from` or newer.
    """

    where: str
    what: str
    target_below: Version = (0, 0)
    target_from: Version = (99, 0)
    source_from: Version = (99, 0)

    def covers(self, item: ComparedObject, field: str, source: Version, target: Version) -> bool:
        """Whether this is it, between these versions."""
        found = re.fullmatch(self.where, f"{item.kind} {item.name}") and re.match(self.what, field)
        versions = target < self.target_below or target >= self.target_from > source or source >= self.source_from
        return bool(found) and versions


KNOWN = (
    # Hive 4 gives a database without an owner the name of the server's user.
    Known(r"database \w+", r"ownerName: '\w+' instead of nothing", target_from=(4, 0)),
    # Hive 4 makes a managed table an external one when it is created (MetastoreDefaultTransformer).
    Known(
        r"table shop\.(managed|untouched)|table lab\.managed_renamed",
        r"tableType: 'EXTERNAL_TABLE'|parameters\.(EXTERNAL|TRANSLATED_TO_EXTERNAL|external\.table\.purge): 'TRUE'",
        target_from=(4, 0),
    ),
    # Hive 2.3 has no type of owner for tables, and nothing about how a materialized view came to be.
    Known(r"table lab\.owned", r"ownerType: nothing instead of 2", target_below=(3, 0)),
    Known(r"table shop\.counted", r"creationMetadata: None", target_below=(3, 0)),
    # A truncated partition: 3.1 and 4.0 tell of it before they count its files, 4.1 tells no listener of it.
    Known(
        r"table lab\.truncated_parted",
        r"partition k=1: parameters\.(numFiles|numFilesErasureCoded|totalSize|COLUMN_STATS_ACCURATE): "
        "nothing instead of",
        source_from=(3, 0),
    ),
    Known(r"constraint shop\.\w+", r"(unique|not_null|default|check)_constraint: missing", target_below=(3, 0)),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a comparison: how many objects, which differences, and how many were known ones."""

    objects: int
    parts: int
    known: int
    unknown: tuple[str, ...]


def verdict(stage: Stage, source: Version, target: Version) -> Verdict:
    """Compare everything; MetastoreError where one of the two does not answer."""
    compared = [*compare(stage.source.uri, stage.target.uri, stage.config.targets[0]), *_constraints(stage)]
    known, unknown = 0, []
    for item in compared:
        for field in item.fields or ((item.result,) if item.result != EQUAL else ()):
            if any(one.covers(item, field, source, target) for one in KNOWN):
                known += 1
            else:
                unknown.append(f"{item.kind} {item.name}: {field}")
    return Verdict(len(compared), sum(item.parts for item in compared), known, tuple(unknown))


def _constraints(stage: Stage) -> Iterator[ComparedObject]:
    """The constraints of every table; those of a kind that the source does not know are not looked at."""
    with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
        for database in source.databases():
            for name in source.tables(database):
                wanted, there = constraints(source, database, name), constraints(target, database, name)
                for key in sorted(wanted.keys() | there.keys()):
                    what = _difference(wanted.get(key), there.get(key))
                    fields = (f"{key[0]}: {what}",) if what else ()
                    yield ComparedObject("constraint", f"{database}.{name}", DIFFERENT if fields else EQUAL, 0, fields)


def _difference(wanted: Any, there: Any) -> str:
    if wanted == there:
        return ""
    return "missing" if there is None else "extra" if wanted is None else f"{there} instead of {wanted}"


def constraints(metastore: Metastore, database: str, table: str) -> dict[tuple[str, str], Any]:
    """All constraints of a table: kind and name, and the columns as plain values."""
    primary = hive.PrimaryKeysRequest(database, table)
    foreign = hive.ForeignKeysRequest(None, None, database, table)
    columns = [
        ("primary_key", "pk_name", it) for it in metastore.call(lambda c: c.get_primary_keys(primary)).primaryKeys
    ]
    columns += [
        ("foreign_key", "fk_name", it) for it in metastore.call(lambda c: c.get_foreign_keys(foreign)).foreignKeys
    ]
    request = idl.ConstraintsRequest(catName=idl.CATALOG, db_name=database, tbl_name=table)
    for kind, name in idl.CONSTRAINTS.values():
        columns += [(kind, name, column) for column in _newer(metastore, kind, request)]
    found: dict[tuple[str, str], Any] = {}
    for kind, name, column in columns:
        found.setdefault((kind, getattr(column, name)), []).append(vars(column))
    return found


def _newer(metastore: Metastore, kind: str, request: Any) -> list[Any]:
    try:
        return list(metastore.call(lambda client: getattr(client, f"get_{kind}s")(request)))
    except MetastoreUnsupported:
        return []
