"""The target kind `glue`: the AWS Glue Data Catalog, by its own API."""

from __future__ import annotations

from pysync.targets.glue.settings import GlueSettings
from pysync.targets.glue.store import GlueStore
from pysync.targets.kinds import TargetKind
from pysync.targets.target import StoreTarget

__all__ = ["KIND", "GlueSettings", "GlueStore", "glue_target"]


def glue_target(settings: GlueSettings) -> StoreTarget:
    """The target of these settings."""
    return StoreTarget(GlueStore(settings))


KIND = TargetKind(settings=GlueSettings, open=glue_target)
