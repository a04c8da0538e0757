"""Extras: what the settings add to tables and databases at Glue, and what no definition of the source has.

Partition indexes are created with a table. To a table or database that is there, indexes and tags of Lake Formation are
added once in the life of the process, when an operation on it comes by. Nothing is taken away, and no existing tag gets
another value. No failure stops or parks what belongs to the source: it is logged, and tried again later if it may pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import structlog
from botocore.exceptions import ClientError

from pysync.base.errors import PysyncError
from pysync.model.names import TableName, normalized
from pysync.targets.aws.clients import client, shared
from pysync.targets.aws.errors import EXISTS, classified, code, of_code
from pysync.targets.base import Forbidden, OutcomeUnknown, Unavailable
from pysync.targets.glue.catalog import Catalog
from pysync.targets.glue.settings import GlueSettings

Index = dict[str, Any]
"""A PartitionIndex of Glue's: IndexName and Keys."""
_INDEXES, _TAGS = "partition indexes", "Lake Formation's tags"
_MOST_INDEXES = 3  # of a table
_PAUSE_SECONDS = 60.0  # after a failure that may pass, so that a service out of reach does not slow down every table
log = structlog.get_logger(__name__)


class Extras:
    """Partition indexes and Lake Formation's tags of one target; may be used from any thread."""

    def __init__(self, settings: GlueSettings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog
        self._done = shared(settings, "furnished", set[str])  # names
        self._not_before = 0.0

    def indexes(self, table: Any, more: Sequence[Index] = ()) -> list[Index]:
        """The indexes that a new table gets: `more`, then those of the settings whose keys it has; at most three."""
        keys = {key.name.lower() for key in table.partitionKeys or ()}
        wanted = [*more, *self._wanted_indexes(TableName.of(table.dbName, table.tableName))]
        by_name: dict[str, Index] = {}
        for index in wanted:
            is_new = index["Keys"] not in [it["Keys"] for it in by_name.values()]
            if is_new and keys.issuperset(index["Keys"]):
                by_name.setdefault(index["IndexName"], index)
        return list(by_name.values())[:_MOST_INDEXES]

    def existing_indexes(self, name: TableName) -> list[Index]:
        """The indexes that a table has; none if the right to read them is missing, which is logged."""
        try:
            return self._catalog.partition_indexes(name)
        except ClientError as error:
            denied = of_code(code(error), error.response["Error"].get("Message", ""), str(name))
            if not isinstance(denied, Forbidden):
                raise
            self.omit_indexes(name, denied)
            return []

    def omit_indexes(self, name: TableName, error: Exception) -> None:
        """Log that a table has to do without its indexes."""
        self._omit(_INDEXES, name, error)

    def forget(self, name: TableName | str) -> None:
        """Note that an object is made again."""
        self._done.discard(str(name))

    def furnish_table(self, table: Any) -> None:
        """Add what the settings have for a table that is there."""
        name = TableName.of(table.dbName, table.tableName)
        if str(name) in self._done:
            return
        steps = []
        if table.partitionKeys and self._wanted_indexes(name):
            steps.append((_INDEXES, lambda: self._add_indexes(table)))
        if tags := self._wanted_tags(str(name)):
            place = {"Table": {"DatabaseName": name.database, "Name": name.table, **self._catalog.place}}
            steps.append((_TAGS, lambda: self._add_tags(place, tags, "LFTagsOnTable")))
        self._do(name, steps)

    def furnish_database(self, name: str) -> None:
        """Add what the settings have for a database that is there."""
        tags = self._wanted_tags(name) if name not in self._done else {}
        place = {"Database": {"Name": name, **self._catalog.place}}
        self._do(name, [(_TAGS, lambda: self._add_tags(place, tags, "LFTagOnDatabase"))] if tags else [])

    def _do(self, name: TableName | str, steps: Sequence[tuple[str, Callable[[], object]]]) -> None:
        if not steps or time.monotonic() < self._not_before:
            return
        if all([self._try(extra, name, step) for extra, step in steps]):  # noqa: C419, each is tried
            self._done.add(str(name))
        else:
            self._not_before = time.monotonic() + _PAUSE_SECONDS

    def _try(self, extra: str, name: TableName | str, step: Callable[[], object]) -> bool:
        """Whether it need not be tried again. A right that is missing would be missing again."""
        try:
            with classified(str(name)):
                step()
        except PysyncError as error:
            self._omit(extra, name, error)
            return isinstance(error, Forbidden) or not isinstance(error, Unavailable | OutcomeUnknown)
        return True

    def _omit(self, extra: str, name: TableName | str, error: Exception) -> None:
        log.warning("extra_omitted", target=self._settings.name, object=str(name), extra=extra, reason=str(error))

    def _add_indexes(self, table: Any) -> None:
        name = TableName.of(table.dbName, table.tableName)
        existing = self._catalog.partition_indexes(name)
        known = [it["Keys"] for it in existing]
        for index in (it for it in self.indexes(table, existing) if it["Keys"] not in known):
            try:
                place = {"DatabaseName": name.database, "TableName": name.table}
                self._catalog.call("create_partition_index", **place, PartitionIndex=index)
            except Exception as error:
                if code(error) != EXISTS:  # another lane, or a call that was cut off
                    raise
            log.info("index_created", target=self._settings.name, table=str(name), index=index["IndexName"])

    def _add_tags(self, place: Mapping[str, Any], wanted: Mapping[str, str], member: str) -> None:
        """Assign the tags whose keys the object does not have itself."""
        formation = client(self._settings, "lakeformation")
        place = {"Resource": place, **self._catalog.place}
        answer = formation.get_resource_lf_tags(**place, ShowAssignedLFTags=True)
        existing = {tag["TagKey"].lower() for tag in answer.get(member) or ()}
        missing = {key: value for key, value in wanted.items() if key.lower() not in existing}
        if not missing:
            return
        tags = [{"TagKey": key, "TagValues": [value]} for key, value in missing.items()]
        for failed in formation.add_lf_tags_to_resource(**place, LFTags=tags).get("Failures") or ():
            error = failed.get("Error") or {}
            raise PysyncError(f"{failed['LFTag']['TagKey']}: {error.get('ErrorCode')}: {error.get('ErrorMessage')}")
        log.info("tags_assigned", target=self._settings.name, object=_object(place), tags=sorted(missing))

    def _wanted_indexes(self, name: TableName) -> list[Index]:
        key_lists = (
            it for pattern, indexes in self._settings.partition_indexes.items() if _is(name, pattern) for it in indexes
        )
        keys = (tuple(map(normalized, it)) for it in key_lists)
        return [{"IndexName": "_".join(("pysync", *it))[:255], "Keys": list(it)} for it in keys]

    def _wanted_tags(self, name: str) -> dict[str, str]:
        wanted: dict[str, str] = {}
        for pattern, tags in self._settings.lf_tags.items():
            # A pattern without a dot is of databases.
            if ("." in pattern) == ("." in name) and fnmatchcase(name, normalized(pattern)):
                wanted |= tags
        return wanted


def _is(name: TableName, pattern: str) -> bool:
    return fnmatchcase(str(name), normalized(pattern))


def _object(place: Mapping[str, Any]) -> str:
    resource = next(iter(place["Resource"].values()))
    return ".".join(it for it in (resource.get("DatabaseName"), resource["Name"]) if it)
