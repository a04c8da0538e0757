"""Rights: asks IAM whether the caller may make the calls that a target makes. Changes nothing.

IAM simulates the policies of the caller, for a few databases. It does not know Lake Formation's grants, nor what
another account allows. A call counts as denied only if it is denied for all databases that were tried.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from pysync.errors import PysyncError
from pysync.targets.aws.errors import classified
from pysync.targets.aws.session import client
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.base import Forbidden
from pysync.text import count, one_line

READS = (
    *("glue:BatchGetPartition", "glue:GetDatabase", "glue:GetDatabases", "glue:GetPartition", "glue:GetPartitions"),
    *("glue:GetTable", "glue:GetTables", "glue:GetUserDefinedFunctions"),
)
WRITES = (
    *("glue:BatchCreatePartition", "glue:BatchDeletePartition", "glue:BatchDeleteTable", "glue:BatchUpdatePartition"),
    *("glue:CreateDatabase", "glue:CreateTable", "glue:CreateUserDefinedFunction", "glue:DeleteDatabase"),
    *("glue:DeleteTable", "glue:DeleteUserDefinedFunction", "glue:GetUserDefinedFunction", "glue:UpdateDatabase"),
    *("glue:UpdateTable", "glue:UpdateUserDefinedFunction"),
)
INDEXES = ("glue:CreatePartitionIndex", "glue:GetPartitionIndexes")
STATISTICS = tuple(
    f"glue:{verb}ColumnStatisticsFor{of}" for verb in ("Delete", "Get", "Update") for of in ("Partition", "Table")
)
BY_STATEMENTS = (
    *("glue:BatchCreatePartition", "glue:BatchDeletePartition", "glue:CreateDatabase", "glue:CreatePartition"),
    *("glue:CreateTable", "glue:DeleteDatabase", "glue:DeletePartition", "glue:DeleteTable", "glue:UpdateDatabase"),
    *("glue:UpdatePartition", "glue:UpdateTable"),
)
"""What Athena calls in the caller's name."""
STATEMENTS = (
    *(
        "athena:BatchGetQueryExecution",
        "athena:GetQueryExecution",
        "athena:GetQueryResults",
        "athena:GetWorkGroup",
        "athena:StartQueryExecution",
    ),
    "athena:StopQueryExecution",
)

_MOST = 10  # databases that are tried
_SHOWN = 8
_LONGEST = 200
_ASSUMED = re.compile(r"arn:(?P<partition>[a-z-]+):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/.*")
_IDENTITY = re.compile(r"arn:(?P<partition>[a-z-]+):(?:iam|sts)::(?P<account>\d{12}):(?:user|role)/.+")


def by_the_api(settings: AwsSettings) -> tuple[str, ...]:
    """The calls of a target that writes by the Glue API."""
    statistics = STATISTICS if settings.statistics != "off" else ()
    return (*READS, *WRITES, *(INDEXES if settings.partition_indexes else ()), *statistics)


def simulated(settings: AwsSettings, calls: Collection[str], there: Iterable[str], work_group: str = "") -> str:
    """What IAM says of these calls, in a few words; also if it could not be asked. Raises Forbidden if it denies some.

    `there` are the databases of the catalog.
    """
    try:
        with classified("IAM cannot simulate the rights", reading=True):
            caller, account, partition = _caller(settings)
            place = _Place(partition, client(settings, "glue").meta.region_name, settings.catalog_id or account)
            resources = place.resources(calls, _databases(settings, there), work_group)
            denied = sorted(set(calls) - set(_allowed(settings, caller, resources)))
    except PysyncError as error:
        return f"rights not tested: {one_line(error.message, _LONGEST)}"
    if denied:
        shown = ", ".join(denied[:_SHOWN]) + (f" and {len(denied) - _SHOWN} more" if len(denied) > _SHOWN else "")
        raise Forbidden(f"IAM denies {caller}: {shown}", "grant the rights in conf/iam-policy.json")
    return f"IAM allows {caller} all {count(len(calls), 'call')}"


class _Place:
    """One catalog's resources in IAM's words."""

    def __init__(self, partition: str, region: str, account: str) -> None:
        self._glue = f"arn:{partition}:glue:{region}:{account}:"
        self._athena = f"arn:{partition}:athena:{region}:{account}:"

    def resources(
        self, calls: Iterable[str], databases: Sequence[str], work_group: str
    ) -> Mapping[tuple[str, ...], list[str]]:
        """The calls by the resources that they are about."""
        found: dict[tuple[str, ...], list[str]] = {}
        for call in calls:
            found.setdefault(self._of(call, databases, work_group), []).append(call)
        return found

    def _of(self, call: str, databases: Sequence[str], work_group: str) -> tuple[str, ...]:
        if call.startswith("athena:"):
            return (f"{self._athena}workgroup/{work_group}",)
        if call == "glue:GetDatabases":
            return (f"{self._glue}catalog",)
        if call.endswith("Database"):
            return tuple(f"{self._glue}database/{name}" for name in databases)
        kind = "userDefinedFunction" if "UserDefinedFunction" in call else "table"
        return tuple(f"{self._glue}{kind}/{name}/pysync" for name in databases)


def _databases(settings: AwsSettings, there: Iterable[str]) -> Sequence[str]:
    """The databases to try: those that the settings name, else those that are there."""
    patterns = [*settings.include, *filter(None, [settings.policy])]
    names = [pattern.split(".")[0].strip().lower() for pattern in patterns]
    named = [settings.databases.get(name, name) for name in names if not set("*?[") & set(name)]
    return (list(dict.fromkeys(named)) or sorted(there) or ["default"])[:_MOST]


def _caller(settings: AwsSettings) -> tuple[str, str, str]:
    """The ARN that IAM knows the caller by, its account and partition. Raises PysyncError for one without policies."""
    arn = str(client(settings, "sts").get_caller_identity()["Arn"])
    assumed, identity = _ASSUMED.fullmatch(arn), _IDENTITY.fullmatch(arn)
    if assumed is not None:
        return _role(settings, assumed), assumed["account"], assumed["partition"]
    if identity is None:
        raise PysyncError(f"{arn} is no user or role")
    return arn, identity["account"], identity["partition"]


def _role(settings: AwsSettings, assumed: re.Match[str]) -> str:
    """The ARN of an assumed role, which has a path that a session does not tell."""
    if settings.assume_role is not None:
        return settings.assume_role.arn
    try:
        return str(client(settings, "iam").get_role(RoleName=assumed["role"])["Role"]["Arn"])
    except ClientError:  # the right to read roles is rarer than that to simulate
        return f"arn:{assumed['partition']}:iam::{assumed['account']}:role/{assumed['role']}"


def _allowed(settings: AwsSettings, caller: str, resources: Mapping[tuple[str, ...], list[str]]) -> Iterator[str]:
    """The calls that are allowed for any of their resources."""
    for arns, calls in resources.items():
        for result in _results(client(settings, "iam"), caller, calls, arns):
            if result["EvalDecision"] == "allowed":
                yield result["EvalActionName"]


def _results(iam: Any, caller: str, calls: Sequence[str], arns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    asked = {"PolicySourceArn": caller, "ActionNames": list(calls), "ResourceArns": list(arns)}
    more: dict[str, str] = {}
    while True:
        answer = iam.simulate_principal_policy(**asked, **more)
        yield from answer["EvaluationResults"]
        if not answer.get("IsTruncated"):
            return
        more = {"Marker": answer["Marker"]}
