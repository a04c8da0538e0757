"""Settings of the target kind `athena`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from pysync.targets.aws.settings import AwsSettings
from pysync.targets.glue.settings import GlueSettings

PRIMARY = "primary"
"""The work group that Athena uses where none is named."""


class AthenaSettings(AwsSettings):
    """A `[[targets]]` table of `kind = "athena"`."""

    kind: Literal["athena"]
    staging: str | None = Field(
        default=None,
        pattern=r"^s3://[^/\s]+(/.*)?$",
        description="where Athena writes the results of statements, s3://bucket/prefix/; unset: the work group's place",
    )
    work_group: str | None = Field(
        default=None, pattern=r"^[\w.-]{1,128}$", description="the work group that statements run in; unset: primary"
    )
    catalog: str | None = Field(
        default=None,
        pattern=r"^\S{1,255}$",
        description="the name that Athena has for the Data Catalog; unset: AwsDataCatalog, the caller's own",
    )
    glue_api: Literal["when-needed", "never"] = Field(
        default="when-needed", description="whether the Glue API does what no statement says; never: that is parked"
    )
    statement_timeout_seconds: float = Field(
        default=300.0, gt=0, description="the longest wait for the end of a statement, which is then cancelled"
    )
    poll_seconds: float = Field(default=0.5, gt=0, description="how often a statement under way is looked at")

    @model_validator(mode="before")
    @classmethod
    def _has_a_place_for_results(cls, data: Any) -> Any:
        if isinstance(data, dict) and "kind" in data and not (data.get("staging") or data.get("work_group")):
            raise ValueError("name a staging location, or a work_group that has one: Athena writes results there")
        return data

    @model_validator(mode="before")
    @classmethod
    def _has_a_name_for_its_catalog(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("catalog_id") and not data.get("catalog"):
            raise ValueError("catalog_id needs catalog, too: the name that Athena has for the catalog of that account")
        return data

    def of_glue(self) -> GlueSettings:
        """What the Glue API is used with: the same account, place, credentials and rules, and the same clients."""
        common = self.model_dump(by_alias=True, include=AwsSettings.model_fields.keys() - {"kind"})
        found = GlueSettings(kind="glue", **common)
        found._clients = self._clients  # one pool of connections and one rate for all that a target does
        return found
