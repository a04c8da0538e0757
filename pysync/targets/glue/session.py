"""What every operation on Glue needs: the catalog, the settings, and how to say what cannot be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, TypeVar

import structlog
from botocore.exceptions import ClientError
from pydantic import Field

from pysync.model.iceberg import written
from pysync.model.mark import Mark
from pysync.model.operation import Operation
from pysync.targets.aws.errors import NOT_FOUND, code
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.base import Missing, Outcome, Rejected
from pysync.targets.glue.catalog import Catalog

T = TypeVar("T")
R = TypeVar("R")

_MOST_TOLD = 10  # changes that one line of the log lists

log = structlog.get_logger(__name__)


class GlueSettings(AwsSettings):
    """A `[[targets]]` table of `kind = "glue"`."""

    kind: Literal["glue"]
    skip_archive: bool = Field(
        default=True, description="whether a table's old versions are forgotten; kept ones count against AWS's quota"
    )
    partition_schema: Literal["none", "append", "full"] = Field(
        default="none",
        description="which partitions get a table's new columns where the source did not cascade: none; append: those "
        "whose columns are its first ones; full: all",
    )


@dataclass(frozen=True, slots=True)
class Session:
    """One target's catalog and the settings that decide what may be done there."""

    catalog: Catalog
    settings: GlueSettings
    told: set[str] = field(default_factory=set)

    def conflict(self, what: str) -> Outcome | None:
        """What to answer about something that is not its source's; None: adopt it. Raises Rejected to park it."""
        if self.settings.on_conflict == "adopt":
            return None
        if self.settings.on_conflict == "skip":
            return Outcome.FOREIGN
        raise Rejected(
            f"{what} is at the target {self.settings.name!r} already and not from this source",
            'drop it there, or set on_conflict = "adopt" or "skip"',
        )

    def report(self, operation: Operation, changes: Sequence[str]) -> None:
        """Log what Glue does not hold as the source has it, with the operation that wrote it."""
        if changes:
            more = max(len(changes) - _MOST_TOLD, 0)
            kind, told = type(operation).__name__, list(changes[:_MOST_TOLD])
            log.warning(
                "definition_adapted",
                target=self.settings.name,
                operation=kind,
                key=operation.key,
                changes=told,
                more=more,
            )

    def report_once(self, change: str) -> None:
        """Log once what Glue never holds."""
        if change not in self.told:
            self.told.add(change)
            log.warning("property_omitted", target=self.settings.name, change=change)

    def at_once(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Do the work for each item, several at a time; once one has failed, begin no other, and raise its error."""
        if len(items) < 2 or self.settings.parallel == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.settings.parallel) as pool:
            return list(pool.map(work, items))  # it cancels the rest after a failure


def missing(session: Session, what: str) -> Missing:
    """The error to raise where `what` would have to be there."""
    return Missing(
        f"{what} is not at the target {session.settings.name!r}",
        "was its creation parked, suppressed or left out? put it there, then retry",
    )


def into(session: Session, operation: Operation, database: str, write: Callable[[], object]) -> None:
    """Write something into a database, which is created before if it is missing and the settings say so.

    Raises Missing if it is not there.
    """
    try:
        write()
    except ClientError as error:
        if code(error) != NOT_FOUND or session.catalog.database(database) is not None:
            raise
        if not session.settings.create_missing_databases:
            raise missing(session, f"database {database}") from error
        _create_bare(session, operation, database)
        write()


def stamped(wanted: dict[str, Any], mark: Mark) -> dict[str, Any]:
    """The input of a database or table, with the mark."""
    given = wanted.get("Parameters", {})
    return {**wanted, "Parameters": {**given, **mark.parameters(), **written(given)}}


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items, `size` at a time; takes no more of them than it gives."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def _create_bare(session: Session, operation: Operation, database: str) -> None:
    """A database of the source's, of which every event of its own is newer."""
    mark = replace(operation.mark, position=0, created=0, born=0)
    session.catalog.call("create_database", DatabaseInput=stamped({"Name": database}, mark))
    log.info("database_created", target=session.settings.name, database=database)
