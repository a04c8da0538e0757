"""One harness for each kind of target that this machine can run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pysync.model.names import TableName
from pysync.targets.base import Target
from tests.conformance.harness import HmsHarness, TargetHarness
from tests.conformance.harness_athena import AthenaHarness
from tests.conformance.harness_faulty import FaultyHarness
from tests.conformance.harness_glue import GlueHarness
from tests.conformance.harness_spark import SparkHarness
from tests.conformance.objects import Source

KINDS = [
    "hms",
    "faulty",
    "glue",
    pytest.param("athena", marks=pytest.mark.athena),
    pytest.param("spark", marks=pytest.mark.spark),
]


@pytest.fixture(scope="package", params=KINDS)  # so that Spark ends with it, which is one in a process
def harness(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TargetHarness]:
    root = tmp_path_factory.mktemp("data")
    found: TargetHarness
    if request.param == "glue":
        found = GlueHarness(root)
    elif request.param == "athena":
        found = AthenaHarness(root)
    elif request.param == "faulty":
        found = FaultyHarness(root)
    elif request.param == "spark":
        found = SparkHarness(request.getfixturevalue("shared_metastore").uri, root)
    else:
        found = HmsHarness(request.getfixturevalue("shared_metastore").uri, root)
    yield found
    found.close()


@pytest.fixture
def target(harness: TargetHarness) -> Target:
    return harness.open()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def database(harness: TargetHarness, target: Target, source: Source) -> str:
    """A database of the source's at the target."""
    name = harness.new_database()
    target.apply(source.put_database(name, harness.location(name)))
    harness.writes.clear()
    return name


@pytest.fixture
def name(database: str) -> TableName:
    return TableName(database, "t")


@pytest.fixture
def location(harness: TargetHarness, name: TableName) -> str:
    """Where the table `name` lies, as a source's default location would."""
    return harness.location(f"{name.database}/{name.table}")
