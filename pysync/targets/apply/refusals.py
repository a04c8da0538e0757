"""Refusals: what nobody may write, whoever decides.

- A catalog that the target does not have is not written to.
- Transactional tables are written as metadata only where the settings say so.
- The pointer of an Iceberg table names the metadata file that is the table, and a commit moves it. pysync moves it only
  from a place where the source had it. Otherwise it would overwrite what was committed at the target.
- A resource link leads to an object of another catalog: what is written to it would be written there.
- A name that another object of the source, or another target, has at the target is not taken from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import structlog

from pysync.model.catalogs import catalog_of
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutTable, TableOperation
from pysync.model.reencoding import transactional_kind
from pysync.model.table_formats import PREVIOUS_KEY, WRITTEN_KEY, pointer
from pysync.targets.apply.owners import Ownership, ownership_for_drop
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings
from pysync.targets.store import HasLinks, Store

log = structlog.get_logger(__name__)
_HADOOPS_S3 = re.compile(r"^s3[an]://")
Parameters = Mapping[str, str] | None


def refuse_catalog(settings: TargetSettings, name: str) -> None:
    """Raise Rejected for an object, by its name there, in a catalog that pysync does not write at the target."""
    catalog = catalog_of(name)
    if catalog is not None and catalog not in settings.written_catalogs:
        raise Rejected(
            f"{name} is in the catalog {catalog}, which pysync does not write at the target",
            f'rename it: databases = {{ "@{catalog}#*" = "{catalog}_*" }}; or set catalogs = ["{catalog}"] (kind hms)',
        )


def is_refused_as_transactional(settings: TargetSettings, table: Any) -> bool:
    """Whether it is a transactional table (full ACID or insert-only), and the settings have such refused.

    With `transactional = "snapshot"` those are left that cannot be converted.
    """
    return bool(transactional_kind(table)) and settings.transactional != "metadata"


def refuse_transactional(settings: TargetSettings, table: Any) -> None:
    """Raise Rejected for a transactional table (full ACID or insert-only), unless `transactional = "metadata"`.

    Only the transactions in its own metastore define which of its files count, and those are not replicated.
    """
    if is_refused_as_transactional(settings, table):
        if settings.transactional == "snapshot":
            raise Rejected(
                f"table {table.dbName}.{table.tableName} is transactional and cannot be converted: its format, a type "
                "of a column, or a location that is not mapped",
                "see docs/acid.md",
            )
        raise Rejected(
            f"table {table.dbName}.{table.tableName} is transactional: no engine at the target {settings.name!r} can "
            "read it correctly",
            'set transactional = "snapshot" (docs/acid.md), exclude the table, or make it external',
        )


def keeps_foreign_commit(
    settings: TargetSettings, operation: TableOperation, wanted: Parameters, existing: Parameters
) -> bool:
    """Whether to leave the table alone because somebody has committed to it at the target.

    Raises Rejected if the settings want such a table parked.
    """
    name, existing_pointer = operation.table, pointer(existing)
    before = operation.pointers if isinstance(operation, PutTable) else ()
    # The pointers that the source is known to have had: the last one written here, the one before the wanted one, the
    # wanted one (a repeat), and those of earlier alters in this window.
    known = {(existing or {}).get(WRITTEN_KEY), (wanted or {}).get(PREVIOUS_KEY), pointer(wanted), *before}
    if existing_pointer is None or _plain(existing_pointer) in {_plain(at) for at in known if at}:
        return False
    if settings.on_conflict == "park":
        raise Rejected(
            f"the Iceberg table {name} at the target {settings.name!r} has a commit that is not from the "
            f"source: {existing_pointer}",
            'bring the commit to the source, or discard it: on_conflict = "adopt", then pysync parked retry',
        )
    log.warning(
        "conflict_found", target=settings.name, table=str(name), pointer=existing_pointer, wanted=pointer(wanted)
    )
    return settings.on_conflict == "skip"


def _plain(at: str) -> str:
    """A location with AWS's scheme for S3; Hadoop has others (s3a, s3n)."""
    return _HADOOPS_S3.sub("s3://", at)


def linked(store: Store, name: str) -> Rejected:
    """The refusal to write to a database or table, or into it, that only leads to one of another catalog."""
    return Rejected(
        f"{name} at the target {store.settings.name!r} is a resource link: what is written to it would be written to "
        "another catalog",
        "drop the link, exclude what it stands for, or give that another name at the target (databases, tables)",
    )


def taken_by_another(settings: TargetSettings, name: object, existing: Any, mark: Mark) -> Rejected:
    """The refusal of an object whose name at the target is that of another object of the source."""
    existing_mark = Mark.read(existing.parameters)
    if existing_mark is not None and mark.is_of_another_target_than(existing_mark):
        return Rejected(
            f"{name} is where the target {existing_mark.target!r} has its copy of {existing_mark.object}; "
            f"{settings.name!r} would overwrite it",
            "give it another name at one of the two targets (databases, tables), or exclude it from one",
        )
    return Rejected(
        f"{name} at the target {settings.name!r} is the copy of {existing_mark.object if existing_mark else '?'}, and "
        f"{mark.object} of the source would overwrite it",
        "give one of the two another name at the target (databases, tables), or exclude it",
    )


def refuse_unless_own(settings: TargetSettings, name: TableName, existing: Any | None, mark: Mark) -> None:
    """Raise Rejected where the target's table of that name is not the source's table, nor to be adopted."""
    if existing is None:
        return
    # That for a put does not compare the names of objects.
    ownership = ownership_for_drop(True, existing.parameters, mark)
    if ownership is Ownership.RIVAL:
        raise taken_by_another(settings, f"table {name}", existing, mark)
    if ownership is Ownership.FOREIGN and settings.on_conflict != "adopt":
        hint = "drop it at the target, or give the source's table another name there (databases, tables)"
        raise Rejected(f"table {name} at the target {settings.name!r} is not from this source", hint)


def is_link(store: Store, existing: Any) -> bool:
    """Whether a database or table that was read only leads to one of another catalog, or is in one that does."""
    return isinstance(store, HasLinks) and store.is_link(existing)


def refuse_link(store: Store, database: str) -> None:
    """Raise Rejected for a database that only leads to one of another catalog. It may be absent."""
    if isinstance(store, HasLinks) and store.is_linked(database):
        raise linked(store, f"database {database}")
