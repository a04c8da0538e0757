"""The target kind `spark`: the catalog of a Spark session, whatever metastore that session alone can reach.

Copying and `verify --on-spark` use the same session and its settings (`session`, `settings`), and no target.
"""

from __future__ import annotations

from pysync.targets.base import Target, TargetKind
from pysync.targets.spark.settings import SparkSettings

__all__ = ["KIND", "SparkSettings"]


def _open(settings: SparkSettings) -> Target:
    from pysync.targets.spark.target import SparkTarget  # noqa: PLC0415 - see above: most want no target

    return SparkTarget(settings)


KIND = TargetKind(settings=SparkSettings, open=_open)
