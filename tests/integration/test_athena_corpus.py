"""The corpus through all of pysync, from a metastore with the listener to a Glue that boto3 reads."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pysync.lab.aws import EmbeddedAws
from tests.support.corpus import Case, cases
from tests.support.corpus.check import assert_case, assert_database_arrived
from tests.support.corpus.run import Findings, Run

pytestmark = [pytest.mark.athena, pytest.mark.timeout(600)]


class EmbeddedPlace:
    """The embedded AWS."""

    bucket, prefix, seconds = "corpus-bucket/warehouse", "it", 240.0

    def __init__(self, aws: EmbeddedAws) -> None:
        self._aws = aws

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self._aws.environment()}

    def client(self, service: str) -> Any:
        return self._aws.client(service)

    def settings(self, *, athena: bool) -> str:
        place = f'region = "{self._aws.region}"\nendpoint_url = "{self._aws.url}"\n'
        return place + ('staging = "s3://corpus-bucket/athena/"\npoll_seconds = 0.05\n' if athena else "")


@pytest.fixture(scope="module")
def run(shared_aws: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory) -> Run:
    found = Run(tmp_path_factory.mktemp("corpus"), EmbeddedPlace(shared_aws))
    with found.stage:
        found.play()
    return found


@pytest.fixture
def findings(run: Run) -> Findings:
    return run.findings


def test_there_are_enough_cases(run: Run) -> None:
    assert len(run.cases) >= 150
    assert len({case.title for case in run.cases}) == len(run.cases)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.title)
def test_a_table_arrives(findings: Findings, case: Case) -> None:
    assert_case(findings, case, EmbeddedPlace.bucket, here=True)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("target", ["ddl", "lake", "api"])
def test_a_database_arrives(run: Run, findings: Findings, number: int, target: str) -> None:
    assert_database_arrived(findings, run.databases[number].name, target, EmbeddedPlace.bucket)


def test_nothing_else_is_parked_or_there(findings: Findings) -> None:
    assert findings.parked["api"] == findings.parked["lake"] == {}
    for target in ("ddl", "api"):
        assert findings.targets[target].keys() - findings.source.keys() <= findings.parked[target].keys()
