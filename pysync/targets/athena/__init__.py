"""The target kind `athena`: the AWS Glue Data Catalog, by Athena's DDL statements."""

from __future__ import annotations

from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.athena.target import AthenaTarget
from pysync.targets.base import TargetKind

__all__ = ["KIND", "AthenaSettings", "AthenaTarget"]

KIND = TargetKind(settings=AthenaSettings, open=AthenaTarget)
