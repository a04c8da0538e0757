"""Every pair of versions: the same body of DDL at the source, a real sidecar between, and the target ends equal.

The source's listener is the very same jar in each. What a target cannot hold is listed in tests/versions/equal.py and
docs/versions.md. Run by `make test SUITE=versions`: it brings the releases from Maven Central.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.versions.body import Body, version_of
from tests.versions.conftest import Report, Row
from tests.versions.equal import Verdict, verdict
from tests.versions.releases import RELEASES, NotBrought
from tests.versions.server import metastore_of

PAIRS = (
    ("2.3.10", "2.3.10"),
    ("2.3.10", "4.1.0"),
    ("3.1.3", "2.3.10"),
    ("3.1.3", "3.1.3"),
    ("3.1.3", "4.0.1"),
    ("3.1.3", "4.1.0"),
    ("4.0.1", "4.0.1"),
    ("4.0.1", "2.3.10"),
    ("4.1.0", "3.1.3"),
    ("4.1.0", "4.1.0"),
    ("4.2.0", "4.2.0"),
    ("4.2.0", "2.3.10"),
)
CONVERGE_SECONDS = 120.0


def need(report: Report, *versions: str) -> None:
    """Bring what a test runs on; a version that this machine cannot run is named in the report."""
    for version in versions:
        try:
            if version in RELEASES:
                RELEASES[version].bring()
        except NotBrought as error:
            report.missing[version] = str(error)
            pytest.skip(str(error))


def settle(stage: Stage) -> None:
    """Wait until the target has nothing left to do; AssertionError with the status otherwise."""
    until = time.monotonic() + CONVERGE_SECONDS
    with Metastore(stage.source.uri) as source:
        marker = f"marker_{time.monotonic_ns()}"
        source.call(lambda client: client.create_database(_database(marker)))
    while marker not in _databases(stage) or stage.status()["targets"][0]["queued"]:
        assert time.monotonic() < until, stage.status()
        time.sleep(0.3)


def judged(stage: Stage, source: str, target: str) -> Verdict:
    """The verdict; again where the comparison met the replay in a deadlock of the target's database."""
    try:
        return verdict(stage, version_of(source), version_of(target))
    except PysyncError:
        return verdict(stage, version_of(source), version_of(target))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{s}-{t}" for s, t in PAIRS])
def test_the_target_ends_equal_and_comes_to_rest(source: str, target: str, tmp_path: Path, report: Report) -> None:
    need(report, source, target)
    began = time.monotonic()
    with Stage(tmp_path, source=metastore_of(source), target=metastore_of(target)) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as metastore:
            body = Body(metastore, version_of(source), f"file:{tmp_path}/data")
            body.run()
            settle(stage)
            found = judged(stage, source, target)
            status = stage.status()["targets"][0]
            seconds = round(time.monotonic() - began, 1)
            row = (body.statements, found.objects, found.parts, found.known, len(found.unknown), seconds)
            report.rows.append(Row(f"{source} -> {target}", *row))
            assert not found.unknown, found.unknown
            assert status["parked"] == 0, status
            assert body.statements > 60
            assert found.objects >= 20
            assert found.parts >= 20
            assert_at_rest(stage, body)


@pytest.mark.timeout(300)
def test_beside_hives_own_notification_log(tmp_path: Path, report: Report) -> None:
    """Both listeners in one metastore: the events carry the ids of the log, and none is lost or told twice."""
    need(report, "3.1.3")
    source = metastore_of("3.1.3", notification_log=True)
    with Stage(tmp_path, source=source) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with Metastore(stage.source.uri) as metastore:
            body = Body(metastore, (3, 1), f"file:{tmp_path}/data")
            for part in (body.databases, body.tables, body.partitions):
                part()
            settle(stage)
            last = metastore.call(lambda client: client.get_current_notificationEventId()).eventId
        found = judged(stage, "3.1.3", "2.3.10")
        assert not found.unknown, found.unknown
        assert last >= body.statements - 5, "the log has an entry for all but what changed nothing"


def assert_at_rest(stage: Stage, body: Body) -> None:
    """Tables that are written as they are cause no writes at the target: nothing there is altered again and again.

    The first time is no proof: an alter makes the source count files, which is a change.
    """
    body.touches()
    settle(stage)
    before = stage.status()["targets"][0]["counts"]
    body.touches()
    settle(stage)
    after = stage.status()["targets"][0]["counts"]
    assert after["unchanged"] > before["unchanged"], (before, after)
    assert after["applied"] == before["applied"] + 1, (before, after)  # one: the marker of settle


def _databases(stage: Stage) -> list[str]:
    with Metastore(stage.target.uri) as target:
        return target.databases()


def _database(name: str) -> object:

    return hive.Database(name=name, description="", parameters={}, ownerName="nobody", ownerType=1)
