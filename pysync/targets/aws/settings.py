"""Settings of every target on AWS. There is no secret among them: credentials come from the chain that boto3 knows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from pysync.targets.aws.limits import s3_location
from pysync.targets.aws.session import Clients
from pysync.targets.settings import TargetSettings
from pysync.validation import Finite, Seconds, matching


class AssumeRole(BaseModel):
    """The IAM role that a target works as, taken on with the credentials that are found first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    arn: Annotated[
        str,
        matching(r"arn:[a-z-]+:iam::\d{12}:role/\S+", 'the ARN of a role; write "arn:aws:iam::123456789012:role/NAME"'),
    ] = Field(description="ARN of the role: arn:aws:iam::ACCOUNT:role/NAME.")
    external_id: str | None = Field(default=None, description="External ID that the role's trust policy asks for.")
    session_name: Annotated[
        str, matching(r"[\w+=,.@-]{2,64}", "a session name; use 2 to 64 letters, digits and _+=,.@-")
    ] = Field(default="pysync", description="Session name that CloudTrail shows.")


class AwsSettings(TargetSettings):
    """What `[[targets]]` tables of AWS have in common."""

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
    endpoint_url: Annotated[str, matching(r"https?://\S+", 'a URL; write "https://host"')] | None = Field(
        default=None, description="Another endpoint of the service, for example in a VPC, or an emulator."
    )
    create_missing_databases: bool = Field(
        default=False, description="Whether a missing database is created for a table. Otherwise the event is parked."
    )
    views: Literal["strict", "best-effort", "off"] = Field(
        default="best-effort",
        description="Views of Hive. best-effort: translated for Athena if that is known to give the same rows, else "
        "kept as HiveQL; strict: parked if they cannot be translated; off: kept as HiveQL.",
    )
    timeout_seconds: Seconds = Field(default=60.0, gt=0, description="Timeout of a call.")
    connect_timeout_seconds: Seconds = Field(default=5.0, gt=0, description="Timeout for connecting.")
    max_rate: Finite | None = Field(
        default=None,
        gt=0,
        description="Limit of calls per second for all lanes together. Default: as many as AWS takes.",
    )
    parallel: int = Field(default=4, ge=1, le=32, description="Number of parallel calls of one operation.")

    # Lanes are opened from one settings object: through it they share their clients, and so one rate and one pool.
    _clients: Clients = PrivateAttr(default_factory=Clients)

    @field_validator("delete_data")
    @classmethod
    def _has_no_files(cls, value: bool) -> bool:
        if value:
            raise ValueError("the Glue Data Catalog holds no files, so pysync cannot delete data there")
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
