"""Settings of every target on AWS. There is no secret among them: credentials come from the chain that boto3 knows."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from pysync.targets.aws.limits import s3_location
from pysync.targets.aws.session import Clients
from pysync.targets.settings import TargetSettings


class AssumeRole(BaseModel):
    """The IAM role that a target works as, taken on with the credentials that are found first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    arn: str = Field(pattern=r"^arn:[a-z-]+:iam::\d{12}:role/\S+$", description="arn:aws:iam::ACCOUNT:role/NAME")
    external_id: str | None = Field(default=None, description="what the role's owner asks for in its trust policy")
    session_name: str = Field(
        default="pysync", pattern=r"^[\w+=,.@-]{2,64}$", description="who CloudTrail says that it was"
    )


class AwsSettings(TargetSettings):
    """What `[[targets]]` tables of AWS have in common."""

    region: str | None = Field(default=None, description="the AWS region; unset: the profile's or AWS_REGION")
    profile: str | None = Field(default=None, description="a profile of ~/.aws/config; unset: the default chain")
    assume_role: AssumeRole | None = Field(default=None, description="the role to work as: arn, external_id")
    catalog_id: str | None = Field(
        default=None, pattern=r"^\S{1,255}$", description="the account whose Data Catalog it is; unset: the caller's"
    )
    endpoint_url: str | None = Field(
        default=None, pattern=r"^https?://\S+$", description="another endpoint of the service: a VPC's, or an emulator"
    )
    create_missing_databases: bool = Field(
        default=False, description="whether a table whose database is not there gets one, instead of being parked"
    )
    timeout_seconds: float = Field(default=60.0, gt=0, description="the longest wait for an answer")
    connect_timeout_seconds: float = Field(default=5.0, gt=0, description="the longest wait for a connection")
    max_rate: float | None = Field(
        default=None, gt=0, description="calls a second of all lanes together; unset: as many as AWS takes"
    )
    parallel: int = Field(default=4, ge=1, le=32, description="calls of one operation that may be under way at once")

    # Lanes are opened from one settings object: through it they share their clients, and so one rate and one pool.
    _clients: Clients = PrivateAttr(default_factory=Clients)

    @field_validator("delete_data")
    @classmethod
    def _has_no_files(cls, value: bool) -> bool:
        if value:
            raise ValueError("the Glue Data Catalog holds no files, so that pysync cannot delete any there")
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
