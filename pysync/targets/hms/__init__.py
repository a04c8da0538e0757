"""The target kind `hms`: another Hive Metastore, reached over thrift."""

from __future__ import annotations

from pysync.targets.base import TargetKind
from pysync.targets.hms.session import HmsSettings
from pysync.targets.hms.target import HmsTarget

__all__ = ["KIND", "HmsSettings", "HmsTarget"]

KIND = TargetKind(settings=HmsSettings, open=HmsTarget)
