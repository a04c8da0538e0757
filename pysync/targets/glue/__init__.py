"""The target kind `glue`: the AWS Glue Data Catalog, by its own API."""

from __future__ import annotations

from pysync.targets.base import TargetKind
from pysync.targets.glue.session import GlueSettings
from pysync.targets.glue.target import GlueTarget

__all__ = ["KIND", "GlueSettings", "GlueTarget"]

KIND = TargetKind(settings=GlueSettings, open=GlueTarget)
