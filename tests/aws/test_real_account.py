"""`make test SUITE=aws`: the corpus on an AWS account of yours, if it is named (docs/aws.md).

All that it makes are databases with the prefix, and the results of statements below the place; it drops the databases
before and after.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.corpus import Case, cases
from tests.support.corpus.check import assert_case, assert_database_arrived
from tests.support.corpus.run import TARGETS, Findings, Run

PLACE, PREFIX = "PYSYNC_TEST_AWS_PLACE", "PYSYNC_TEST_AWS_DATABASES"


def _why_not() -> str:
    """Why the suite cannot run; empty if it can."""
    missing = [name for name in (PLACE, PREFIX) if not os.environ.get(name)]
    if missing:
        return f"no AWS account is named: set {' and '.join(missing)} (docs/aws.md)"
    if not re.fullmatch(r"s3://[^/\s]+/\S*[^/\s]", os.environ[PLACE]):
        return f"{PLACE} is not s3://bucket/prefix"
    if not re.fullmatch(r"[a-z][a-z0-9_]{2,30}", os.environ[PREFIX]) or os.environ[PREFIX].startswith("corpus"):
        return f"{PREFIX} is not a prefix of 3 to 31 small letters, digits and _ (and none that begins with corpus)"
    import boto3  # noqa: PLC0415

    session = boto3.Session()
    if session.get_credentials() is None:
        return "there are no AWS credentials (docs/aws.md)"
    return "" if session.region_name else "no region is set: AWS_REGION, or the profile's"


if why := _why_not():
    pytest.skip(why, allow_module_level=True)
pytestmark = pytest.mark.timeout(7200)


class Account:
    """The account that boto3 finds by itself."""

    seconds = 3600.0

    def __init__(self) -> None:
        import boto3  # noqa: PLC0415

        self.bucket = os.environ[PLACE].removeprefix("s3://")
        self.prefix = os.environ[PREFIX]
        self._session = boto3.Session()

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.clear()

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def client(self, service: str) -> Any:
        return self._session.client(service)

    def settings(self, *, athena: bool) -> str:
        place = f'region = "{self._session.region_name}"\nlanes = 8\n'
        return place + (f'staging = "s3://{self.bucket}/results/"\n' if athena else "")

    def clear(self) -> None:
        """Drop the databases of the run, with their tables; their files there are none of."""
        glue = self.client("glue")
        names = [it["Name"] for page in glue.get_paginator("get_databases").paginate() for it in page["DatabaseList"]]
        for name in names:
            if name.startswith(tuple(f"{self.prefix}_{target}_corpus" for target in TARGETS)):
                glue.delete_database(Name=name)


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    found = Account()
    found.clear()
    yield found
    found.clear()


@pytest.fixture(scope="module")
def run(account: Account, tmp_path_factory: pytest.TempPathFactory) -> Run:
    found = Run(tmp_path_factory.mktemp("corpus"), account)
    with found.stage:
        found.play()
    return found


@pytest.fixture
def findings(run: Run) -> Findings:
    return run.findings


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.title)
def test_a_table_arrives(findings: Findings, account: Account, case: Case) -> None:
    """As on the embedded AWS: a case that fails here and not there is where the two differ."""
    assert_case(findings, case, account.bucket, here=False)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("target", TARGETS)
def test_a_database_arrives(run: Run, findings: Findings, account: Account, number: int, target: str) -> None:
    assert_database_arrived(findings, run.databases[number].name, target, account.bucket)


def test_nothing_else_is_parked(findings: Findings) -> None:
    assert findings.parked["api"] == findings.parked["lake"] == {}
