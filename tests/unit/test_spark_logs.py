"""What Spark's JVM prints and logs: into files beside the queue, and those are bounded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark import SparkContext

from pysync.targets.base import Unavailable
from pysync.targets.spark.session import SparkHost, log_settings
from pysync.targets.spark_request import SparkRequest

SUBMIT = """#!/bin/sh
echo "WARNING: Using incubator modules: jdk.incubator.vector" >&2
echo "start {number}"
exit 1
"""


@pytest.fixture
def spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark that says something and does not start."""
    home = tmp_path / "spark-home"
    (home / "bin").mkdir(parents=True)
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    return home


def submit(home: Path, number: int) -> None:
    script = home / "bin" / "spark-submit"
    script.write_text(SUBMIT.format(number=number))
    script.chmod(0o755)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # pyspark leaves its launcher's pipes open
def test_what_spark_prints_goes_to_a_file_and_that_of_the_start_before_is_kept(
    spark_home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    host = SparkHost(SparkRequest(None, ()), tmp_path)
    for number in (1, 2, 3):
        submit(spark_home, number)
        with pytest.raises(Unavailable, match=re.escape(str(tmp_path / "spark.out"))):
            host.session()
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "spark.out").read_text().splitlines() == [
        "WARNING: Using incubator modules: jdk.incubator.vector",
        "start 3",
    ]
    assert "start 2" in (tmp_path / "spark.out.1").read_text()
    assert sorted(it.name for it in tmp_path.glob("spark.out*")) == ["spark.out", "spark.out.1"]


def test_the_log_of_spark_is_rolled_and_older_ones_go(tmp_path: Path) -> None:
    settings = dict(line.split(" = ", 1) for line in log_settings(tmp_path).read_text().splitlines())
    assert settings["appender.file.type"] == "RollingFile"
    assert settings["appender.file.fileName"] == str(tmp_path / "spark.log")
    assert settings["appender.file.filePattern"] == str(tmp_path / "spark.log.%i")
    assert (settings["appender.file.policies.size.size"], settings["appender.file.strategy.max"]) == ("10MB", "3")
