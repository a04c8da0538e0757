"""A Spark session on a metastore of the demo."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pysync.errors import PysyncError
from pysync.targets.spark.session import AUTHENTICATED_LOCAL, log_settings, silence_refusals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_session(metastore: str, warehouse: Path, directory: Path) -> Iterator[SparkSession]:
    """A local Spark that uses the metastore at that address; its log goes to `directory`/spark.log.

    Raises PysyncError when pyspark is not installed.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra: only who uses Spark needs it
    except ImportError:
        raise PysyncError("the demo needs pyspark", "pip install 'pysync[spark]'") from None
    settings = log_settings(directory)
    builder = (
        SparkSession.builder.config(map=dict(AUTHENTICATED_LOCAL))
        .master("local[2]")
        .appName("pysync")
        .config("spark.sql.catalogImplementation", "hive")
        .config("spark.hadoop.hive.metastore.uris", metastore)
        .config("spark.sql.warehouse.dir", f"file:{warehouse}")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
        .config("spark.ui.showConsoleProgress", "false")
        .config(
            "spark.driver.extraJavaOptions",
            f"-Dlog4j2.configurationFile=file:{settings} -Dderby.system.home={directory}",
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # pyspark leaves its launcher's pipes open
        session = builder.getOrCreate()
    silence_refusals(session)
    try:
        yield session
    finally:
        session.stop()
