"""A real Spark session in a process whose log is JSON: no bare line appears, and Spark's own log is rolled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.harness_spark import SHORT_LIFE

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SCRIPT = """
from contextlib import suppress
from pathlib import Path
from pysync.base import logs
from pysync.targets.spark_request import SparkRequest
from pysync.targets.spark.session import SparkHost

logs.configure("info", "json")
host = SparkHost(SparkRequest(None, {settings!r}), Path({directory!r}))
session = host.session()
jvm = session.sparkContext._jvm
jvm.System.out.println("printed by a jar")
jvm.System.err.println("OutOfMemoryError, say")
log = jvm.org.apache.logging.log4j.LogManager.getLogger("x")
for _ in range(50):
    log.warn("x" * 1_000_000)
with suppress(Exception):
    session.sql("SELECT no_such_column FROM range(1)")
host.close()
"""


def test_a_real_spark_writes_no_bare_line_and_its_log_is_bounded(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(settings=tuple(SHORT_LIFE.items()), directory=str(tmp_path)))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=True)
    reported = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.stdout == ""
    assert [it["event"] for it in reported] == ["spark_started"]
    printed = (tmp_path / "spark.out").read_text().splitlines()
    assert {"printed by a jar", "OutOfMemoryError, say", "WARNING: Using incubator modules: jdk.incubator.vector"} <= {
        *printed
    }
    kept = sorted(tmp_path.glob("spark.log*"))
    assert [it.name for it in kept] == ["spark.log", "spark.log.1", "spark.log.2", "spark.log.3"]
    assert max(it.stat().st_size for it in kept) < 12_000_000
