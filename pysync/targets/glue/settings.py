"""The settings of a target of kind `glue`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pysync.targets.aws.settings import AwsSettings


class GlueSettings(AwsSettings):
    """A `[[targets]]` table of `kind = "glue"`."""

    kind: Literal["glue"]
    skip_archive: bool = Field(
        default=True, description="whether a table's old versions are forgotten; kept ones count against AWS's quota"
    )
    partition_schema: Literal["none", "append", "full"] = Field(
        default="none",
        description="which partitions get a table's new columns where the source did not cascade: none; append: those "
        "whose columns are its first ones; full: all",
    )
