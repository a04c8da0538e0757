"""The target kind `spark`: the catalog of a Spark session, whatever metastore that session alone can reach."""

from __future__ import annotations

from pysync.targets.base import TargetKind
from pysync.targets.spark.settings import SparkSettings
from pysync.targets.spark.target import SparkTarget

__all__ = ["KIND", "SparkSettings", "SparkTarget"]

KIND = TargetKind(settings=SparkSettings, open=SparkTarget)
