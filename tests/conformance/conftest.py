"""One harness for each kind of target that this machine can run, or those that --harness names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from pysync.model.names import TableName
from pysync.targets.base import Target
from tests.conformance.harness import HmsBothWaysHarness, HmsHarness, TargetHarness
from tests.conformance.harness_athena import AthenaHarness
from tests.conformance.harness_directory import DirectoryHarness
from tests.conformance.harness_faulty import FaultyBothWaysHarness, FaultyHarness
from tests.conformance.harness_glue import GlueHarness
from tests.conformance.harness_spark import SparkHarness
from tests.conformance.objects import Source

HARNESSES: Mapping[str, Callable[[Path], TargetHarness]] = {
    "athena": AthenaHarness,
    "directory": DirectoryHarness,
    "faulty": FaultyHarness,
    "faulty-both-ways": FaultyBothWaysHarness,
    "glue": GlueHarness,
}
ON_METASTORE: Mapping[str, Callable[[str, Path], TargetHarness]] = {
    "hms": HmsHarness,
    "hms-both-ways": HmsBothWaysHarness,
    "spark": SparkHarness,
}
KINDS = [
    "faulty",
    "faulty-both-ways",
    "directory",
    *(pytest.param(kind, marks=pytest.mark.servers) for kind in ("hms", "hms-both-ways", "glue")),
    pytest.param("athena", marks=pytest.mark.athena),
    pytest.param("spark", marks=pytest.mark.spark),
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "harness" in metafunc.fixturenames:  # for a package, so that Spark ends with it, which is one in a process
        kinds = metafunc.config.getoption("harness", None) or KINDS
        metafunc.parametrize("harness", kinds, indirect=True, scope="package")


@pytest.fixture(scope="package")
def harness(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TargetHarness]:
    found = opened(request, tmp_path_factory.mktemp("data"))
    yield found
    found.close()


def opened(request: pytest.FixtureRequest, root: Path) -> TargetHarness:
    """The harness of that kind, or of the class that is named so."""
    if request.param in ON_METASTORE:
        return ON_METASTORE[request.param](request.getfixturevalue("shared_metastore").uri, root)
    if request.param in HARNESSES:
        return HARNESSES[request.param](root)
    module, _, name = request.param.partition(":")
    found: TargetHarness = getattr(import_module(module), name)(root)
    return found


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
