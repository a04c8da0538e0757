"""Partitions in Glue's batches. A batch that is done in part answers 200, with an error for each item that failed.

A call that Glue refuses as a whole is halved until the bad item is found, so that the others get through.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from pysync.model.names import TableName
from pysync.targets.aws.errors import EXISTS, INVALID, NOT_FOUND, code, of_code
from pysync.targets.aws.texts import shown
from pysync.targets.glue.catalog import _MOST_BYTES, Catalog
from pysync.targets.store import RefusedPartition, refused_as_one

Values = tuple[str, ...]
T = TypeVar("T")
R = TypeVar("R")
_ENOUGH = 10  # refused items after which the rest is not tried: then it may be the table that is wrong
_INPUT = ("Values", "LastAccessTime", "StorageDescriptor", "Parameters", "LastAnalyzedTime")


@dataclass(frozen=True, slots=True)
class Sender:
    """A catalog, and how many calls to it may be under way at once."""

    catalog: Catalog
    parallel: int

    def in_parallel(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Do the work for each item, several at a time; once one has failed, begin no other, and raise its error."""
        if len(items) < 2 or self.parallel == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.parallel) as pool:
            return list(pool.map(work, items))  # it cancels the rest after a failure


@dataclass(frozen=True, slots=True)
class PartitionCall:
    """One of Glue's calls for many partitions: how many it takes at a time, and in which form."""

    method: str
    size: int
    argument: str
    entry: Callable[[Any], Any]
    failed: str  # where an error says the values of its partition


@dataclass(slots=True)
class Failures:
    """What was refused of the partitions of one operation, and why: AWS's code and message."""

    table: TableName
    errors_by_values: dict[Values, tuple[str, str]] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """How many items Glue refused as invalid, and would refuse again."""
        # A copy: other threads add failures meanwhile.
        return sum(name in INVALID for name, _ in list(self.errors_by_values.values()))

    def take(self, wanted: str) -> set[Values]:
        """The partitions with this code, which are taken out."""
        taken = {values for values, (name, _) in self.errors_by_values.items() if name == wanted}
        self.errors_by_values = {
            values: failure for values, failure in self.errors_by_values.items() if values not in taken
        }
        return taken

    def as_refused(self) -> list[RefusedPartition]:
        """Each with its error."""
        failures = self.errors_by_values.items()
        return [
            RefusedPartition(values, of_code(name, message, shown(list(values))))
            for values, (name, message) in failures
        ]

    def raise_any(self) -> None:
        """Raise what was refused as one error."""
        if self.errors_by_values:
            raise refused_as_one(self.table, self.as_refused())


_CREATE = PartitionCall("batch_create_partition", 100, "PartitionInputList", lambda item: item, "PartitionValues")

_UPDATE = PartitionCall(
    "batch_update_partition",
    100,
    "Entries",
    lambda item: {"PartitionValueList": item["Values"], "PartitionInput": item},
    "PartitionValueList",
)

_DELETE = PartitionCall(
    "batch_delete_partition", 25, "PartitionsToDelete", lambda item: {"Values": item["Values"]}, "PartitionValues"
)


def create_partitions(send: Sender, name: TableName, inputs: Sequence[Any], failures: Failures) -> list[Any]:
    """Create the partitions; those that are there already are returned, those that are refused go to `failures`."""
    _send(send, name, _CREATE, inputs, failures)
    existing = failures.take(EXISTS)
    return [item for item in inputs if tuple(item["Values"]) in existing]


def update_partitions(send: Sender, name: TableName, inputs: Sequence[Any], failures: Failures) -> list[Any]:
    """Update the partitions; those that are not there are returned, those that are refused go to `failures`."""
    _send(send, name, _UPDATE, inputs, failures)
    missing = failures.take(NOT_FOUND)
    return [item for item in inputs if tuple(item["Values"]) in missing]


def delete_partitions(send: Sender, name: TableName, values: Sequence[Sequence[str]]) -> None:
    """Delete those of the partitions that are there. Raises Rejected for those that Glue refuses to delete."""
    failures = Failures(name)
    _send(send, name, _DELETE, [{"Values": list(item)} for item in values], failures)
    failures.take(NOT_FOUND)
    failures.raise_any()


def input_of(partition: Mapping[str, Any]) -> dict[str, Any]:
    """The PartitionInput that leaves a partition of Glue's as it is."""
    return {name: partition[name] for name in _INPUT if partition.get(name)}


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items, `size` at a time; takes no more of them than it gives."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def _send(send: Sender, name: TableName, batch: PartitionCall, items: Sequence[Any], failures: Failures) -> None:
    sending = _Sending(send.catalog, name, batch, failures)
    send.in_parallel(sending.send, list(_batches(items, batch.size)))


def _batches(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    """The items, at most `size` at a time, and so few that a request does not get too large: some have many columns."""
    batch: list[Any] = []
    length = 0
    for item in items:
        more = len(json.dumps(item, default=str))
        if batch and (len(batch) == size or length + more > _MOST_BYTES):
            yield batch
            batch, length = [], 0
        batch.append(item)
        length += more
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class _Sending:
    """The sending of one operation's partitions; batches of it may be under way at once."""

    catalog: Catalog
    name: TableName
    batch: PartitionCall
    failures: Failures

    def send(self, items: Sequence[Any]) -> None:
        """Send the items in one call, or in halves if Glue refuses it."""
        entries = [self.batch.entry(item) for item in items]
        place = {"DatabaseName": self.name.database, "TableName": self.name.table}
        try:
            answer = self.catalog.call(self.batch.method, **place, **{self.batch.argument: entries})
        except ClientError as error:
            if code(error) not in INVALID:
                raise
            self._halve(items, error)
            return
        for failed in answer.get("Errors") or ():
            detail = failed.get("ErrorDetail") or {}
            values = tuple(failed.get(self.batch.failed) or ())
            self.failures.errors_by_values[values] = (detail.get("ErrorCode", ""), detail.get("ErrorMessage", ""))

    def _halve(self, items: Sequence[Any], error: ClientError) -> None:
        if len(items) == 1:
            why = (code(error), error.response["Error"].get("Message", ""))
            self.failures.errors_by_values[tuple(items[0]["Values"])] = why
            return
        middle = len(items) // 2
        for half in (items[:middle], items[middle:]):
            if self.failures.refused >= _ENOUGH:
                self.failures.raise_any()
            self.send(half)
