"""The target kind `athena`: the AWS Glue Data Catalog, by Athena's DDL statements."""

from __future__ import annotations

from pysync.targets.athena.execution import StatementRunner
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.athena.store import AthenaStore
from pysync.targets.glue.store import GlueStore
from pysync.targets.kinds import TargetKind
from pysync.targets.target import StoreTarget

__all__ = ["KIND", "AthenaSettings", "AthenaStore", "athena_target"]


def athena_target(settings: AthenaSettings) -> StoreTarget:
    """The target of these settings."""
    return StoreTarget(AthenaStore(settings, StatementRunner(settings), GlueStore(settings.of_glue())))


KIND = TargetKind(settings=AthenaSettings, open=athena_target)
