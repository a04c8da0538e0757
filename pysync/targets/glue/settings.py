"""The settings of a target of kind `glue`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pysync.targets.aws.settings import AwsSettings


class GlueSettings(AwsSettings):
    """A `[[targets]]` table of `kind = "glue"`."""

    kind: Literal["glue"]
    skip_archive: bool = Field(
        default=True,
        description="Whether an update keeps no old table version. Old versions count against the AWS quota.",
    )
    partition_schema: Literal["none", "append", "full"] = Field(
        default="none",
        description="Partitions that get new columns of their table if the source did not cascade. none; append: those "
        "whose columns are the first columns of the table; full: all.",
    )
