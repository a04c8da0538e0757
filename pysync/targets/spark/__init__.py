"""The target kind `spark`: the catalog of a Spark session, whatever metastore that session alone can reach.

Copying uses the same session (`session`), and no target.
"""

from __future__ import annotations

from pysync.targets.base import Target
from pysync.targets.kinds import TargetKind
from pysync.targets.spark.settings import SparkSettings

__all__ = ["KIND", "SparkSettings", "spark_target"]


def spark_target(settings: SparkSettings) -> Target:
    """The target of these settings."""
    from pysync.targets.spark.store import SparkStore  # noqa: PLC0415 - see above: most want no target
    from pysync.targets.target import StoreTarget  # noqa: PLC0415

    return StoreTarget(SparkStore(settings))


KIND = TargetKind(settings=SparkSettings, open=spark_target)
