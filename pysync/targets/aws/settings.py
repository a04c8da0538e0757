"""Settings of every target on AWS. There is no secret among them: credentials come from the chain that boto3 knows."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from pysync.base.text import quoted, shortened
from pysync.base.validation import Finite, Interval, Seconds, matching
from pysync.hiveql.differences import DIFFERENCES
from pysync.targets.aws.shared_clients import Clients
from pysync.targets.aws.texts import s3_location
from pysync.targets.settings import TargetSettings

_ALL = ", ".join(DIFFERENCES)

Url = Annotated[str, matching(r"https?://\S+", 'a URL; write "https://host"')]


class AssumeRole(BaseModel):
    """The IAM role that a target works as, taken on with the credentials that are found first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    arn: Annotated[
        str,
        matching(r"arn:[a-z-]+:iam::\d{12}:role/\S+", 'the ARN of a role; write "arn:aws:iam::123456789012:role/NAME"'),
    ] = Field(description="ARN of the role: arn:aws:iam::ACCOUNT:role/NAME.")
    external_id: str | None = Field(default=None, description="External ID that the role's trust policy asks for.")


class AwsSettings(TargetSettings):
    """What `[[targets]]` tables of AWS have in common."""

    unreadable_hint: ClassVar[str] = (
        'map it, locations = { "hdfs://nn" = "s3://bucket" }; leave it out, include_schemes = ["s3"]; or have its '
        'metadata written all the same, unreadable_locations = "keep"'
    )

    region: str | None = Field(
        default=None, description="AWS region. Default: the region of the profile, or AWS_REGION."
    )
    profile: str | None = Field(
        default=None, description="Profile in ~/.aws/config. Default: the default credential chain."
    )
    assume_role: AssumeRole | None = Field(default=None, description="IAM role to assume: arn, external_id.")
    catalog_id: Annotated[str, matching(r"\S{1,255}", "a catalog ID; spaces are refused")] | None = Field(
        default=None, description="Account of the Data Catalog. Default: the account of the credentials."
    )
    endpoint_url: Url | None = Field(
        default=None, description="Another endpoint of AWS, for example in a VPC, or an emulator."
    )
    create_missing_databases: bool = Field(
        default=False, description="Whether a missing database is created for a table. Otherwise the event is parked."
    )
    keep_parameters: tuple[str, ...] = Field(
        default=("*",),
        description="Parameters that stay if others set them at the target, and the source never had them; with * and "
        "?. []: all parameters are the source's.",
    )
    statistics: Literal["off", "columns"] = Field(
        default="off", description="columns: replicate column statistics, too, by the Glue API."
    )
    rename: Literal["copy", "keep"] = Field(
        default="copy",
        description="What is done about a renamed table. copy: it is created anew, its partitions are copied, and its "
        "grants, tags and versions are lost; keep: the event is parked.",
    )
    partition_indexes: dict[str, tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...]] = Field(
        default={}, description="Partition indexes, by db.table at the target, with * and ?: lists of partition keys."
    )
    lf_tags: dict[str, dict[str, str]] = Field(
        default={},
        description="Tags of Lake Formation, by db or db.table at the target, with * and ?. They are only added.",
    )
    log_schemas_every: Interval | None = Field(
        default=None,
        description="How often the columns of Delta and Hudi tables are read from their logs on S3: 10m, 1h. Default: "
        "never, a table has the columns of the source.",
    )
    views: Literal["strict", "best-effort", "off"] = Field(
        default="best-effort",
        description="Views of Hive. best-effort: translated for Athena if that is known to give the same rows, else "
        "kept as HiveQL; strict: parked if they cannot be translated; off: kept as HiveQL.",
    )
    views_accept: tuple[str, ...] = Field(
        default=(),
        description="Differences between the rows of a view in Hive and in Athena that you accept, by id, as "
        'docs/aws.md lists them: ["double-text"]. Views that have no other difference are translated then.',
    )
    unreadable_locations: Literal["park", "keep"] = Field(
        default="park",
        description="Tables and partitions whose files are not on S3, so that Athena reads nothing. park: they are "
        "parked; keep: they are written for their metadata.",
    )
    timeout_seconds: Seconds = Field(default=60.0, gt=0, description="Timeout of a call.")
    max_rate: Finite | None = Field(
        default=None,
        gt=0,
        description="Limit of requests per second to an AWS service, for a quota: in a process, each request waits its "
        "turn. Default: as many as AWS takes.",
    )
    parallel: int = Field(default=4, ge=1, le=32, description="Number of parallel calls of one operation.")

    # Lanes are opened from one settings object: through it they share their clients, and so one rate and one pool.
    _clients: Clients = PrivateAttr(default_factory=Clients)

    def place(self) -> str | None:
        """The Data Catalog, as far as the settings show it."""
        return f"aws {self.endpoint_url} {self.region} {self.catalog_id} {self.profile} {self.assume_role}"

    @property
    def keeps_statistics(self) -> bool:
        """As configured."""
        return self.statistics == "columns"

    @property
    def creates_databases(self) -> bool:
        """As configured."""
        return self.create_missing_databases

    @property
    def translates_views(self) -> bool:
        """As configured."""
        return self.views != "off"

    @property
    def reads_logs_every(self) -> int | None:
        """As configured (s)."""
        return self.log_schemas_every

    def unreadable(self, location: str) -> str:
        """As in TargetSettings, unless the settings say otherwise."""
        is_kept = self.unreadable_locations == "keep" or not location or s3_location(location).startswith("s3://")
        return "" if is_kept else f"{shortened(location)} is not on S3: Athena would read no row"

    def share_with(self, other: AwsSettings) -> None:
        """Let `other` have what the lanes have in common: one pool of connections and one rate for all of a target."""
        other._clients = self._clients

    def endpoint_of(self, service: str) -> str | None:
        """The endpoint of a service; None: as botocore finds it.

        An endpoint in a VPC is of one service; one without TLS is an emulator, which has all. S3 is only read, at its
        own endpoint, or at the one that the environment names.
        """
        is_emulator = service != "s3" and (self.endpoint_url or "").startswith("http://")
        return self.endpoint_url if service in {"glue", "athena"} or is_emulator else None

    @field_validator("delete_data")
    @classmethod
    def _has_no_files(cls, value: bool) -> bool:
        if value:
            raise ValueError("the Glue Data Catalog holds no files, so pysync cannot delete data there")
        return value

    @field_validator("views_accept")
    @classmethod
    def _are_differences(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for unknown in (it for it in value if it not in DIFFERENCES):
            raise ValueError(f"{quoted(unknown)} is no difference that can be accepted; write some of: {_ALL}")
        return value

    @model_validator(mode="before")
    @classmethod
    def _s3_locations(cls, data: Any) -> Any:
        """Locations of the target are s3:// ones, whatever Hadoop's name for them."""
        locations = data.get("locations") if isinstance(data, dict) else None
        if not isinstance(locations, dict):
            return data
        mapped = {old: s3_location(new) if isinstance(new, str) else new for old, new in locations.items()}
        return {**data, "locations": mapped}
