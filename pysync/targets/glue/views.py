"""Views of Hive in the catalog: as Athena reads them, with Hive's text beside it for Hive and Spark.

Athena and Trino take `ViewOriginalText` if the property `presto_view` says so; Hive and Spark take `ViewExpandedText`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from pysync.hiveql.differences import in_words
from pysync.hiveql.refusal import CannotTranslate, refuse_other_dialects
from pysync.model.definition import VIEW
from pysync.model.names import TableName
from pysync.model.struct_copies import copied
from pysync.targets.aws.errors import code
from pysync.targets.aws.texts import VIEW_TEXT
from pysync.targets.base import Rejected
from pysync.targets.hive import name_of
from pysync.targets.source_hive import SourceHive
from pysync.views.translation import MARKS, Translation, accepted_in, encoded, is_of_hive, is_presto
from pysync.views.types import UTC_TIMESTAMP, Columns, parse_type

_DENIED = "AccessDeniedException"
_OTHER_FORMATS = frozenset({"iceberg", "delta"})

_OF_CLOCKS = frozenset({"org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"})

Read = Callable[[TableName], Mapping[str, Any] | None]
Classified = Callable[[str], AbstractContextManager[None]]


class Views:
    """What happens to views. `read` gives a table of the catalog, `classified` sorts its errors."""

    def __init__(
        self, mode: str, hive: SourceHive, read: Read, classified: Classified, accepted: Collection[str] = ()
    ) -> None:
        """`mode` is the setting `views`, `hive` is that of the source, `accepted` is `views_accept`."""
        self._mode = mode
        self._hive = hive
        self._accepted = accepted
        self._read = read
        self._classified = classified

    def as_stored(self, item: Any) -> tuple[Any, Sequence[str]]:
        """The table or view as it is to be written; of a view why it is not translated, or with which differences.

        The same view gives the same text while its tables and the source's Hive stay as they are. Raises Rejected in
        mode `strict`, and PysyncError if that Hive cannot be found out.
        """
        if self._mode == "off" or item.tableType != VIEW:
            return item, ()
        if is_of_athena(item):
            return item, _accepted_words(accepted_in(item.viewOriginalText))
        try:
            view, translation = self.translated(item)
            return view, _accepted_words(translation.differences)
        except CannotTranslate as reason:
            if self._mode == "strict":
                raise Rejected(
                    f"the view {name_of(item)} cannot be translated for Athena: {reason}",
                    'change the view at the source, or set views = "best-effort" to keep its HiveQL',
                ) from None
            return item, [f"view: not translated: {reason}"]

    def translated(self, view: Any) -> tuple[Any, Translation]:
        """The view as Athena reads it, and what is known of its translation. Raises CannotTranslate."""
        from pysync.views.translation import translate  # noqa: PLC0415 - sqlglot takes its time

        refuse_other_dialects(view.parameters)
        zone = self._hive.time_zone
        columns = partial(self._columns, is_moved=is_of_hive(view) and zone not in {None, "UTC"})
        translation = translate(view, columns, self._hive.release(), self._accepted, zone)
        expected = copied(view)
        parameters = view.parameters or {}
        expected.viewExpandedText = view.viewExpandedText or view.viewOriginalText
        text = encoded(translation, view.dbName, parameters.get("comment"), owned=bool(view.owner))
        expected.viewOriginalText = text
        expected.parameters = {**parameters, **MARKS}
        if len(text) > VIEW_TEXT.longest:
            raise CannotTranslate("a translation that is too long for Glue")
        return expected, translation

    def _columns(self, name: TableName, *, is_moved: bool) -> Columns:
        """The columns of a table of the catalog. Raises CannotTranslate if Athena cannot read it.

        `is_moved`: most formats have a timestamp in UTC, which Hive shows in its own time zone, and Athena as it is.
        """
        table = self._table(name)
        if table is None:
            raise CannotTranslate(f"the table {name}, which is not at the target")
        if table.get("TableType") == VIEW and not is_presto(table.get("ViewOriginalText")):
            raise CannotTranslate(f"the view {name}, which remains HiveQL")
        if _has_other_timestamps(table):
            raise CannotTranslate(f"the table {name}, whose format has timestamps of its own")
        columns = [*(table.get("StorageDescriptor") or {}).get("Columns", ()), *table.get("PartitionKeys", ())]
        is_moved = is_moved and table.get("TableType") != VIEW and not _has_times_of_clocks(table)
        types = [(it["Name"].lower(), it.get("Type", "")) for it in columns]
        return [(it, UTC_TIMESTAMP if is_moved and "timestamp" in kind else parse_type(kind)) for it, kind in types]

    def _table(self, name: TableName) -> Mapping[str, Any] | None:
        with self._classified(f"cannot read the table {name}, of which a view is made"):
            try:
                return self._read(name)
            except ClientError as error:
                # Views are an extra: without this right they go on as before.
                if code(error) == _DENIED:
                    raise CannotTranslate(f"the table {name}, which pysync may not read") from error
                raise


def is_of_athena(view: Any) -> bool:
    """Whether it is a view of Presto, Trino or Athena, which needs no translation."""
    return is_presto(view.viewOriginalText)


def _accepted_words(differences: Collection[str]) -> Sequence[str]:
    """What `verify` and `why` say of the differences that a translated view has."""
    return [f"view: its rows may differ, as is accepted: {in_words(differences)}"] if differences else ()


def _has_other_timestamps(table: Mapping[str, Any]) -> bool:
    """Whether Athena reads microseconds or time zones in it, as in Iceberg and Delta."""
    parameters = table.get("Parameters") or {}
    kinds = {parameters.get("table_type", "").lower(), parameters.get("spark.sql.sources.provider", "").lower()}
    columns = (table.get("StorageDescriptor") or {}).get("Columns", ())
    return bool(kinds & _OTHER_FORMATS) and any("timestamp" in it.get("Type", "") for it in columns)


def _has_times_of_clocks(table: Mapping[str, Any]) -> bool:
    """Whether its files have timestamps as a clock shows them, whatever the time zone."""
    storage = table.get("StorageDescriptor") or {}
    return storage.get("InputFormat") in _OF_CLOCKS
