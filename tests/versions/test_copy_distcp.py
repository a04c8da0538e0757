"""Copying on a real HDFS against Hadoop's distcp: small files several times as fast, large ones no slower."""

from __future__ import annotations

import os

import pytest

from tests.bench import frame, hdfs
from tests.versions.conftest import Report
from tests.versions.releases import NotBrought


@pytest.mark.timeout(3600)  # distcp takes its time on a machine that has much to do
def test_the_goals_against_distcp_are_reached(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    """As `tests/bench/hdfs.py` measures it; fewer files unless PYSYNC_BENCH_HDFS_FILES says otherwise."""
    os.environ.setdefault("PYSYNC_BENCH_HDFS_FILES", "500")
    try:
        rows = list(hdfs.run(lambda _: None))
    except NotBrought as error:
        report.missing["against distcp"] = str(error)
        pytest.skip(str(error))
    with capsys.disabled():
        frame.show("hdfs", rows)
    frame.write("hdfs", rows)
    assert not [row for row in rows if row.ok is False]
