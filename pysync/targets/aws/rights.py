"""Rights: asks IAM whether the caller may make the calls that a target makes. Changes nothing.

IAM simulates the policies of the caller, for a few databases. It does not know Lake Formation's grants, nor what
another account allows. A call counts as denied only if it is denied for all databases that were tried.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from pysync.base.errors import PysyncError
from pysync.base.text import count, one_line
from pysync.targets.aws.clients import client
from pysync.targets.aws.errors import classified
from pysync.targets.aws.settings import AwsSettings
from pysync.targets.aws.texts import s3_location
from pysync.targets.base import Forbidden
from pysync.targets.settings import TargetSettings

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
TAGS = ("lakeformation:AddLFTagsToResource", "lakeformation:GetResourceLFTags")
LOGS = ("s3:GetObject", "s3:ListBucket")
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

_S3 = "s3://"
_MOST = 10  # databases, or directories, that are tried
_SHOWN = 8
_LONGEST = 200
_ASSUMED = re.compile(r"arn:(?P<partition>[a-z-]+):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/.*")
_IDENTITY = re.compile(r"arn:(?P<partition>[a-z-]+):(?:iam|sts)::(?P<account>\d{12}):(?:user|role)/.+")


def by_the_api(settings: AwsSettings) -> tuple[str, ...]:
    """The calls of a target that writes by the Glue API."""
    extras = (*(INDEXES if settings.partition_indexes else ()), *(TAGS if settings.lf_tags else ()))
    return (*READS, *WRITES, *extras, *(STATISTICS if settings.statistics != "off" else ()))


def of_logs(settings: AwsSettings) -> tuple[str, ...]:
    """The calls of a target that reads the logs of Delta and Hudi tables."""
    return LOGS if settings.log_schemas_every is not None else ()


def simulated(settings: AwsSettings, calls: Collection[str], existing: Iterable[str], work_group: str = "") -> str:
    """What IAM says of these calls, in a few words; also if IAM gives no answer. Raises Forbidden if it denies some.

    `existing` are the databases of the catalog. The buckets are those of the locations that the settings name.
    """
    try:
        with classified("IAM cannot simulate the rights", reading=True):
            caller, account, partition = _caller(settings)
            region, owner = client(settings, "glue").meta.region_name, settings.catalog_id or account
            place = _Place(partition, region, owner, _databases(settings, existing), _directories(settings), work_group)
            resources = place.resources(calls)
            untested = sorted(resources.pop((), ()))
            tested = set(calls) - set(untested)
            denied = sorted(tested - set(_allowed(settings, caller, resources)))
    except PysyncError as error:
        return f"rights not tested: {one_line(error.message, _LONGEST)}"
    if denied:
        shown = ", ".join(denied[:_SHOWN]) + (f" and {len(denied) - _SHOWN} more" if len(denied) > _SHOWN else "")
        raise Forbidden(f"IAM denies {caller}: {shown}", "grant the rights in conf/iam-policy.json")
    rest = f"; not tested, as locations has no bucket: {', '.join(untested)}" if untested else ""
    return f"IAM allows {caller} all {count(len(tested), 'call')}{rest}"


@dataclass(frozen=True, slots=True)
class _Place:
    """The resources of a target in IAM's words. `directories` are bucket and path, with a slash between them."""

    partition: str
    region: str
    account: str
    databases: Sequence[str]
    directories: Sequence[str]
    work_group: str

    def resources(self, calls: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
        """The calls by the resources that they are about; by none if the settings do not name them."""
        calls_by_resource: dict[tuple[str, ...], list[str]] = {}
        for call in calls:
            calls_by_resource.setdefault(self._of(call), []).append(call)
        return calls_by_resource

    def _of(self, call: str) -> tuple[str, ...]:
        service, _, name = call.partition(":")
        if service == "lakeformation":  # IAM knows no narrower resource
            return ("*",)
        if service == "athena":
            return (f"arn:{self.partition}:athena:{self.region}:{self.account}:workgroup/{self.work_group}",)
        if service == "s3":
            return tuple(f"arn:{self.partition}:s3:::{it}" for it in self._in_s3(name))
        glue = f"arn:{self.partition}:glue:{self.region}:{self.account}:"
        if name == "GetDatabases":
            return (f"{glue}catalog",)
        if name.endswith("Database"):
            return tuple(f"{glue}database/{it}" for it in self.databases)
        kind = "userDefinedFunction" if "UserDefinedFunction" in name else "table"
        return tuple(f"{glue}{kind}/{it}/pysync" for it in self.databases)

    def _in_s3(self, name: str) -> Iterable[str]:
        """The buckets, or files in the logs of tables."""
        if name == "ListBucket":
            return dict.fromkeys(it.partition("/")[0] for it in self.directories)
        return (f"{it}/pysync/{log}/pysync" for it in self.directories for log in ("_delta_log", ".hoodie"))


def _databases(settings: AwsSettings, existing: Iterable[str]) -> Sequence[str]:
    """The databases to try: those that the settings name, else those that are there."""
    named = [name for _, each in settings.each_policy() for name in _named(each)]
    return (list(dict.fromkeys(named)) or sorted(existing) or ["default"])[:_MOST]


def _named(settings: TargetSettings) -> Iterator[str]:
    """The names at the target of the databases that the settings of a policy name without a pattern."""
    for pattern in (*settings.include, *filter(None, [settings.policy])):
        name = pattern.split(".")[0].strip().lower()
        if not set("*?[") & set(name):
            yield settings.databases.get(name, name)


def _directories(settings: AwsSettings) -> Sequence[str]:
    """The directories on S3 to try, without the scheme."""
    places = [s3_location(it) for _, each in settings.each_policy() for it in each.locations.values()]
    directories = [it.removeprefix(_S3).rstrip("/") for it in places if it.startswith(_S3)]
    return list(dict.fromkeys(directories))[:_MOST]


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
    """The ARN of an assumed role, which has a path that a session does not show."""
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
    request = {"PolicySourceArn": caller, "ActionNames": list(calls), "ResourceArns": list(arns)}
    more: dict[str, str] = {}
    while True:
        answer = iam.simulate_principal_policy(**request, **more)
        yield from answer["EvaluationResults"]
        if not answer.get("IsTruncated"):
            return
        more = {"Marker": answer["Marker"]}
