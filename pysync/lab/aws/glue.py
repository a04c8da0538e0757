"""The Glue Data Catalog: moto keeps the objects, the service's model and its known habits are enforced on top."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from moto.core.exceptions import JsonRESTError
from moto.glue.models import glue_backends

from pysync.lab.aws.batches import Batches
from pysync.lab.aws.column_statistics import ColumnStatistics
from pysync.lab.aws.faults import AwsFault
from pysync.lab.aws.functions import GlueFunctions
from pysync.lab.aws.partition_indexes import PartitionIndexes
from pysync.lab.aws.partitions import Partitions
from pysync.lab.aws.refusals import AwsRefusal, invalid
from pysync.lab.aws.strict import Strict
from pysync.lab.aws.tables import Databases, Tables

ACCOUNT = "123456789012"
REGION = "us-east-1"
"""There is one catalog, whatever region a caller signs for."""

_Operation: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
_Batch: TypeAlias = Callable[[dict[str, Any], "AwsFault | None"], dict[str, Any]]

_FOLDED = ("DatabaseName", "TableName")
_FOLDED_INPUTS = ("DatabaseInput", "TableInput")


class Glue:
    """One catalog; safe to call from any thread."""

    def __init__(self) -> None:
        store = glue_backends[ACCOUNT][REGION]
        functions = GlueFunctions(store.get_database, ACCOUNT)
        self._functions = functions
        self._strict = Strict("glue", "ValidationException")
        self._lock = threading.RLock()
        indexes = PartitionIndexes(store)
        self._operations = {
            **_of_tables(Databases(store), Tables(store, ACCOUNT)),
            **_of_partitions(Partitions(store, ACCOUNT)),
            **_of_functions(functions),
            **_of_statistics(ColumnStatistics(store)),
            "GetPartitionIndexes": indexes.get,
            "CreatePartitionIndex": indexes.create,
        }
        self._batches = _of_batches(Batches(store))

    def answer(self, operation: str, request: dict[str, Any], fault: AwsFault | None = None) -> dict[str, Any]:
        """Carry out one operation; AwsRefusal if it cannot be. `fault` fails some items of a batch."""
        self._strict.check(operation, request)
        if request.get("CatalogId", ACCOUNT) != ACCOUNT:
            raise AwsRefusal(
                "AccessDeniedException", f"the catalog {request['CatalogId']} is not the account {ACCOUNT}"
            )
        with self._lock:
            try:
                return self._run(operation, _folded(operation, request), fault)
            except JsonRESTError as error:
                raise AwsRefusal(error.error_type, error.message) from error
            except re.error as error:
                raise invalid(f"Invalid regular expression: {error}") from error

    def _run(self, operation: str, request: dict[str, Any], fault: AwsFault | None) -> dict[str, Any]:
        if operation in self._batches:
            return self._batches[operation](request, fault)
        run = self._operations.get(operation)
        if run is None:
            raise AwsRefusal("UnknownOperationException", f"the embedded Glue does not support {operation}")
        answer = run(request)
        if operation == "DeleteDatabase":
            self._functions.drop_database(request["Name"])
        return answer


def _folded(operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """The request with the names of databases and tables in lower case, as Glue stores them."""
    folded = {name: value.lower() if name in _FOLDED else value for name, value in request.items()}
    if "Name" in folded:
        folded["Name"] = folded["Name"].lower()
    for part in _FOLDED_INPUTS:
        if part in folded:
            folded[part] = {**folded[part], "Name": folded[part]["Name"].lower()}
    if operation == "BatchDeleteTable":
        folded["TablesToDelete"] = [name.lower() for name in folded["TablesToDelete"]]
    return folded


def _of_tables(databases: Databases, tables: Tables) -> dict[str, _Operation]:
    return {
        "CreateDatabase": databases.create,
        "GetDatabase": databases.get,
        "GetDatabases": databases.list,
        "UpdateDatabase": databases.update,
        "DeleteDatabase": databases.delete,
        "CreateTable": tables.create,
        "GetTable": tables.get,
        "GetTables": tables.list,
        "UpdateTable": tables.update,
        "DeleteTable": tables.delete,
        "GetTableVersion": tables.get_version,
        "GetTableVersions": tables.list_versions,
        "DeleteTableVersion": tables.delete_version,
    }


def _of_partitions(partitions: Partitions) -> dict[str, _Operation]:
    return {
        "CreatePartition": partitions.create,
        "GetPartition": partitions.get,
        "GetPartitions": partitions.list,
        "UpdatePartition": partitions.update,
        "DeletePartition": partitions.delete,
        "BatchGetPartition": partitions.get_batch,
    }


def _of_functions(functions: GlueFunctions) -> dict[str, _Operation]:
    return {
        "CreateUserDefinedFunction": functions.create,
        "GetUserDefinedFunction": functions.get,
        "GetUserDefinedFunctions": functions.list,
        "UpdateUserDefinedFunction": functions.update,
        "DeleteUserDefinedFunction": functions.delete,
    }


def _of_statistics(statistics: ColumnStatistics) -> dict[str, _Operation]:
    kinds = ("Table", "Partition")
    return {
        **{f"GetColumnStatisticsFor{kind}": statistics.get for kind in kinds},
        **{f"UpdateColumnStatisticsFor{kind}": statistics.update for kind in kinds},
        **{f"DeleteColumnStatisticsFor{kind}": statistics.delete for kind in kinds},
    }


def _of_batches(batches: Batches) -> dict[str, _Batch]:
    return {
        "BatchDeleteTable": batches.delete_tables,
        "BatchDeleteTableVersion": batches.delete_versions,
        "BatchCreatePartition": batches.create_partitions,
        "BatchUpdatePartition": batches.update_partitions,
        "BatchDeletePartition": batches.delete_partitions,
    }
