"""The Data Catalog's calls, with what every one of them needs. Objects are the dicts of Glue's own API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from botocore.exceptions import ClientError

from pysync.model.names import TableName
from pysync.targets.aws.errors import NOT_FOUND, code

GET_PAGE = 1000
"""The most partitions that one BatchGetPartition or page of GetPartitions takes."""
_TABLES_PAGE = 100
_MOST_BYTES = 4_000_000  # of the items of one request


class Catalog:
    """One Data Catalog; may be used from any thread. Its calls raise boto's errors."""

    place: dict[str, str]
    """What names the catalog in a call."""

    def __init__(self, client: Any, catalog_id: str | None) -> None:
        self._client = client
        self.place = {"CatalogId": catalog_id} if catalog_id else {}

    @property
    def region(self) -> str:
        """The region that it is in."""
        return str(self._client.meta.region_name)

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Send one call of boto3's Glue client and return its answer."""
        answer: dict[str, Any] = getattr(self._client, method)(**self.place, **arguments)
        return answer

    def databases(self) -> Iterator[dict[str, Any]]:
        """All databases."""
        yield from self._pages("get_databases", "DatabaseList")

    def database(self, name: str) -> dict[str, Any] | None:
        """The database, or None."""
        return self._get_or_none("get_database", "Database", Name=name)

    def tables(self, database: str) -> Iterator[dict[str, Any]]:
        """The database's tables and views; none if there is no such database."""
        yield from self._pages("get_tables", "TableList", DatabaseName=database, MaxResults=_TABLES_PAGE)

    def table(self, name: TableName) -> dict[str, Any] | None:
        """The table, or None."""
        return self._get_or_none("get_table", "Table", DatabaseName=name.database, Name=name.table)

    def function(self, database: str, name: str) -> dict[str, Any] | None:
        """The function, or None."""
        return self._get_or_none(
            "get_user_defined_function", "UserDefinedFunction", DatabaseName=database, FunctionName=name
        )

    def functions(self, database: str) -> Iterator[dict[str, Any]]:
        """The database's functions; none if there is no such database."""
        arguments = {"DatabaseName": database, "Pattern": ".*"}
        yield from self._pages("get_user_defined_functions", "UserDefinedFunctions", **arguments)

    def partitions(self, name: TableName, **arguments: Any) -> Iterator[dict[str, Any]]:
        """The table's partitions, a page in memory at a time; none if there is no such table."""
        arguments |= {"DatabaseName": name.database, "TableName": name.table, "MaxResults": GET_PAGE}
        yield from self._pages("get_partitions", "Partitions", **arguments)

    def partition_indexes(self, name: TableName) -> list[dict[str, Any]]:
        """The table's partition indexes, as PartitionIndex; without those that failed or are being deleted."""
        place = {"DatabaseName": name.database, "TableName": name.table}
        descriptors = self._pages("get_partition_indexes", "PartitionIndexDescriptorList", **place)
        return [
            {"IndexName": index["IndexName"], "Keys": [key["Name"] for key in index["Keys"]]}
            for index in descriptors
            if index["IndexStatus"] in {"CREATING", "ACTIVE"}
        ]

    def partitions_of(self, name: TableName, values: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """The partitions with these values that are there; at most GET_PAGE may be asked for."""
        partitions: list[dict[str, Any]] = []
        wanted = [{"Values": list(item)} for item in values]
        while wanted:
            request = {"DatabaseName": name.database, "TableName": name.table, "PartitionsToGet": wanted}
            answer = self.call("batch_get_partition", **request)
            partitions += answer.get("Partitions") or []
            remaining = answer.get("UnprocessedKeys") or []
            if len(remaining) >= len(wanted):  # it got nowhere; one at a time is the least that can be asked
                remaining, wanted = wanted[1:], wanted[:1]
                partitions += self._get_partition(name, wanted[0]["Values"])
            wanted = remaining
        return partitions

    def close(self) -> None:
        """Close idle connections. Others who share the client go on: it opens new ones."""
        self._client.close()

    def _get_partition(self, name: TableName, values: list[str]) -> list[dict[str, Any]]:
        request = {"DatabaseName": name.database, "TableName": name.table, "PartitionValues": values}
        partition = self._get_or_none("get_partition", "Partition", **request)
        return [partition] if partition is not None else []

    def _get_or_none(self, method: str, key: str, **arguments: Any) -> dict[str, Any] | None:
        try:
            item: dict[str, Any] = self.call(method, **arguments)[key]
        except ClientError as error:
            if code(error) == NOT_FOUND:
                return None
            raise
        return item

    def _pages(self, method: str, key: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        token: dict[str, str] = {}
        while True:
            try:
                answer = self.call(method, **arguments, **token)
            except ClientError as error:
                if code(error) == NOT_FOUND:
                    return
                raise
            yield from answer.get(key) or ()
            if not answer.get("NextToken"):
                return
            token = {"NextToken": answer["NextToken"]}
