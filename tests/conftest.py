"""Fixtures that tests of several files need.

A start of a real metastore takes some 3 s, so share one where a test allows it.
"""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import structlog
from argon2 import PasswordHasher
from hypothesis import settings as hypothesis_settings

from pysync.lab import EmbeddedMetastore, ports
from pysync.lab.aws import EmbeddedAws
from pysync.web import passwords
from tests.support.drains import Bench, FaultyDrain, shorten_waits
from tests.support.examples import EXAMPLES
from tests.support.jitter import Jitter
from tests.support.queues import Disk, Reopener
from tests.versions.server import metastore_of

_MOST_WORKERS = 8
_SERVERS = {Path(__file__).parent / name for name in ("integration", "listener")}

# No test is about speed, and machines are busy. The suite chaos looks for new examples, all others take the same ones.
hypothesis_settings.register_profile("pysync", deadline=None, derandomize=EXAMPLES <= 1)
hypothesis_settings.load_profile("pysync")


def pytest_addoption(parser: pytest.Parser) -> None:
    # Here, so that pytest knows it though no test of the conformance suite is selected (tests/mutation).
    parser.addoption(
        "--harness",
        action="append",
        metavar="MODULE:CLASS",
        help="run the conformance suite with this harness, and no other: docs/contributing.md",
    )
    parser.addoption("--jitter", type=int, metavar="SEED", help="delay the threads of tests: docs/testing.md")


def pytest_configure(config: pytest.Config) -> None:
    if (seed := config.getoption("--jitter")) is not None:
        config.pluginmanager.register(Jitter(seed))


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests on real servers by their directory."""
    for item in items:
        if item.path.parent in _SERVERS:
            item.add_marker("servers")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Have the garbage collector pass over what was collected: it stays to the end, and costs a tenth of the time."""
    gc.collect()
    gc.freeze()


class Metastores:
    """Call it for a running metastore of this test's own: `metastores("a", database="disk", jars=[...])`.

    The arguments are those of EmbeddedMetastore. A second call with the same name needs the first one stopped.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._started: list[EmbeddedMetastore] = []

    def __call__(self, name: str = "a", *, start: bool = True, **settings: Any) -> EmbeddedMetastore:
        server = EmbeddedMetastore(self._directory / name, name=name, **settings)
        self._started.append(server)
        return server.start() if start else server

    def close(self) -> None:
        """Stop them all, and check that nothing of them is left."""
        for server in self._started:
            server.kill()
        assert not [server.name for server in self._started if server.running]


@pytest.fixture(scope="session", autouse=True)
def ports_of_this_worker() -> Iterator[None]:
    """Keep the ports of xdist's workers apart: one must not take what another's server left for a restart."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _MOST_WORKERS
    each = len(ports.PORTS) // _MOST_WORKERS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ports, "PORTS", ports.PORTS[number * each : (number + 1) * each])
        yield


@pytest.fixture(scope="module", autouse=True)
def no_thread_goes_on() -> Iterator[None]:
    """A thread of ours that outlives its tests disturbs others: hypothesis, say, minds whoever draws random numbers.

    Those without a name are py4j's, of bridges whose listener is still there; others watch over what is shared.
    """
    before = set(threading.enumerate())
    yield
    left = [it for it in set(threading.enumerate()) - before if not it.name.startswith(("Thread-", "waits for "))]
    for thread in left:
        thread.join(10)
    assert not [thread.name for thread in left if thread.is_alive()]


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Commands that run in the test's process configure pysync's logging, which would outlive the test's output."""
    root, silent = logging.getLogger(), [logging.getLogger("py4j")]
    handlers, level = list(root.handlers), root.level
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    yield
    if not structlog.is_configured():
        return
    logging.captureWarnings(False)
    sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
    root.handlers[:] = handlers
    root.setLevel(level)
    for logger in silent:
        logger.propagate = True
        logger.handlers.clear()
    structlog.reset_defaults()


@pytest.fixture
def logging_restored(logging_as_before: None) -> None:
    """For a test that looks at all that is logged: without pytest's own handlers."""
    logging.getLogger().handlers.clear()


@pytest.fixture
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of passwords that take no time: pysync's own take 64 MiB and a fifth of a second for each look."""
    monkeypatch.setattr(passwords, "_hasher", lambda: PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture
def metastores(tmp_path: Path) -> Iterator[Metastores]:
    """A factory of metastores, all of which end with the test."""
    factory = Metastores(tmp_path / "metastores")
    yield factory
    factory.close()


@pytest.fixture(scope="session")
def shared_metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """One metastore for all tests that ask for it: work in databases of your own (tests.support.new_database).

    PYSYNC_TEST_HIVE names another version of Hive for it, one of tests/versions/releases.py.
    """
    make = metastore_of(os.environ.get("PYSYNC_TEST_HIVE", ""))
    server = make(tmp_path_factory.mktemp("shared"), name="shared")
    with server:
        yield server
    assert not server.running
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", server.port)) != 0


@pytest.fixture(scope="session")
def shared_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAws]:
    """One Glue, S3 and Athena that runs DDL, for all tests that ask for it: work in databases of your own."""
    with EmbeddedAws(tmp_path_factory.mktemp("aws")) as server:
        yield server


@pytest.fixture
def disk() -> Disk:
    """What the queues of `reopen` see of the disk and the time."""
    return Disk()


@pytest.fixture
def reopen(tmp_path: Path, disk: Disk) -> Iterator[Reopener]:
    """Each call closes the queue in the test's directory and opens it again."""
    reopener = Reopener(tmp_path, disk)
    yield reopener
    reopener.close()


@pytest.fixture
def benches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bench]]:
    """A factory of drains to a fake target, in the test's directory; its arguments are settings of the target."""
    shorten_waits(monkeypatch)
    with ExitStack() as built:

        def build(**values: Any) -> Bench:
            return built.enter_context(closing(Bench(tmp_path, **values)))

        yield build


@pytest.fixture
def faulty_drains(tmp_path: Path) -> Iterator[Callable[..., FaultyDrain]]:
    """A factory of drains to a target in memory that has faults, in the test's directory."""
    with ExitStack() as built:

        def build(*faults: Any, **values: Any) -> FaultyDrain:
            return built.enter_context(closing(FaultyDrain(tmp_path, *faults, **values)))

        yield build
