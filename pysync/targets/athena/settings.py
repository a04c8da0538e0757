"""Settings of the target kind `athena`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pysync.base.validation import Seconds, matching
from pysync.targets.aws.settings import AwsSettings, Url
from pysync.targets.glue.settings import GlueSettings

PRIMARY = "primary"
"""The work group that Athena uses where none is named."""
LANES = 16
"""Below the 20 statements that Athena runs at once for an account, so that others can send some, too."""


class AthenaSettings(AwsSettings):
    """A `[[targets]]` table of `kind = "athena"`."""

    kind: Literal["athena"]
    staging: Annotated[str, matching(r"s3://[^/\s]+(/.*)?", 'an S3 location; write "s3://bucket/prefix/"')] | None = (
        Field(
            default=None,
            description="Location for query results, s3://bucket/prefix/. Default: the location of the work group.",
        )
    )
    work_group: (
        Annotated[str, matching(r"[\w.-]{1,128}", "a work group; use letters, digits, underscores, dots and hyphens")]
        | None
    ) = Field(default=None, description="Athena work group. Default: primary.")
    catalog: Annotated[str, matching(r"\S{1,255}", "a catalog name; spaces are refused")] | None = Field(
        default=None,
        description="Name of the Data Catalog in Athena. Default: AwsDataCatalog, the catalog of the account.",
    )
    glue_api: Literal["when-needed", "never"] = Field(
        default="when-needed",
        description="Whether the Glue API makes changes that Athena DDL cannot express. never: such events are parked.",
    )
    statement_timeout_seconds: Seconds = Field(
        default=300.0, gt=0, description="Timeout of a statement. The statement is then cancelled."
    )
    poll_seconds: Seconds = Field(
        default=0.5, gt=0, description="Seconds between two looks at the running statements, all of them in one call."
    )
    lanes: int = Field(
        default=LANES,
        ge=1,
        le=64,
        description="Number of statements under way at once, each of another table. Athena allows 20 for an account.",
    )
    athena_endpoint_url: Url | None = Field(
        default=None, description="Endpoint of Athena, if it is another than endpoint_url."
    )
    glue_endpoint_url: Url | None = Field(
        default=None, description="Endpoint of the Glue API, if it is another than endpoint_url."
    )

    @model_validator(mode="before")
    @classmethod
    def _has_a_place_for_results(cls, data: Any) -> Any:
        if isinstance(data, dict) and "kind" in data and not (data.get("staging") or data.get("work_group")):
            raise ValueError("set staging, or a work_group that has a location for query results")
        return data

    @model_validator(mode="before")
    @classmethod
    def _check_catalog_name(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("catalog_id") and not data.get("catalog"):
            raise ValueError(
                "catalog_id is set, but catalog is not; set catalog to the name that Athena has for that account's "
                "catalog"
            )
        return data

    @model_validator(mode="after")
    def _can_write_extras(self) -> AthenaSettings:
        wanted = {"statistics": self.statistics != "off", "partition_indexes": self.partition_indexes}
        for key, value in {**wanted, "lf_tags": self.lf_tags}.items():
            if value and self.glue_api == "never":
                raise ValueError(f'{key} needs glue_api = "when-needed": no statement can write them')
        return self

    def endpoint_of(self, service: str) -> str | None:
        """The endpoint of a service; None: as botocore finds it."""
        endpoints = {"athena": self.athena_endpoint_url, "glue": self.glue_endpoint_url}
        return endpoints.get(service) or super().endpoint_of(service)

    def of_glue(self) -> GlueSettings:
        """What the Glue API is used with: the same account, place, credentials and rules, and the same clients."""
        common = self.model_dump(by_alias=True, include=AwsSettings.model_fields.keys() - {"kind"})
        settings = GlueSettings(kind="glue", **common | {"endpoint_url": self.endpoint_of("glue")})
        self.share_with(settings)
        settings.use_source_hive(self.source_hive)
        return settings
